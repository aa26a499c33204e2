"""Matrix multiply-accumulate of one warp through fragments: ``wmma`` and more kinds of ``mma``.

How ``wmma`` spreads a matrix over the lanes is left to the GPU; here it is as in ``mma``, which an
H200 makes of it. Sums are rounded as ``sum_of_products`` says; those kept in float16 are rounded
once more, to the nearest. Whole numbers are exact.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.group import LOAD, STORE, Access, Site
from sgemm_lab.simulator.memory_operations import address_of, begin, in_space, mark_written
from sgemm_lab.simulator.operands import items_of
from sgemm_lab.simulator.operations import Match, Operations, Step, destinations, value
from sgemm_lab.simulator.ptx import Instruction, Operand
from sgemm_lab.simulator.registers import Array, Mask, source
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.tensor_operations import sum_of_products

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

Positions = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Row and column of each element of each lane, both (32, elements)."""

_GROUP = np.arange(WARP) // 4
_INSIDE = np.arange(WARP) % 4
_TF32_STEP = 4
"""Products of TF32 that ``wmma`` sums at a time, as its results on an H200 show."""
_SIDE = 16
"""Rows and columns of 16-bit elements that one ``ldmatrix`` loads."""
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s8": 8, "u8": 8, "s32": 32}


def _tile_a(depth: int, packed: int) -> Positions:
    """A of ``mma.m16n8``, 16×depth: each lane's elements, as the PTX ISA numbers them."""
    rows, columns = [], []
    for register in range(depth // (4 * packed) * 2):
        for one in range(packed):
            rows.append(_GROUP + 8 * (register % 2))
            columns.append(packed * _INSIDE + one + 4 * packed * (register // 2))
    return np.stack(rows, axis=1), np.stack(columns, axis=1)


def _tile_b(depth: int, packed: int) -> Positions:
    """B of ``mma.m16n8``, depth×8."""
    rows, columns = [], []
    for register in range(depth // (4 * packed)):
        for one in range(packed):
            rows.append(packed * _INSIDE + one + 4 * packed * register)
            columns.append(_GROUP)
    return np.stack(rows, axis=1), np.stack(columns, axis=1)


def _tile_c() -> Positions:
    """C of ``mma.m16n8``, 16×8."""
    rows = [_GROUP + 8 * (number // 2) for number in range(4)]
    columns = [2 * _INSIDE + number % 2 for number in range(4)]
    return np.stack(rows, axis=1), np.stack(columns, axis=1)


def _repeat_tile(tile: Positions, times: int, *, down: bool) -> Positions:
    """Several tiles below each other, or side by side."""
    rows, columns = tile
    height = int(rows.max()) + 1
    width = int(columns.max()) + 1
    return (
        np.concatenate([rows + down * height * t for t in range(times)], axis=1),
        np.concatenate([columns + (not down) * width * t for t in range(times)], axis=1),
    )


@lru_cache(maxsize=64)
def _fragment(matrix: str, m: int, n: int, k: int, bits: int) -> Positions:
    """Where the elements of a fragment of ``wmma`` lie in its matrix."""
    packed = 32 // bits
    if m == 8:  # m8n32: the product is made transposed
        rows, columns = _fragment({"a": "b", "b": "a"}.get(matrix, matrix), n, m, k, bits)
        return columns, rows
    if matrix == "a":
        return _repeat_tile(_tile_a(k, packed), m // 16, down=True)
    if matrix == "b":
        return _repeat_tile(_tile_b(k, packed), n // 8, down=False)
    found = _repeat_tile(_tile_c(), n // 8, down=False)
    return _repeat_tile(found, m // 16, down=True)


def _registers(group: "ThreadGroup", operand: Operand) -> list[Any]:
    items = items_of(operand)
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


def _matrix(numbers: Array, places: Positions, shape: tuple[int, int]) -> Array:
    rows, columns = places
    made = np.zeros((len(numbers), *shape), numbers.dtype)
    made[:, rows, columns] = numbers[:, :, : rows.shape[1]]
    return made


def _product(a: Array, b: Array, c: Array, type_of_d: str, step: int) -> Array:
    """D as bits of its type: A·B + C, of which ``step`` products are summed at a time."""
    if type_of_d == "s32":
        return np.asarray((np.matmul(a, b) + c).astype(np.int32).view(np.uint32))
    total = c.astype(np.float32)
    for first in range(0, a.shape[2], step):
        part = slice(first, first + step)
        total = sum_of_products(a[:, :, part], b[:, part], total)
    if type_of_d == "f16":
        halves = total.astype(np.float16).view(np.uint16)
        return np.asarray(np.where(np.isnan(total), np.uint16(0x7FFF), halves))
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
    rows = destinations(group, instruction, np.uint32)
    step_of_k = _TF32_STEP if a == "tf32" else k

    def step(mask: Mask | None) -> None:
        matrices = [
            _matrix(_numbers(_elements(group, word, bits[name]), type_), places[name], shape)
            for name, word, type_, shape in (
                ("a", words[0], a, (m, k)),
                ("b", words[1], b, (k, n)),
                ("c", words[2], c, (m, n)),
            )
        ]
        made = _product(matrices[0], matrices[1], matrices[2], d, step_of_k)
        lanes = np.ascontiguousarray(made[:, places["c"][0], places["c"][1]])
        packed = lanes.view(np.uint32).reshape(group.lanes, -1)
        where: Any = True if mask is None else mask
        for number, row in enumerate(rows):
            np.copyto(row, packed[:, number], where=where)

    return step


@dataclass(frozen=True, eq=False)
class _Words:
    """How a matrix is moved: each lane's words, and the elements of the matrix that they hold."""

    places: Positions
    """Row and column of each element of each lane."""
    together: int
    """Elements of a word: neighbours in memory."""
    by_row: bool
    element_bytes: int

    @property
    def width(self) -> int:
        """Bytes of a word."""
        return self.together * self.element_bytes

    def offsets(self, stride: Any, group: "ThreadGroup") -> Array:
        """Byte offset of each word of each lane: (lanes, words)."""
        slow, quick = self.places if self.by_row else self.places[::-1]
        by = np.broadcast_to(stride, (group.lanes,)).astype(np.int64)[:, None]
        one, other = (
            np.tile(part[:, :: self.together], (group.warps, 1)) for part in (slow, quick)
        )
        return (one * by + other) * self.element_bytes


@lru_cache(maxsize=64)
def _words(matrix: str, sizes: tuple[int, int, int], bits: int, layout: str) -> _Words:
    """Return the words in which an H200 moves a matrix.

    Those of 16 bits go two at a time, whichever way they lie: where neighbours in memory are none
    in a fragment, the lanes exchange them afterwards. Sums of 32 bits go two at a time too, where
    they are neighbours.
    """
    m, n, k = sizes
    by_row = layout == "row"
    places = _fragment(matrix, m, n, k, bits if matrix != "c" else 32)
    wanted = 2 if bits == 16 or matrix == "c" else 32 // bits
    if not _are_neighbours(places, by_row, wanted):
        wanted = 2 if bits == 16 and matrix != "c" else 1
        if wanted == 2:
            rows, columns = {"a": (m, k), "b": (k, n)}[matrix]
            slow, quick = _squares(*((rows, columns) if by_row else (columns, rows)))
            places = (slow, quick) if by_row else (quick, slow)
    return _Words(places, wanted, by_row, bits // 8)


def _squares(slow: int, quick: int) -> Positions:
    """A matrix in squares of 8×8, of which each lane has two neighbours."""
    found = [
        (8 * one + _GROUP, 8 * other + 2 * _INSIDE + number)
        for one in range(slow // 8)
        for other in range(quick // 8)
        for number in range(2)
    ]
    return np.stack([part for part, _ in found], 1), np.stack([part for _, part in found], 1)


def _are_neighbours(places: Positions, by_row: bool, count: int) -> bool:
    """Whether each lane's elements lie beside each other in memory, ``count`` at a time."""
    slow, quick = places if by_row else places[::-1]
    same = all((slow[:, one::count] == slow[:, ::count]).all() for one in range(count))
    return same and all(
        (quick[:, one::count] == quick[:, ::count] + one).all() for one in range(count)
    )


def _stride(
    group: "ThreadGroup", instruction: Instruction, match: Match, matrix: str, position: int
) -> Any:
    if len(instruction.operands) > position:
        return value(group, instruction, position, "u32")
    m, n, k = (int(match[size]) for size in "mnk")
    rows, columns = {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))
    return columns if match["layout"] == "row" else rows


def _sites(instruction: Instruction, kind: str, width: int, is_float: bool) -> dict[str, Site]:
    words = max(1, width // 4)
    return {
        space: Site(instruction, space, kind, width // words, words, is_float)
        for space in ("global", "shared", "local")
    }


def _load(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    matrix = match["matrix"]
    sizes = int(match["m"]), int(match["n"]), int(match["k"])
    bits = _BITS[match["type"]]
    words = _words(matrix, sizes, bits, match["layout"])
    stride = _stride(group, instruction, match, matrix, 2)
    m, n, k = sizes
    shape = {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))
    native = _fragment(matrix, m, n, k, bits if matrix != "c" else 32)
    rows = destinations(group, instruction, np.uint32)
    sites = _sites(instruction, LOAD, words.width, match["type"][0] == "f")
    by_rows = _RowLoad(group, instruction, shape, words) if bits == 16 and matrix != "c" else None

    def run(space: str, addresses: Array, mask: Mask | None) -> None:
        _whole_warps(instruction, mask)
        if space == "shared" and by_rows is not None:
            found = by_rows.matrix(addresses, stride, mask)
        else:
            elements = _moved_in(group, sites[space], addresses, words, stride, mask)
            found = _matrix(elements, words.places, shape)
        lanes = np.ascontiguousarray(found[:, native[0], native[1]])
        packed = lanes.view(np.uint32).reshape(group.lanes, -1)
        for number, row in enumerate(rows):
            # Fragments of halves have room for every element twice.
            where: Any = True if mask is None else mask
            np.copyto(row, packed[:, number % packed.shape[1]], where=where)

    return in_space(group, match, address_of(group, instruction, 1), run)


def _moved_in(
    group: "ThreadGroup",
    site: Site,
    addresses: Array,
    words: _Words,
    stride: Any,
    mask: Mask | None,
) -> Array:
    """(warps, 32, elements): what the lanes load, word by word."""
    every = words.offsets(stride, group)
    kept = []
    for word in range(every.shape[1]):
        access = begin(group, site, addresses + every[:, word], mask)
        lanes = slice(None) if access.lanes is None else access.lanes
        pieces = np.zeros((group.lanes, words.together), f"u{words.element_bytes}")
        memory = access.memory.words(words.element_bytes)
        first = access.positions[:, None] // words.element_bytes + np.arange(words.together)
        pieces[lanes] = memory.take(first, mode="clip")
        kept.append(pieces)
        _notify_values(group, access, pieces[lanes])
    return np.concatenate(kept, axis=1).reshape(group.warps, WARP, -1)


def _notify_values(group: "ThreadGroup", access: Access, pieces: Array) -> None:
    """Tell the observers of the elements moved, in words of the site."""
    if not len(pieces):
        return
    moved = np.ascontiguousarray(pieces).view(f"u{access.site.word_bytes}").reshape(len(pieces), -1)
    for observer in group.launch.observers:
        observer.on_values(access, list(moved.T))


class _RowLoad:
    """Loads 16-bit elements from shared memory as ``ldmatrix`` does, 16 bytes a lane.

    Once for each 16×16 elements: a matrix with a side of 32 has twice as many as lanes can ask for.
    """

    def __init__(
        self,
        group: "ThreadGroup",
        instruction: Instruction,
        shape: tuple[int, int],
        words: _Words,
    ) -> None:
        self.group = group
        self.shape = shape
        self.by_row = words.by_row
        rows, columns = shape if words.by_row else shape[::-1]
        high, wide = min(rows, _SIDE), min(columns, _SIDE)
        lane = np.arange(WARP)
        self.asks = lane < high * wide // 8
        self.slow, self.quick = lane % high, lane // high * 8
        self.parts = [(y, x) for y in range(0, rows, high) for x in range(0, columns, wide)]
        self.site = Site(instruction, "shared", LOAD, 4, 4, False)

    def matrix(self, addresses: Array, stride: Any, mask: Mask | None) -> Array:
        """Return the matrix of each warp, as unsigned numbers: (warps, rows, columns)."""
        group = self.group
        by = np.broadcast_to(stride, (group.lanes,)).astype(np.int64)
        shape = self.shape if self.by_row else self.shape[::-1]
        made = np.zeros((group.warps, *shape), np.uint16)
        for y, x in self.parts:
            self._read(made, addresses, by, mask, (self.slow + y, self.quick + x))
        return made if self.by_row else made.swapaxes(1, 2)

    def _read(
        self, made: Array, addresses: Array, by: Array, mask: Mask | None, places: Positions
    ) -> None:
        """Read 16×16 elements into the matrices of all warps."""
        group = self.group
        slow, quick = (np.tile(part, group.warps) for part in places)
        asking = np.tile(self.asks, group.warps) & (True if mask is None else mask)
        access = begin(
            group, self.site, addresses + (slow * by + quick) * 2, None if asking.all() else asking
        )
        lanes = np.arange(group.lanes) if access.lanes is None else access.lanes
        pieces = np.zeros((group.lanes, 8), np.uint16)
        first = access.positions[:, None] // 2 + np.arange(8)
        pieces[lanes] = access.memory.words(2).take(first, mode="clip")
        _notify_values(group, access, pieces[lanes])
        by_warp = pieces.reshape(group.warps, WARP, 8)
        for lane in np.flatnonzero(self.asks):
            row, column = places[0][lane], places[1][lane]
            made[:, row, column : column + 8] = by_warp[:, lane]


def _store(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    sizes = int(match["m"]), int(match["n"]), int(match["k"])
    bits = _BITS[match["type"]]
    words = _words("c", sizes, bits, match["layout"])
    stride = _stride(group, instruction, match, "c", 2)
    values = _registers(group, instruction.operands[1])
    sites = _sites(instruction, STORE, words.width, match["type"][0] == "f")

    def run(space: str, addresses: Array, mask: Mask | None) -> None:
        _whole_warps(instruction, mask)
        every = words.offsets(stride, group)
        elements = _elements(group, values, bits).reshape(group.lanes, -1)
        for word in range(every.shape[1]):
            access = begin(group, sites[space], addresses + every[:, word], mask)
            first = word * words.together
            kept = elements[:, first : first + words.together]
            kept = kept if access.lanes is None else kept[access.lanes]
            places = access.positions[:, None] // words.element_bytes + np.arange(words.together)
            access.memory.words(words.element_bytes)[places] = kept
            mark_written(access.memory, access.positions, words.width)
            _notify_values(group, access, kept)

    return in_space(group, match, address_of(group, instruction, 0), run)


def _whole_warps(instruction: Instruction, mask: Mask | None) -> None:
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
