"""Barriers in shared memory (mbarrier), and the bulk copies that complete them.

Source: PTX ISA, "mbarrier" and "cp.async.bulk". A copy lands when a thread first asks for its
mbarrier, so that a kernel that does not ask reads what was there before.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import SECTOR_BYTES, WARP, WORD_BYTES
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.group import (
    COPY_READ,
    COPY_WRITE,
    PIECE_BYTES,
    STORE,
    Access,
    BulkCopy,
    MemoryBarrier,
    Site,
)
from sgemm_lab.simulator.memory import SHARED_WINDOW
from sgemm_lab.simulator.memory_operations import address_of, begin, land_copies, mark_written
from sgemm_lab.simulator.operations import Match, Operations, Step, nothing, value
from sgemm_lab.simulator.ptx import Instruction, Operand, Pair, Register
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.vector_clocks import Row

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import BlockBatch, ThreadGroup

BarrierAddresses = Callable[[Mask | None], list[tuple[int, int]]]
"""Gives the active lanes, and where in shared memory each one's mbarrier lies."""
ArrivalClocks = dict[tuple[int, int], Row]
"""Clocks of arriving warps, by slot and number of the warp."""

_BYTES = 8
"""Of one mbarrier."""


def barrier_places(
    group: "ThreadGroup", instruction: Instruction, position: int
) -> BarrierAddresses:
    """A function that gives the active lanes and where each one's mbarrier lies."""
    addresses = address_of(group, instruction, position)
    site = Site(instruction, "shared", STORE, _BYTES, 1, False)

    def places(mask: Mask | None) -> list[tuple[int, int]]:
        here = addresses()
        if np.max(here) >= SHARED_WINDOW:
            here = np.where(here >= SHARED_WINDOW, here - SHARED_WINDOW, here)
        lanes = np.flatnonzero(group.alive if mask is None else mask)
        low, offset = here, group.shared_offset
        if group.launch.cluster > 1:
            low, offset = group.in_cluster(here)
        relative = low[lanes] - group.batch.shared.base
        outside = (relative < 0) | (relative > group.batch.shared.size - _BYTES)
        if outside.any() or (relative % _BYTES).any():
            # Out of bounds or misaligned: reported as for any access.
            access = begin(group, site, here, mask)
            lanes = np.arange(group.lanes) if access.lanes is None else access.lanes
            return list(zip(lanes.tolist(), access.positions.tolist(), strict=True))
        positions = relative + offset[lanes]
        return list(zip(lanes.tolist(), positions.tolist(), strict=True))

    return places


def barrier_at(group: "ThreadGroup", instruction: Instruction, place: int) -> MemoryBarrier:
    """The mbarrier at a place in shared memory."""
    found = group.batch.mbarriers.get(place)
    if found is None:
        raise PtxError(sentence("mbarrier.unknown", place=instruction.location))
    return found


def _numbers(group: "ThreadGroup", values: Any) -> Any:
    return np.broadcast_to(values, (group.lanes,))


