"""Matrix multiply-accumulate of one warp, ``mma.sync``.

Where each element of A, B and C sits among the lanes is fixed by the PTX manual ("Matrix
Fragments for mma.m16n8k8 / m16n8k16"). How the sums are rounded is not: ``sum_of_products``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.operations import Match, Operations, Step, destinations
from sgemm_lab.simulator.ptx import Instruction, Vector
from sgemm_lab.simulator.registers import Array, Mask, source
from sgemm_lab.simulator.sentences import sentence

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

KEPT_BITS = 25
"""Of each product and of the sum so far, how many bits below the highest of all an H200 keeps."""

Place = Callable[[int, int, int], tuple[Array, Array]]
"""Row and column of what each lane holds, by register, place in it, and elements of a register."""

_ROWS, _COLUMNS = 16, 8
_LOWEST = -298
"""The exponent of the smallest product of two float32 numbers."""
_NAN = np.array([0x7FFFFFFF], np.uint32).view(np.float32)[0]
_GROUP = np.arange(WARP) // 4
_INSIDE = np.arange(WARP) % 4
_PLACES = [(_GROUP + 8 * (number // 2), 2 * _INSIDE + number % 2) for number in range(4)]
"""Row and column of C of each lane's four registers."""


def vector_items(group: "ThreadGroup", instruction: Instruction, position: int) -> list[Any]:
    """What the registers in braces at a position read, each for all lanes."""
    operand = instruction.operands[position]
    if not isinstance(operand, Vector):
        raise PtxError(sentence("run.mma", place=instruction.location))
    dtype = np.dtype(np.uint32)
    return [source(group.registers, group.symbols, item, dtype) for item in operand.items]


def lane_registers(group: "ThreadGroup", values: list[Any]) -> npt.NDArray[np.uint32]:
    """(warps, 32, registers)."""
    columns = [np.broadcast_to(value, (group.lanes,)) for value in values]
    return np.stack(columns, axis=-1).reshape(group.warps, WARP, len(values))


