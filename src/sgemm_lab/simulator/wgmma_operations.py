"""Matrix multiply-accumulate of a warp group, ``wgmma``: four warps, factors in shared memory.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions". Each warp of the four has 16
rows of D, laid out as those of ``mma``; nothing of it depends on the other three. A product is
computed when it starts. That it runs on until ``wgmma.wait_group`` is seen by those who watch
shared memory, and by ``early_uses``, which follows its registers through the kernel.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.arithmetic import read_predicate
from sgemm_lab.simulator.control_flow import BasicBlock
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.group import LOAD, PIECE_BYTES, Site, TensorRead
from sgemm_lab.simulator.memory_operations import begin
from sgemm_lab.simulator.operands import registers_of, registers_read, registers_written
from sgemm_lab.simulator.operations import Match, Operations, Step, destinations, nothing, value
from sgemm_lab.simulator.ptx import Immediate, Instruction, Register, Vector
from sgemm_lab.simulator.registers import Array, Mask
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.tensor_operations import (
    ELEMENTS,
    PACKED,
    lane_registers,
    matrix_a,
    sum_of_products,
    vector_items,
)

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

_SWIZZLES = (PIECE_BYTES, 128, 64, 32)
"""Bytes of a row of the swizzle's pattern, by the two highest bits of a descriptor."""
_ROWS = 16
_GROUP_ROWS = 64
_PRODUCT = "wgmma.mma_async"


def swizzled(addresses: Array, swizzle: int) -> Array:
    """Return where bytes stand in a swizzled array: bits 4 to 6 are XORed with bits 7 to 9.

    ``swizzle`` is 128, 64 or 32 bytes, which take 3, 2 or 1 of these bits; 0 or 16 is none.
    """
    bits = max(swizzle, PIECE_BYTES) - PIECE_BYTES
    return np.asarray(addresses ^ (addresses >> 3 & bits))


