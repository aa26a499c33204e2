"""Matrix multiply-accumulate of one warp through fragments: ``wmma`` and more kinds of ``mma``.

How ``wmma`` spreads a matrix over the lanes is left to the GPU; here it is as in ``mma``, which an
H200 makes of it. Sums are rounded as ``sum_of_products`` says; those kept in float16 are rounded
once more, to the nearest. Whole numbers are exact.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.group import LOAD, STORE, Site
from sgemm_lab.simulator.memory_operations import address_of, begin, in_space, mark_written
from sgemm_lab.simulator.operations import Operations, Step, value
from sgemm_lab.simulator.ptx import Instruction, Operand, PtxError, Register, Vector
from sgemm_lab.simulator.registers import Array, Mask, source
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.tensor_operations import sum_of_products

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

Match = re.Match[str]
Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Row and column of each element of each lane, both (32, elements)."""

_GROUP = np.arange(WARP) // 4
_INSIDE = np.arange(WARP) % 4
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s8": 8, "u8": 8, "s32": 32}


def _tile_a(depth: int, packed: int) -> Places:
    """A of ``mma.m16n8``, 16×depth: each lane's elements, as the PTX ISA numbers them."""
    rows, columns = [], []
    for register in range(depth // (4 * packed) * 2):
        for one in range(packed):
            rows.append(_GROUP + 8 * (register % 2))
            columns.append(packed * _INSIDE + one + 4 * packed * (register // 2))
    return np.stack(rows, axis=1), np.stack(columns, axis=1)


def _tile_b(depth: int, packed: int) -> Places:
    """B of ``mma.m16n8``, depth×8."""
    rows, columns = [], []
    for register in range(depth // (4 * packed)):
        for one in range(packed):
            rows.append(packed * _INSIDE + one + 4 * packed * register)
            columns.append(_GROUP)
    return np.stack(rows, axis=1), np.stack(columns, axis=1)


def _tile_c() -> Places:
    """C of ``mma.m16n8``, 16×8."""
    rows = [_GROUP + 8 * (number // 2) for number in range(4)]
    columns = [2 * _INSIDE + number % 2 for number in range(4)]
    return np.stack(rows, axis=1), np.stack(columns, axis=1)


def _beside(tile: Places, times: int, *, down: bool) -> Places:
    """Several tiles below each other, or side by side."""
    rows, columns = tile
    height = int(rows.max()) + 1
    width = int(columns.max()) + 1
    return (
        np.concatenate([rows + down * height * t for t in range(times)], axis=1),
        np.concatenate([columns + (not down) * width * t for t in range(times)], axis=1),
    )


@lru_cache(maxsize=64)
def _fragment(matrix: str, m: int, n: int, k: int, bits: int) -> Places:
    """Where the elements of a fragment of ``wmma`` lie in its matrix."""
    packed = 32 // bits
    if m == 8:  # m8n32: the product is made transposed
        rows, columns = _fragment({"a": "b", "b": "a"}.get(matrix, matrix), n, m, k, bits)
        return columns, rows
    if matrix == "a":
        return _beside(_tile_a(k, packed), m // 16, down=True)
    if matrix == "b":
        return _beside(_tile_b(k, packed), n // 8, down=False)
    found = _beside(_tile_c(), n // 8, down=False)
    return _beside(found, m // 16, down=True)


def _registers(group: "ThreadGroup", operand: Operand) -> list[Any]:
    items = operand.items if isinstance(operand, Vector) else (operand,)
    return [source(group.registers, group.symbols, item, np.dtype(np.uint32)) for item in items]


def _elements(group: "ThreadGroup", values: list[Any], bits: int) -> Array:
    """(warps, 32, elements): what registers of 32 bits hold, as unsigned numbers."""
    columns = [np.broadcast_to(one, (group.lanes,)) for one in values]
    words = np.ascontiguousarray(np.stack(columns, axis=-1), dtype=np.uint32)
    return words.view(f"u{bits // 8}").reshape(group.warps, WARP, -1)


def _numbers(bits: Array, type_: str) -> Array:
    """What bits stand for: float64, or whole numbers."""
    match type_:
        case "f16":
            return bits.view(np.float16).astype(np.float64)
        case "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        case "tf32":
            return (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
        case "f32":
            return bits.view(np.float32)
        case "s8" | "s32":
            return bits.view(f"i{_BITS[type_] // 8}").astype(np.int64)
    return bits.astype(np.int64)


def _matrix(numbers: Array, places: Places, shape: tuple[int, int]) -> Array:
    rows, columns = places
    made = np.zeros((len(numbers), *shape), numbers.dtype)
    made[:, rows, columns] = numbers[:, :, : rows.shape[1]]
    return made


def _product(a: Array, b: Array, c: Array, type_of_d: str) -> Array:
    """D as bits of its type: A·B + C."""
    if type_of_d == "s32":
        return (np.matmul(a, b) + c).astype(np.int32).view(np.uint32)
    total = sum_of_products(a, b, c.astype(np.float32))
    if type_of_d == "f16":
        halves = total.astype(np.float16).view(np.uint16)
        return np.where(np.isnan(total), np.uint16(0x7FFF), halves)
    return total.view(np.uint32)


def _multiply(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``wmma.mma`` and ``mma.sync``: D = A·B + C."""
    m, n, k = (int(match[size]) for size in "mnk")
    given = match.groupdict()
    types = given["types"].strip(".").split(".")
    if given["kind"] == "wmma" and len(types) == 2:  # of D and C; A and B are halves
        types = [types[0], "f16", "f16", types[1]]
    d, a, b, c = types
    bits = {name: _BITS[type_] for name, type_ in (("a", a), ("b", b), ("c", c), ("d", d))}
    places = {name: _fragment(name, m, n, k, bits[name if name in "ab" else "a"]) for name in "ab"}
    places["c"] = _fragment("c", m, n, k, 32)
    words = [_registers(group, operand) for operand in instruction.operands[1:4]]
    target = instruction.operands[0]
    items = target.items if isinstance(target, Vector) else (target,)
    rows = [
        group.registers.view(item, np.dtype(np.uint32))
        for item in items
        if isinstance(item, Register)
    ]

    def step(mask: Mask | None) -> None:
        matrices = [
            _matrix(_numbers(_elements(group, word, bits[name]), type_), places[name], shape)
            for name, word, type_, shape in (
                ("a", words[0], a, (m, k)),
                ("b", words[1], b, (k, n)),
                ("c", words[2], c, (m, n)),
            )
        ]
        made = _product(matrices[0], matrices[1], matrices[2], d)
        lanes = np.ascontiguousarray(made[:, places["c"][0], places["c"][1]])
        packed = lanes.view(np.uint32).reshape(group.lanes, -1)
        where: Any = True if mask is None else mask
        for number, row in enumerate(rows):
            np.copyto(row, packed[:, number], where=where)

    return step


def _offsets(
    group: "ThreadGroup", instruction: Instruction, match: Match, position: int
) -> tuple[Callable[[], Array], int, int]:
    """Byte offsets of each lane's words, (lanes, words); bytes of a word; elements in it."""
    m, n, k = (int(match[size]) for size in "mnk")
    bits = _BITS[match["type"]]
    matrix = {"a": "a", "b": "b"}.get(match["matrix"], "c")
    rows, columns = _fragment(matrix, m, n, k, bits if matrix != "c" else 32)
    by_row = match["layout"] == "row"
    width = {"a": k, "b": n}.get(matrix, n)
    height = {"a": m, "b": k}.get(matrix, m)
    stride: Any = width if by_row else height
    if len(instruction.operands) > position:
        stride = value(group, instruction, position, "u32")
    slow, quick = (rows, columns) if by_row else (columns, rows)
    # neighbours in memory that share a register are moved together
    together = 32 // bits if (quick[:, 1] == quick[:, 0] + 1).all() else 1
    if (slow[:, 1] != slow[:, 0]).any():
        together = 1
    slow, quick = slow[:, ::together], quick[:, ::together]

    def offsets() -> Array:
        by = np.broadcast_to(stride, (group.lanes,)).astype(np.int64)[:, None]
        every = (np.tile(part, (group.warps, 1)) for part in (slow, quick))
        one, other = every
        return (one * by + other) * (bits // 8)

    return offsets, together * bits // 8, together


def _load(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    offsets, width, _ = _offsets(group, instruction, match, 2)
    target = instruction.operands[0]
    items = target.items if isinstance(target, Vector) else (target,)
    rows = [
        group.registers.view(item, np.dtype(np.uint32))
        for item in items
        if isinstance(item, Register)
    ]
    sites = {
        space: Site(instruction, space, LOAD, width, 1, match["type"][0] != "s")
        for space in ("global", "shared", "local")
    }

    def run(space: str, addresses: Array, mask: Mask | None) -> None:
        _whole_warps(group, instruction, mask)
        every = offsets()
        kept = []
        for word in range(every.shape[1]):
            access = begin(group, sites[space], addresses + every[:, word], mask)
            found = np.zeros(group.lanes, f"u{width}")
            lanes = slice(None) if access.lanes is None else access.lanes
            found[lanes] = access.memory.words(width).take(access.positions // width, mode="clip")
            kept.append(found)
            for observer in group.launch.observers:
                observer.on_values(access, [found[lanes]])
        words = np.ascontiguousarray(np.stack(kept, axis=1)).view(np.uint32)
        for number, row in enumerate(rows):
            # Fragments of halves have room for every element twice.
            np.copyto(row, words[:, number % words.shape[1]], where=True if mask is None else mask)

    return in_space(group, match, address_of(group, instruction, 1), run)


def _store(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    offsets, width, _ = _offsets(group, instruction, match, 2)
    values = _registers(group, instruction.operands[1])
    sites = {
        space: Site(instruction, space, STORE, width, 1, match["type"][0] != "s")
        for space in ("global", "shared", "local")
    }

    def run(space: str, addresses: Array, mask: Mask | None) -> None:
        _whole_warps(group, instruction, mask)
        every = offsets()
        words = _elements(group, values, 8 * width).reshape(group.lanes, -1)
        for word in range(every.shape[1]):
            access = begin(group, sites[space], addresses + every[:, word], mask)
            kept = words[:, word] if access.lanes is None else words[access.lanes, word]
            access.memory.words(width)[access.positions // width] = kept
            mark_written(access.memory, access.positions, width)
            for observer in group.launch.observers:
                observer.on_values(access, [kept])

    return in_space(group, match, address_of(group, instruction, 0), run)


def _whole_warps(group: "ThreadGroup", instruction: Instruction, mask: Mask | None) -> None:
    if mask is None:
        return
    by_warp = mask.reshape(-1, WARP)
    if (by_warp.any(axis=1) != by_warp.all(axis=1)).any():
        raise PtxError(sentence("run.wmma", place=instruction.location))


_SHAPE = r"m(?P<m>8|16|32)n(?P<n>8|16|32)k(?P<k>8|16|32)"
_LAYOUTS = r"(?:row|col)\.(?:row|col)"
_SPACE = r"(?P<space>\.global|\.shared(?:::cta)?)?"
_WHOLE = r"\.s32\.(?:s8|u8)\.(?:s8|u8)\.s32"

OPERATIONS: Operations = [
    (
        rf"wmma\.load\.(?P<matrix>a|b|c)\.sync\.aligned\.(?P<layout>row|col)\.{_SHAPE}{_SPACE}"
        r"\.(?P<type>f16|bf16|tf32|f32|s8|u8|s32)",
        _load,
    ),
    (
        rf"wmma\.store\.(?P<matrix>d)\.sync\.aligned\.(?P<layout>row|col)\.{_SHAPE}{_SPACE}"
        r"\.(?P<type>f16|f32|s32)",
        _store,
    ),
    (
        rf"(?P<kind>wmma)\.mma\.sync\.aligned\.{_LAYOUTS}\.{_SHAPE}"
        rf"(?P<types>(?:\.(?:f16|f32)){{2}}|\.f32\.(?:bf16\.bf16|tf32\.tf32)\.f32|{_WHOLE})"
        r"(?:\.satfinite)?",
        _multiply,
    ),
    (
        r"(?P<kind>mma)\.sync\.aligned\.m(?P<m>16)n(?P<n>8)k(?P<k>8|16)\.row\.col"
        r"(?P<types>\.f16\.f16\.f16\.f16|\.f32\.f16\.f16\.f16|\.f16\.f16\.f16\.f32)",
        _multiply,
    ),
    (
        r"(?P<kind>mma)\.sync\.aligned\.m(?P<m>16)n(?P<n>8)k(?P<k>16|32)\.row\.col"
        rf"(?:\.satfinite)?(?P<types>{_WHOLE})",
        _multiply,
    ),
]