def _tf32(bits: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
    """The tensor core ignores the 13 lowest bits of a float32."""
    return (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)[..., None]


def _half(bits: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
    halves = np.ascontiguousarray(bits).view(np.float16).astype(np.float64)
    return halves.reshape(*bits.shape, 2)


def _bfloat16(bits: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
    pair = np.stack([bits << np.uint32(16), bits & np.uint32(0xFFFF0000)], axis=-1)
    return pair.view(np.float32).astype(np.float64)


ELEMENTS = {"tf32": _tf32, "f16": _half, "bf16": _bfloat16}
"""What elements a register holds, by the type: neighbours along k."""
PACKED = {"tf32": 1, "f16": 2, "bf16": 2}
"""How many of them."""


def _place_in_a(register: int, one: int, packed: int) -> tuple[Array, Array]:
    """Row and k of what each lane holds of A: rows g and g + 8, first for the lower half of k."""
    k = packed * _INSIDE + one + 4 * packed * (register // 2)
    return _GROUP + 8 * (register % 2), k


def _place_in_b(register: int, one: int, packed: int) -> tuple[Array, Array]:
    """K and column of what each lane holds of B."""
    return packed * _INSIDE + one + 4 * packed * register, _GROUP


def _place_in_c(register: int, one: int, packed: int) -> tuple[Array, Array]:
    """Row and column of what each lane holds of C."""
    return _PLACES[register]


def _matrix(values: Array, type_: str, place: Place, shape: tuple[int, int]) -> Array:
    """Return the matrices that lanes hold: (warps, rows, columns) from (warps, 32, registers)."""
    elements = ELEMENTS[type_](values)
    (warps, _, registers, packed) = elements.shape
    matrix = np.empty((warps, *shape))
    for one in range(packed):
        for register in range(registers):
            row, column = place(register, one, packed)
            matrix[:, row, column] = elements[:, :, register, one]
    return matrix


def matrix_a(values: Array, type_: str) -> Array:
    """A, (warps, 16, depth), from its registers, (warps, 32, 4 or 2)."""
    depth = 2 * PACKED[type_] * values.shape[-1]
    return _matrix(values, type_, _place_in_a, (_ROWS, depth))


def _matrix_b(values: Array, type_: str) -> Array:
    """B, (warps, depth, 8), from its registers, (warps, 32, 2 or 1)."""
    depth = 4 * PACKED[type_] * values.shape[-1]
    return _matrix(values, type_, _place_in_b, (depth, _COLUMNS))


class Holders(NamedTuple):
    """Who holds the elements of a matrix: per element its lane, register, and place in that."""

    lane: Array
    register: Array
    one: Array


def holders(type_: str, depth: int) -> tuple[Holders, Holders, Holders]:
    """Return who holds the elements of A (16×depth), B (depth×8) and C (16×8).

    ``type_`` is one of ``PACKED``; ``depth`` is 8, or 16 where a register holds two elements.
    """
    packed = PACKED[type_]
    registers = depth // (4 * packed)
    a = _held(_place_in_a, (_ROWS, depth), 2 * registers, packed)
    b = _held(_place_in_b, (depth, _COLUMNS), registers, packed)
    c = _held(_place_in_c, (_ROWS, _COLUMNS), len(_PLACES), 1)
    return a, b, c


def _held(
    place: Place,
    shape: tuple[int, int],
    registers: int,
    packed: int,
) -> Holders:
    """Who holds each element, by where the registers of all lanes go."""
    found = Holders(*(np.full(shape, -1) for _ in Holders._fields))
    for register in range(registers):
        for one in range(packed):
            at = place(register, one, packed)
            for matrix, value in zip(found, (np.arange(WARP), register, one), strict=True):
                matrix[at] = value
    return found


def sum_of_products(a: Array, b: Array, c: Array) -> Array:
    """Return a·b + c as a tensor core of an H200 sums, bit by bit, in float32.

    a is (warps, rows, depth) and b (warps, depth, columns), in float64; c is (warps, rows,
    columns), in float32. Products are exact. They and c are lined up by the largest of their
    exponents, where a product has the sum of its factors' exponents; what lies more than
    ``KEPT_BITS`` below is cut off each of them; and so is the sum, to float32. Fasi, Higham,
    Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores (2021), found it so for older
    GPUs, which keep fewer bits. All that an H200 was asked agrees, bit by bit.
    """
    columns = b.swapaxes(1, 2)
    products = a[:, :, None, :] * columns[:, None, :, :]
    exponents = _exponents(a)[:, :, None, :] + _exponents(columns)[:, None, :, :]
    addend = c.astype(np.float64)
    highest = np.maximum(exponents.max(-1), _exponents(addend))
    unit = np.ldexp(1.0, np.maximum(highest, _LOWEST) - KEPT_BITS)
    cut = np.trunc(products / unit[..., None]).sum(-1) + np.trunc(addend / unit)
    total = toward_zero(cut * unit + 0.0)  # no zero is negative
    plain = products.sum(-1) + addend  # what infinity and NaN lead to
    total = np.where(np.isfinite(plain), total, plain.astype(np.float32))
    return np.where(np.isnan(total), _NAN, total)


def _exponents(values: Array) -> Array:
    """Exponents of the highest bits; far below all others for zeros."""
    return np.where(values == 0, 4 * _LOWEST, np.frexp(values)[1] - 1)


def toward_zero(values: Array) -> Array:
    """Float64 to float32, low bits cut off. From 2¹²⁸ on it is infinity."""
    near = values.astype(np.float32)
    beyond = (np.abs(near) > np.abs(values)) & (np.abs(values) < 2.0**128)
    return np.where(beyond, np.nextafter(near, np.float32(0)), near)


def _multiply_accumulate(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """D = A·B + C, summed as a tensor core sums (``sum_of_products``)."""
    rows = destinations(group, instruction, np.float32)
    a, b, c = (vector_items(group, instruction, position) for position in (1, 2, 3))
    type_ = match["type"]

    def step(mask: Mask | None) -> None:
        factor_a = matrix_a(lane_registers(group, a), type_)
        factor_b = _matrix_b(lane_registers(group, b), type_)
        lanes_c = lane_registers(group, c).view(np.float32)
        addend = np.empty((len(lanes_c), _ROWS, _COLUMNS), np.float32)
        for number, place in enumerate(_PLACES):
            addend[:, place[0], place[1]] = lanes_c[:, :, number]
        total = sum_of_products(factor_a, factor_b, addend)
        where: Any = True if mask is None else mask
        for row, place in zip(rows, _PLACES, strict=True):
            np.copyto(row, total[:, place[0], place[1]].reshape(-1), where=where)

    return step


OPERATIONS: Operations = [
    (
        r"mma\.sync\.aligned\.m16n8k8\.row\.col\.f32\.(?P<type>tf32)\.tf32\.f32",
        _multiply_accumulate,
    ),
    (
        r"mma\.sync\.aligned\.m16n8k(?:8|16)\.row\.col\.f32\.(?P<type>f16|bf16)\.(?P=type)\.f32",
        _multiply_accumulate,
    ),
]
