"""The registers of a group of threads, as NumPy arrays with one column per thread."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.operands import registers_of
from sgemm_lab.simulator.ptx import (
    TYPE_BYTES,
    Immediate,
    Operand,
    PtxKernel,
    Register,
    SpecialRegister,
    Symbol,
    plain,
)
from sgemm_lab.simulator.sentences import sentence

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_UNSIGNED: dict[int, np.dtype[Any]] = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}
_BY_LETTER = {"s": "i", "u": "u", "b": "u", "f": "f"}


@lru_cache
def numpy_type(ptx_type: str) -> np.dtype[Any]:
    """The NumPy type that holds a PTX type; types NumPy lacks are held as raw bits."""
    if ptx_type == "pred":
        return np.dtype(np.bool_)
    if ptx_type in ("bf16", "f16x2", "bf16x2", "tf32"):
        return _UNSIGNED[TYPE_BYTES[ptx_type]]
    return np.dtype(f"{_BY_LETTER[ptx_type[0]]}{TYPE_BYTES[ptx_type]}")


class RegisterFile:
    """All virtual registers of a kernel for a number of threads ("lanes").

    Registers of one width are the rows of one array, so that an instruction can also work on
    many registers at once.
    """

    def __init__(self, kernel: PtxKernel, lanes: int) -> None:
        self.lanes = lanes
        self.row, self._width, rows = _layout(kernel)
        self._arrays: dict[int, Array] = {0: np.zeros((rows[0], lanes), dtype=np.bool_)}
        for width in (2, 4, 8):
            self._arrays[width] = np.zeros((rows[width], lanes), dtype=_UNSIGNED[width])
        self._scratch: dict[np.dtype[Any], Array] = {}

    @property
    def floats(self) -> npt.NDArray[np.float32]:
        """All 32-bit registers as float32, (registers, lanes)."""
        return self._arrays[4].view(np.float32)

    def is_predicate(self, register: Register) -> bool:
        """Whether a register holds a predicate."""
        return self._width.get(register.name) == 0

    def view(self, register: Register, dtype: np.dtype[Any]) -> Array:
        """One register over all lanes as ``dtype``; writing to it writes the register.

        A narrower type than the register's sees its low bits.

        Raises:
            PtxError: the type is wider than the register.
        """
        if register.name == "_":
            return self.scratch(dtype)
        width = self._width[register.name]
        row: Array = self._arrays[width][self.row[register.name]]
        if width == 0 or dtype == np.bool_:
            if width != 0 or dtype != np.bool_:
                raise PtxError(sentence("run.mixed", name=plain(register.name)))
            return row
        if dtype.itemsize > width:
            bits = 8 * dtype.itemsize
            raise PtxError(sentence("run.wide", bits=bits, name=plain(register.name)))
        return row.view(dtype)[:: width // dtype.itemsize]

    def whole(self, register: Register, *, signed: bool) -> Array:
        """One register over all lanes, as an integer of its own full width."""
        dtype = _UNSIGNED[self._width[register.name]] if register.name != "_" else _UNSIGNED[4]
        return self.view(register, np.dtype(f"i{dtype.itemsize}") if signed else dtype)

    def scratch(self, dtype: np.dtype[Any]) -> Array:
        """A row to compute into before a masked write; shared by all who ask."""
        if dtype not in self._scratch:
            self._scratch[dtype] = np.zeros(self.lanes, dtype=dtype)
        return self._scratch[dtype]


@lru_cache(maxsize=32)
def _layout(kernel: PtxKernel) -> tuple[dict[str, int], dict[str, int], dict[int, int]]:
    """Each register's row and bytes, and how many rows each width has; a predicate has 0 bytes."""
    row: dict[str, int] = {}
    width_of: dict[str, int] = {}
    rows = {0: 0, 2: 0, 4: 0, 8: 0}
    for instruction in kernel.instructions:
        for operand in (*instruction.operands, *filter(None, [instruction.guard])):
            for register in registers_of(operand):
                if register.name in row or register.name == "_":
                    continue
                type_ = kernel.register_type(register.name)
                width = 0 if type_ == "pred" else TYPE_BYTES[type_]
                width_of[register.name] = width
                row[register.name] = rows[width]
                rows[width] += 1
    return row, width_of, rows


@lru_cache(maxsize=4096)
def constant(bits: int, dtype: np.dtype[Any]) -> Any:
    """A scalar of ``dtype`` from an integer, or for float types from its bit pattern."""
    if dtype == np.bool_:
        return np.bool_(bits != 0)
    masked = bits & ((1 << 8 * dtype.itemsize) - 1)
    return np.array([masked], dtype=_UNSIGNED[dtype.itemsize]).view(dtype)[0]


def source(
    registers: RegisterFile, symbols: dict[str, int], operand: Operand, dtype: np.dtype[Any]
) -> Any:
    """What an operand reads: a row of the register file, a scalar, or a symbol's address.

    Raises:
        PtxError: the operand is of a kind that no value can be read from.
    """
    match operand:
        case Register():
            return registers.view(operand, dtype)
        case Immediate(bits):
            return constant(bits, dtype)
        case Symbol(name, offset) if name in symbols:
            return constant(symbols[name] + offset, dtype)
        case Symbol(name):
            raise PtxError(sentence("run.symbol", name=name))
    name = operand.name if isinstance(operand, SpecialRegister) else type(operand).__name__.lower()
    raise PtxError(sentence("run.operand", name=name))