def _initialise(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    places = barrier_places(group, instruction, 0)
    count = value(group, instruction, 1, "u32")

    def step(mask: Mask | None) -> None:
        expected = _numbers(group, count)
        for lane, place in places(mask):
            number = int(expected[lane])
            group.batch.mbarriers[place] = MemoryBarrier(number, number)
            mark_written(group.batch.shared, np.array([place]), _BYTES)

    return step


def _invalidate(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    places = barrier_places(group, instruction, 0)

    def step(mask: Mask | None) -> None:
        for _, place in places(mask):
            group.batch.mbarriers.pop(place, None)

    return step


def _complete_phase(batch: "BlockBatch", barrier: MemoryBarrier) -> None:
    if barrier.pending <= 0 and barrier.bytes == 0:
        barrier.phase += 1
        barrier.pending += barrier.expected
        barrier.acquired = barrier.released
        batch.progress_count += 1


def _release(
    group: "ThreadGroup", barrier: MemoryBarrier, lane: int, released: ArrivalClocks
) -> None:
    """Release a lane's clock at a barrier; ``released`` has those of its instruction, by warp."""
    clocks = group.batch.clocks
    assert clocks is not None
    warp = int(group.slot[lane]), int(group.thread[lane]) // WARP
    if warp not in released:
        released[warp] = clocks.release(*warp)
    known = released[warp]
    barrier.released = known if barrier.released is None else np.maximum(barrier.released, known)


def _arrive(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``mbarrier.arrive`` and ``mbarrier.arrive.expect_tx``; gives the phase as the state."""
    expects = match["expect"] is not None
    operands = instruction.operands
    has_state = isinstance(operands[0], Register)
    places = barrier_places(group, instruction, int(has_state))
    last = int(has_state) + 1
    amount = value(group, instruction, last, "u32") if last < len(operands) else np.uint32(1)
    state = _state(group, operands[0]) if has_state else None

    def step(mask: Mask | None) -> None:
        amounts = _numbers(group, amount)
        released: ArrivalClocks = {}
        completed: dict[int, int] = {}
        for lane, place in places(mask):
            barrier = barrier_at(group, instruction, place)
            if completed.get(place) == lane // WARP:
                group.launch.hazards.barrier_overflows(group, lane, instruction, barrier.expected)
            phase = barrier.phase
            if state is not None:
                state[lane] = barrier.phase
            _release(group, barrier, lane, released)
            barrier.bytes += int(amounts[lane]) if expects else 0
            barrier.pending -= 1 if expects else int(amounts[lane])
            _complete_phase(group.batch, barrier)
            if barrier.phase != phase:
                completed[place] = lane // WARP

    return step


def _state(group: "ThreadGroup", operand: Operand) -> Any:
    assert isinstance(operand, Register)
    return group.registers.view(operand, np.dtype(np.uint64))


def _expect(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    places = barrier_places(group, instruction, 0)
    amount = value(group, instruction, 1, "u32")

    def step(mask: Mask | None) -> None:
        amounts = _numbers(group, amount)
        for lane, place in places(mask):
            barrier_at(group, instruction, place).bytes += int(amounts[lane])

    return step


def _arrive_after_copies(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``cp.async.mbarrier.arrive``: the thread's copies so far are done, then it arrives."""
    places = barrier_places(group, instruction, 0)

    def step(mask: Mask | None) -> None:
        land_copies(group, mask, None)
        released: ArrivalClocks = {}
        for lane, place in places(mask):
            barrier = barrier_at(group, instruction, place)
            _release(group, barrier, lane, released)
            # Without .noinc the phase waits for one arrival more, which this one is.
            barrier.pending -= 1 if match["noinc"] else 0
            _complete_phase(group.batch, barrier)

    return step


def _test(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``mbarrier.test_wait`` and ``try_wait``: is the phase over, by its parity or its state?"""
    places = barrier_places(group, instruction, 1)
    by_parity = match["parity"] is not None
    asked = value(group, instruction, 2, "u32" if by_parity else "u64")
    target = instruction.operands[0]
    assert isinstance(target, Register)
    row = group.registers.view(target, np.dtype(np.bool_))

    def step(mask: Mask | None) -> None:
        phases = _numbers(group, asked)
        clocks = group.batch.clocks
        assert clocks is not None
        acquired = set()
        for lane, place in places(mask):
            barrier = barrier_at(group, instruction, place)
            _land(group, place, barrier)
            phase = int(phases[lane])
            over = barrier.phase % 2 != phase % 2 if by_parity else barrier.phase > phase
            row[lane] = over
            group.test_failed |= not over
            warp = (int(group.slot[lane]), int(group.thread[lane]) // WARP)
            if over and barrier.acquired is not None and (*warp, place) not in acquired:
                acquired.add((*warp, place))
                clocks.acquire(*warp, barrier.acquired)

    return step


def _land(group: "ThreadGroup", place: int, barrier: MemoryBarrier) -> None:
    """Let the bulk copies that complete an mbarrier arrive."""
    batch = group.batch
    mine = [copy for copy in batch.bulk_copies if copy.barrier == place]
    if not mine:
        return
    batch.bulk_copies[:] = [copy for copy in batch.bulk_copies if copy.barrier != place]
    for copy in mine:
        pieces = batch.shared.words(WORD_BYTES).reshape(-1, PIECE_BYTES // WORD_BYTES)
        pieces[copy.positions // PIECE_BYTES] = copy.data
        mark_written(batch.shared, copy.positions, PIECE_BYTES)
        for observer in group.launch.observers:
            observer.on_bulk_landed(copy)
        barrier.released = (
            copy.known if barrier.released is None else np.maximum(barrier.released, copy.known)
        )
        barrier.bytes -= copy.data.nbytes
        _complete_phase(batch, barrier)
    batch.progress_count += 1


def _bulk_copy(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``cp.async.bulk`` from global memory to the block's own shared memory."""
    to, origin = address_of(group, instruction, 0), address_of(group, instruction, 1)
    size = value(group, instruction, 2, "u32")
    places = barrier_places(group, instruction, 3)
    write_site = Site(instruction, "shared", COPY_WRITE, 16, 1, False)
    read_site = Site(instruction, "global", COPY_READ, 16, 1, False)

    def step(mask: Mask | None) -> None:
        sizes = _numbers(group, size)
        for lane, place in places(mask):
            alone = np.zeros(group.lanes, dtype=bool)
            alone[lane] = True
            length = int(sizes[lane])
            if length % 16:
                raise PtxError(
                    sentence("mbarrier.length", place=instruction.location, bytes=length)
                )
            barrier_at(group, instruction, place)
            if length:
                _start_copy(group, (write_site, read_site), (to(), origin()), alone, length, place)

    return step


def _start_copy(
    group: "ThreadGroup",
    sites: tuple[Site, Site],
    addresses: tuple[Any, Any],
    alone: Mask,
    length: int,
    place: int,
) -> None:
    """Start the copy of one thread: read the source now, and keep it until it lands."""
    lane = int(np.flatnonzero(alone)[0])
    ends = []
    for site, address in zip(sites, addresses, strict=True):
        # The first and the last 16 bytes show whether all lies inside one array.
        first = _begin_unobserved(group, site, address, alone)
        last = _begin_unobserved(group, site, address + (length - 16), alone)
        if not len(first.positions) or not len(last.positions):
            return
        ends.append(first)
    write, read = ends
    start = int(read.positions[0]) // WORD_BYTES
    data = read.memory.words(WORD_BYTES)[start : start + length // WORD_BYTES].reshape(-1, 4).copy()
    positions = int(write.positions[0]) + np.arange(len(data)) * PIECE_BYTES
    sectors = -(-length // SECTOR_BYTES)
    start_bulk_copy(group, write, lane, positions, data, place, sectors)


def start_bulk_copy(
    group: "ThreadGroup",
    write: Access,
    lane: int,
    positions: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint32],
    place: int,
    sectors: int,
) -> None:
    """Start a copy of pieces of 16 bytes to positions in shared memory.

    ``write`` is the access of its first bytes, ``place`` where its mbarrier lies, ``sectors`` what
    it reads of global memory.
    """
    batch = group.batch
    assert batch.clocks is not None
    time, known = batch.clocks.copy_starts(int(group.slot[lane]), int(group.thread[lane]) // WARP)
    copy = BulkCopy(write, positions, data, sectors, place, time, known)
    batch.bulk_copies.append(copy)
    batch.progress_count += 1
    for observer in group.launch.observers:
        observer.on_bulk_copy(copy)


def _begin_unobserved(group: "ThreadGroup", site: Site, addresses: Any, alone: Mask) -> Access:
    """Check an access without notifying the observers: they are notified of the whole copy."""
    return begin(group, site, addresses, alone, notify=False)


def _elect(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``elect.sync``: the predicate holds in the first lane of those that take part."""
    target = instruction.operands[0]
    assert isinstance(target, Pair)
    row = group.registers.view(target.second, np.dtype(np.bool_))
    leader = group.registers.view(target.first, np.dtype(np.uint32))

    def step(mask: Mask | None) -> None:
        active = (group.alive if mask is None else mask).reshape(-1, WARP)
        first = np.repeat(active.argmax(axis=1), WARP)
        where = active.reshape(-1)
        np.copyto(row, np.arange(group.lanes) % WARP == first, where=where)
        np.copyto(leader, first.astype(np.uint32), where=where)

    return step


_SHARED = r"(?:\.shared(?:::(?:cta|cluster))?)?"
_ORDER = r"(?:\.(?:release|acquire|relaxed))?(?:\.(?:cta|cluster))?"

OPERATIONS: Operations = [
    (rf"mbarrier\.init{_SHARED}\.b64", _initialise),
    (rf"mbarrier\.inval{_SHARED}\.b64", _invalidate),
    (rf"mbarrier\.arrive(?P<expect>\.expect_tx)?{_ORDER}{_SHARED}\.b64", _arrive),
    (rf"mbarrier\.expect_tx{_ORDER}{_SHARED}\.b64", _expect),
    (rf"mbarrier\.(?:try|test)_wait(?P<parity>\.parity)?{_ORDER}{_SHARED}\.b64", _test),
    (rf"cp\.async\.mbarrier\.arrive(?P<noinc>\.noinc)?{_SHARED}\.b64", _arrive_after_copies),
    (
        r"cp\.async\.bulk\.shared::(?:cluster|cta)\.global\.mbarrier::complete_tx::bytes"
        r"(?:\.L2::cache_hint)?",
        _bulk_copy,
    ),
    (r"elect\.sync", _elect),
    (r"setmaxnreg\.(?:inc|dec)\.sync\.aligned\.u32", nothing),
]