@lru_cache(maxsize=256)
def _offsets(layout: int, rows: int, depth: int, size: int, transposed: bool) -> Array:
    """Bytes from a matrix's start to each piece of 16 bytes, before the swizzle.

    Shape: (rows, pieces) where k is contiguous, (pieces, depth) where rows are (``transposed``).
    ``layout`` is a descriptor without its start address: PTX ISA, "canonical layouts".
    """
    leading, stride = ((layout >> shift & 0x3FFF) * PIECE_BYTES for shift in (16, 32))
    width = _SWIZZLES[layout >> 62]
    plain = width == PIECE_BYTES
    pieces = (rows if transposed else depth) * size // PIECE_BYTES
    piece, line = np.arange(pieces), np.arange(depth if transposed else rows)
    if not transposed:
        first = line % 8 * width + line // 8 * stride
        return np.asarray(first[:, None] + piece * (leading if plain else PIECE_BYTES))
    in_row = width // PIECE_BYTES
    across, along = (stride, leading) if plain else (leading, stride)
    first = piece % in_row * PIECE_BYTES + piece // in_row * across
    return np.asarray(first[:, None] + line % 8 * width + line // 8 * along)


class _Factor:
    """A factor in shared memory: reads it for one warp by its descriptor."""

    def __init__(self, type_: str, rows: int, *, transposed: bool) -> None:
        self.size = 4 // PACKED[type_]
        self.type, self.rows, self.transposed = type_, rows, transposed
        self.depth = 8 * PACKED[type_]

    def pieces(self, descriptor: int, warp: int | None) -> Array:
        """Addresses in shared memory; of A those of a warp's own rows."""
        layout = descriptor >> 16 << 16
        found = _offsets(layout, self.rows, self.depth, self.size, self.transposed)
        if warp is not None:
            step = len(found) // 4
            found = found[warp % 4 * step : (warp % 4 + 1) * step]
        start = (descriptor & 0x3FFF) * PIECE_BYTES
        return swizzled(start + found, _SWIZZLES[descriptor >> 62])

    def read(self, memory: Array, positions: Array) -> Array:
        """(rows, depth) in float64, from where its pieces stand."""
        words = memory.reshape(-1, PIECE_BYTES)[positions // PIECE_BYTES].reshape(
            *positions.shape, PIECE_BYTES
        )
        elements = ELEMENTS[self.type](words.view(np.uint32))
        flat = elements.reshape(*positions.shape, -1)
        if self.transposed:  # (pieces of rows, depth, rows of a piece)
            return flat.swapaxes(1, 2).reshape(-1, positions.shape[1])
        return flat.reshape(len(positions), -1)


def _product(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """D = A·B, or A·B + D: one step for all warps of a group that run it."""
    type_, columns = match["type"], int(match["n"])
    place = instruction.location
    rows = destinations(group, instruction, np.float32)
    operands = instruction.operands
    in_registers = isinstance(operands[1], Vector)
    adds = read_predicate(group, operands[3])
    settings = [one.bits for one in operands[4:] if isinstance(one, Immediate)]
    signs = [1.0 if bits == 1 else -1.0 for bits in settings[:2]]
    # TF32 is never transposed, nor is A in registers.
    transposed = [bits == 1 for bits in [*([0] if in_registers else []), *settings[2:], 0, 0]]
    factor_a = _Factor(type_, _GROUP_ROWS, transposed=transposed[0])
    factor_b = _Factor(type_, columns, transposed=transposed[1])
    items = vector_items(group, instruction, 1) if in_registers else None
    start_a = None if in_registers else value(group, instruction, 1, "u64")
    start_b = value(group, instruction, 2, "u64")
    site = Site(instruction, "shared", LOAD, PIECE_BYTES, 1, False)
    if len(rows) != columns // 2:
        raise PtxError(sentence("run.operands", opcode=instruction.opcode, place=place))
    row, column = places_of_sums(columns)

    def factor(factor: _Factor, descriptor: Any, lane: int, warp: int | None) -> Array | None:
        pieces = factor.pieces(int(descriptor[lane]), warp)
        access = _access(group, site, lane, pieces)
        if access is None:
            return None
        for watch in group.launch.tensor_watches:
            watch.on_tensor_read(access)
        group.products.append((int(group.committed_products[lane]), access))
        return factor.read(group.batch.shared.bytes, access.positions)

    def step(mask: Mask | None) -> None:
        active = (group.alive if mask is None else mask).reshape(-1, WARP)
        if (active.any(axis=1) != active.all(axis=1)).any():
            raise PtxError(sentence("run.wgmma", place=place))
        descriptors = [
            None if start is None else np.broadcast_to(start, (group.lanes,))
            for start in (start_a, start_b)
        ]
        from_lanes = None
        if items is not None:
            from_lanes = matrix_a(lane_registers(group, items), type_)
        add = np.broadcast_to(adds(), (group.lanes,)).reshape(-1, WARP)[:, 0]
        sums = np.stack(rows, axis=-1).reshape(-1, WARP, len(rows))
        for number in np.flatnonzero(active.any(axis=1)).tolist():
            lane = number * WARP
            warp = int(group.thread[lane]) // WARP
            b = factor(factor_b, descriptors[1], lane, None)
            a = factor(factor_a, descriptors[0], lane, warp) if from_lanes is None else (
                from_lanes[number])  # fmt: skip
            if a is None or b is None:
                continue
            before = np.zeros((_ROWS, columns), np.float32)
            if add[number]:
                before[row, column] = sums[number]
            total = sum_of_products(signs[0] * a[None], signs[1] * b.T[None], before[None])[0]
            sums[number] = total[row, column]
            for register, values in zip(rows, sums[number].T, strict=True):
                register[lane : lane + WARP] = values

    return step


@lru_cache
def places_of_sums(columns: int) -> tuple[Array, Array]:
    """Row and column of D of each lane's registers, (32, registers)."""
    lane, register = np.arange(WARP)[:, None], np.arange(columns // 2)
    row = lane // 4 + register // 2 % 2 * 8
    return row, register // 4 * 8 + lane % 4 * 2 + register % 2


def _access(group: "ThreadGroup", site: Site, lane: int, pieces: Array) -> TensorRead | None:
    """Check where a factor stands, and say what a lane's warp reads; None if it is outside."""
    memory = group.batch.shared
    relative = pieces - memory.base
    wrong = (relative < 0) | (relative > memory.size - PIECE_BYTES)
    alone = np.zeros(group.lanes, dtype=bool)
    alone[lane] = True
    first = pieces[wrong][0] if wrong.any() else pieces.flat[0]
    access = begin(group, site, np.full(group.lanes, first), alone, notify=False)
    return None if wrong.any() else TensorRead(access, lane, relative + group.shared_offset[lane])


def _commit(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    def step(mask: Mask | None) -> None:
        group.committed_products[slice(None) if mask is None else mask] += 1

    return step


def _wait(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``wgmma.wait_group N``: all but the last N groups of products have read their factors."""
    pending = instruction.operands[0]
    allowed = pending.bits if isinstance(pending, Immediate) else 0

    def step(mask: Mask | None) -> None:
        done: list[tuple[int, TensorRead]] = []
        left: list[tuple[int, TensorRead]] = []
        for ticket, read in group.products:
            waits = mask is None or mask[read.lane]
            over = waits and ticket < group.committed_products[read.lane] - allowed
            (done if over else left).append((ticket, read))
        group.products[:] = left
        for watch in group.launch.tensor_watches:
            watch.on_tensor_done([read for _, read in done], [read for _, read in left])
        # A product is one of four warps: where it is done, all four have come as far.
        together: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
        for _, read in done:
            slot, warp = int(group.slot[read.lane]), int(group.thread[read.lane]) // WARP
            together[slot, warp // 4].add((slot, warp))
        for warps in together.values():
            assert group.batch.clocks is not None
            group.batch.clocks.synchronize(sorted(warps))

    return step


class _Flight:
    """Registers of products that may run, and how many groups were committed since, at least."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.factors: dict[str, int] = {}
        self.dirty: set[str] = set()
        """Registers of products that were written since the last ``wgmma.fence``.

        Without what stands between the fence and the end of its products: a compiler may move it
        there, and ptxas moves it back."""
        self.fenced = False

    def joined(self, other: "_Flight") -> bool:
        """Take in what may run on another path; tell whether that is new."""
        before = (dict(self.sums), dict(self.factors), set(self.dirty), self.fenced)
        for mine, others in ((self.sums, other.sums), (self.factors, other.factors)):
            for name, age in others.items():
                mine[name] = min(age, mine.get(name, age))
        self.dirty |= other.dirty
        self.fenced &= other.fenced
        return before != (self.sums, self.factors, self.dirty, self.fenced)

    def copy(self) -> "_Flight":
        """Return the same registers, to be changed."""
        found = _Flight()
        found.joined(self)
        found.fenced = self.fenced
        return found


_OLDEST = 8
_ANY = ""
"""Stands for all registers of products before the first fence."""


def early_uses(blocks: Sequence[BasicBlock]) -> Mapping[int, str]:
    """Find instructions that use registers of a product before it is waited for.

    Returns:
        By index of the instruction what is wrong: a key of the sentences.
    """
    every = [one for block in blocks for one in block.instructions]
    products = [one for one in every if one.opcode.startswith(_PRODUCT)]
    if not products:
        return {}
    # A descriptor is read when the product starts; elements in registers are until it is done.
    held = [item for one in products for item in one.operands[:2] if isinstance(item, Vector)]
    mine = {register.name for item in held for register in registers_of(item)}
    # A compiler may copy sums, which ptxas undoes: the copy may be what still runs.
    copies = [pair for pair in map(_copy, every) if pair is not None]
    while more := {name for pair in copies for name in pair if mine & {*pair}} - mine:
        mine |= more
    uses = {one.index: _names(one, mine) for one in every}
    found: dict[int, str] = {}
    first = _Flight()
    first.dirty.add(_ANY)
    arriving = {0: first}
    waiting = {0}
    while waiting:
        number = min(waiting)
        waiting.remove(number)
        flight = arriving[number].copy()
        for one in blocks[number].instructions:
            fault = _after(flight, one, *uses[one.index])
            if fault is not None:
                found.setdefault(one.index, fault)
        for successor in blocks[number].successors:
            if successor not in arriving:
                arriving[successor] = flight.copy()
                waiting.add(successor)
            elif arriving[successor].joined(flight):
                waiting.add(successor)
    return found


def _copy(instruction: Instruction) -> tuple[str, str] | None:
    """Target and source of a move between registers."""
    match instruction.parts[0], instruction.operands:
        case "mov", (Register(target), Register(origin)):
            return target, origin
    return None


def _names(instruction: Instruction, mine: set[str]) -> tuple[set[str], set[str]]:
    reads = {register.name for register in registers_read(instruction)} & mine
    return reads, {register.name for register in registers_written(instruction)} & mine


def _after(
    flight: _Flight, instruction: Instruction, reads: set[str], writes: set[str]
) -> str | None:
    """Follow an instruction; return what is wrong with it."""
    opcode = instruction.opcode
    if opcode.startswith("wgmma.fence"):
        flight.dirty.clear()
        flight.fenced = True
    elif opcode.startswith("wgmma.commit"):
        flight.fenced = False
        for ages in (flight.sums, flight.factors):
            ages.update((name, min(age + 1, _OLDEST)) for name, age in list(ages.items()))
    elif opcode.startswith("wgmma.wait"):
        (count,) = instruction.operands
        allowed = count.bits if isinstance(count, Immediate) else 0
        for ages in (flight.sums, flight.factors):
            for name in [name for name, age in ages.items() if age > allowed]:
                del ages[name]
    elif opcode.startswith(_PRODUCT):
        early, unfenced = reads & flight.sums.keys(), ({_ANY} | reads | writes) & flight.dirty
        flight.sums |= dict.fromkeys(writes, 0)
        flight.factors |= dict.fromkeys(reads, 0)
        return "hazard.sum" if early else "hazard.fence" if unfenced else None
    elif (copy := _copy(instruction)) and (copy[1] in flight.sums or copy[1] not in flight.dirty):
        target, origin = copy
        flight.dirty.discard(target)
        if origin in flight.sums:
            flight.sums[target] = flight.sums[origin]
        elif target in flight.sums:
            return "hazard.sum"
        return "hazard.factor" if target in flight.factors else None
    else:
        flight.dirty |= set() if flight.fenced else writes
        if (reads | writes) & flight.sums.keys():
            return "hazard.sum"
        return "hazard.factor" if writes & flight.factors.keys() else None
    return None


OPERATIONS: Operations = [
    (
        r"wgmma\.mma_async\.sync\.aligned\.m64n(?P<n>\d+)k(?:8\.f32(?=\.tf32)|16\.f32(?=\.b?f16))"
        r"\.(?P<type>tf32|f16|bf16)\.(?P=type)",
        _product,
    ),
    (r"wgmma\.commit_group\.sync\.aligned", _commit),
    (r"wgmma\.wait_group\.sync\.aligned", _wait),
    (r"wgmma\.fence\.sync\.aligned", nothing),
]
