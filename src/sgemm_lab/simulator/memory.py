"""The memories a kernel sees: global arrays, shared memory of each block, local memory."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator.ptx import ArrayDeclaration

GLOBAL_BASE = 1 << 40
"""Address of the first global array."""
SHARED_WINDOW = 1 << 44
"""Where shared memory starts in the generic address space."""
LOCAL_WINDOW = 1 << 45
"""Where local memory starts in the generic address space."""

_RESERVED_SHARED = 1024
_OLDEST_THAT_RESERVES = 90

OUTSIDE, UNWRITTEN, WRITTEN = np.uint8(0), np.uint8(1), np.uint8(2)
"""State of a byte: belongs to no array, nothing wrote it yet, holds a value."""

# Alignment of every allocation on the device, as cudaMalloc gives it.
_ALLOCATION = 256
# Bytes left free around each array, so that a small overrun hits no other array.
_GUARD = 1 << 16
# What memory holds before anything is written: all ones, which is NaN as a float.
_POISON = 0xFF


@dataclass(frozen=True)
class NamedArray:
    """Where an array lies in its memory. ``start`` and ``bytes`` count in bytes."""

    name: str
    start: int
    bytes: int
    dtype: np.dtype[Any] | None = None
    """Element type, None for shared arrays, whose type PTX does not have."""
    shape: tuple[int, ...] = ()


class Memory:
    """Bytes of one memory space, as one or several equal copies ("slots") side by side."""

    def __init__(self, space: str, base: int, size: int, slots: int = 1) -> None:
        self.space = space
        self.base = base
        self.size = size
        """Bytes of one slot that may be addressed."""
        # Slots start on a bank-row boundary and hold whole 16-byte words.
        self.stride = -(-max(size, 1) // 128) * 128
        self.bytes = np.full(self.stride * slots, _POISON, dtype=np.uint8)
        self.state = np.full(self.stride * slots, UNWRITTEN, dtype=np.uint8)
        self.arrays: list[NamedArray] = []
        self._views = {n: self.bytes.view(f"u{n}") for n in (1, 2, 4, 8)}

    def words(self, width: int) -> npt.NDArray[Any]:
        """The whole memory as unsigned integers of 1, 2, 4 or 8 bytes."""
        return self._views[width]

    def reset(self) -> None:
        """Forget everything written."""
        self.bytes[:] = _POISON
        self.state[:] = UNWRITTEN

    def write(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Put bytes at an address, as the host does before a launch."""
        start = address - self.base
        self.bytes[start : start + len(data)] = data

    def array_at(self, position: int) -> NamedArray | None:
        """The array a byte (counted from the slot's start) belongs to, else the nearest one."""
        return min(
            self.arrays,
            key=lambda array: max(array.start - position, position - array.start - array.bytes + 1),
            default=None,
        )


def shared_base(target: str) -> int:
    """Address of the first byte of a block's shared memory on a GPU of a target such as "sm_90".

    From sm_90 on the first KiB belongs to the system, as kernels on an H200 showed. Arrays are
    aligned within what follows: a larger alignment than 1024 bytes is not that of the address.
    """
    number = target.removeprefix("sm_")
    reserves = number.isdecimal() and int(number) >= _OLDEST_THAT_RESERVES
    return _RESERVED_SHARED if reserves else 0


def global_memory(arrays: dict[str, npt.NDArray[Any]], unwritten: frozenset[str]) -> Memory:
    """Lay out and fill global memory. Arrays named in ``unwritten`` start as never written."""
    start = _GUARD
    placed = []
    for name, array in arrays.items():
        placed.append(NamedArray(name, start, array.nbytes, array.dtype, array.shape))
        start += -(-array.nbytes // _ALLOCATION) * _ALLOCATION + _GUARD
    memory = Memory("global", GLOBAL_BASE, start)
    memory.state[:] = OUTSIDE
    memory.arrays = placed
    for where in placed:
        span = slice(where.start, where.start + where.bytes)
        memory.state[span] = UNWRITTEN if where.name in unwritten else WRITTEN
        memory.bytes[span] = np.frombuffer(
            np.ascontiguousarray(arrays[where.name]).tobytes(), dtype=np.uint8
        )
    return memory


def read_back(memory: Memory) -> dict[str, npt.NDArray[Any]]:
    """Copies of all global arrays as they are now."""
    copies = {}
    for array in memory.arrays:
        span = memory.bytes[array.start : array.start + array.bytes].copy()
        copies[array.name] = span.view(array.dtype or span.dtype).reshape(array.shape)
    return copies


def lay_out(declarations: list[ArrayDeclaration], dynamic_bytes: int) -> list[NamedArray]:
    """Place shared or local arrays as ptxas does: in declared order, each at its alignment.

    Dynamic shared memory comes after all static arrays.
    """
    start = 0
    placed = []
    for declared in sorted(declarations, key=lambda declared: declared.bytes == 0):
        size = declared.bytes or dynamic_bytes
        start = -(-start // declared.alignment) * declared.alignment
        placed.append(NamedArray(declared.name, start, size))
        if declared.bytes:
            start += size
    return placed


def source_name(symbol: str) -> str:
    """The name an array has in the source: "As" for ``_ZZ5sgemmE2As``.

    A function-local array is mangled by the Itanium C++ ABI as _ZZ<function>E<length><name>.
    """
    for found in reversed(list(re.finditer(r"E(\d+)", symbol))):
        length = int(found[1])
        name = symbol[found.end() : found.end() + length]
        rest = symbol[found.end() + length :]
        if len(name) == length and re.fullmatch(r"(_\d+)?", rest):
            return name
    return symbol
