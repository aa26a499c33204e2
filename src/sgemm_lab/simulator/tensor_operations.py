"""Matrix multiply-accumulate of one warp, ``mma.sync``.

Where each element of A, B and C sits among the lanes is fixed by the PTX manual ("Matrix
Fragments for mma.m16n8k8 / m16n8k16").
"""

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.operations import Operations, Step
from sgemm_lab.simulator.ptx import Instruction, PtxError, Register, Vector
from sgemm_lab.simulator.registers import Array, Mask, source
from sgemm_lab.simulator.sentences import sentence

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

_ROWS, _COLUMNS = 16, 8
_GROUP = np.arange(WARP) // 4
_INSIDE = np.arange(WARP) % 4


def _items(group: "ThreadGroup", instruction: Instruction, position: int) -> list[Any]:
    operand = instruction.operands[position]
    if not isinstance(operand, Vector):
        raise PtxError(sentence("run.mma", place=instruction.location))
    dtype = np.dtype(np.uint32)
    return [source(group.registers, group.symbols, item, dtype) for item in operand.items]


def _registers(group: "ThreadGroup", values: list[Any]) -> npt.NDArray[np.uint32]:
    """(warps, 32, registers)."""
    columns = [np.broadcast_to(value, (group.lanes,)) for value in values]
    return np.stack(columns, axis=-1).reshape(group.warps, WARP, len(values))


def _tf32(bits: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
    """The tensor core ignores the 13 lowest bits of a float32."""
    return (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


def _half(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float64]:
    return bits.view(np.float16).astype(np.float64)


def _bfloat16(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float64]:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def _matrices_tf32(a: Array, b: Array) -> tuple[Array, Array]:
    """A (warps, 16, 8) and B (warps, 8, 8) from the lanes' registers."""
    warps = len(a)
    matrix_a, matrix_b = np.empty((warps, _ROWS, 8)), np.empty((warps, 8, _COLUMNS))
    for register in range(4):
        rows, columns = _GROUP + 8 * (register % 2), _INSIDE + 4 * (register // 2)
        matrix_a[:, rows, columns] = _tf32(a[:, :, register])
    for register in range(2):
        matrix_b[:, _INSIDE + 4 * register, _GROUP] = _tf32(b[:, :, register])
    return matrix_a, matrix_b


def _matrices_16bit(a: Array, b: Array, convert: Any) -> tuple[Array, Array]:
    """A (warps, 16, 16) and B (warps, 16, 8); each register holds two neighbours along k."""
    warps = len(a)
    matrix_a, matrix_b = np.empty((warps, _ROWS, 16)), np.empty((warps, 16, _COLUMNS))
    halves_a = convert(np.ascontiguousarray(a).view(np.uint16))
    halves_b = convert(np.ascontiguousarray(b).view(np.uint16))
    for half in range(2):
        for register in range(4):
            columns = 2 * _INSIDE + half + 8 * (register // 2)
            values = halves_a[:, :, 2 * register + half]
            matrix_a[:, _GROUP + 8 * (register % 2), columns] = values
        for register in range(2):
            k = 2 * _INSIDE + half + 8 * register
            matrix_b[:, k, _GROUP] = halves_b[:, :, 2 * register + half]
    return matrix_a, matrix_b


def _multiply_accumulate(
    group: "ThreadGroup", instruction: Instruction, match: "re.Match[str]"
) -> Step:
    """D = A·B + C. Products and sum in float64, rounded to float32 once.

    A tensor core sums with less care: it cuts off low bits of the aligned products. Results can
    therefore differ from the hardware's in the last bits.
    """
    target = instruction.operands[0]
    assert isinstance(target, Vector)
    rows = [
        group.registers.view(item, np.dtype(np.float32))
        for item in target.items
        if isinstance(item, Register)
    ]
    a, b, c = (_items(group, instruction, position) for position in (1, 2, 3))
    type_ = match["type"]

    def step(mask: Mask | None) -> None:
        registers_a, registers_b = _registers(group, a), _registers(group, b)
        if type_ == "tf32":
            matrix_a, matrix_b = _matrices_tf32(registers_a, registers_b)
        else:
            convert = _half if type_ == "f16" else _bfloat16
            matrix_a, matrix_b = _matrices_16bit(registers_a, registers_b, convert)
        addend = _registers(group, c).view(np.float32)
        product = matrix_a @ matrix_b
        where: Any = True if mask is None else mask
        for number, row in enumerate(rows):
            place = (_GROUP + 8 * (number // 2), 2 * _INSIDE + number % 2)
            total = product[:, place[0], place[1]] + addend[:, :, number]
            np.copyto(row, total.reshape(-1).astype(np.float32), where=where)

    return step


OPERATIONS: Operations = [
    (
        r"mma\.sync\.aligned\.m16n8k8\.row\.col\.f32\.(?P<type>tf32)\.tf32\.f32",
        _multiply_accumulate,
    ),
    (
        r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(?P<type>f16|bf16)\.(?P=type)\.f32",
        _multiply_accumulate,
    ),
]
