"""Find what is wrong with a kernel while it runs, and say so in plain sentences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.group import (
    ATOMIC,
    COPY_WRITE,
    LOAD,
    Access,
    BulkCopy,
    Dim3,
    ThreadGroup,
)
from sgemm_lab.simulator.memory import Memory, NamedArray
from sgemm_lab.simulator.ptx import TYPE_BYTES, Instruction, Location
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.sentences import sentence

Array = npt.NDArray[Any]

OUT_OF_BOUNDS = "out of bounds"
MISALIGNED = "misaligned"
UNWRITTEN = "unwritten"
RACE = "race"
IN_FLIGHT = "in flight"
BARRIER = "barrier"
"""Kinds of hazard."""
SPLIT_BARRIER = "split barrier"
"""A kind of warning: odd, and right all the same."""


@dataclass(frozen=True)
class Hazard:
    """Something wrong at one source line. ``str()`` gives the sentence for the reader."""

    kind: str
    location: Location
    message: str
    block: Dim3
    """``blockIdx`` (x, y, z) where it was first met."""
    thread: Dim3
    """``threadIdx`` (x, y, z)."""
    array: str | None = None
    element: tuple[int, ...] | None = None
    """Index in the array, in elements; a shared array counts as one-dimensional."""
    other_thread: Dim3 | None = None
    """The other thread of a race."""
    other_location: Location | None = None
    """Where the other thread of a race accessed the element."""
    across_warps: bool = False
    """Whether the two threads of a race are of different warps."""

    def __str__(self) -> str:
        return self.message


def plainest(hazards: Sequence[Hazard]) -> Hazard:
    """Return the first of some hazards; of races rather one between two warps.

    Threads of one warp mostly run side by side, but which warp is first is chance.
    """
    races = (hazard for hazard in hazards if hazard.across_warps)
    return next(races, hazards[0]) if hazards[0].kind == RACE else hazards[0]


FaultListener = Callable[[Access, npt.NDArray[np.intp], Callable[[int], str]], None]
"""Told of every access that faults: the access, its lanes that fault, and what to say of a lane."""


class HazardLog:
    """Keeps the first hazard of each kind at each instruction.

    ``on_fault`` is told of every access that a GPU would stop at, not of the first only.
    """

    def __init__(self, on_fault: FaultListener | None = None) -> None:
        self._on_fault = on_fault
        self.found: list[Hazard] = []
        self.warnings: list[Hazard] = []
        self._seen: set[tuple[str, int | Location]] = set()

    def out_of_bounds(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes address memory that belongs to no array."""
        self._fault(OUT_OF_BOUNDS, access, lanes, _outside)

    def misaligned(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes address a vector that does not start at a multiple of its size."""
        self._fault(MISALIGNED, access, lanes, _crooked)

    def unwritten(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes read memory that nothing wrote."""
        if self._is_new(UNWRITTEN, access.site.instruction.index):
            place = _Place(access, int(lanes[0]))
            self._keep(place, UNWRITTEN, place.says("hazard.unwritten"))

    def barrier_missed(self, group: ThreadGroup, site: Instruction, missing: Mask) -> None:
        """Some live lanes did not reach a barrier that others of their block did."""
        if self._is_new(BARRIER, site.location):
            lane = int(np.flatnonzero(missing)[0])
            block, thread = _who(group, lane)
            block_name, thread_name = _names(group, block, thread)
            count = int(missing[group.slot == group.slot[lane]].sum())
            self.found.append(
                Hazard(
                    BARRIER,
                    site.location,
                    sentence(
                        "barrier.missed",
                        place=site.location,
                        count=count,
                        block=block_name,
                        thread=thread_name,
                    ),
                    block,
                    thread,
                )
            )

    def barrier_starved(
        self, group: ThreadGroup, lane: int, site: Instruction, came: int, expected: int
    ) -> None:
        """A barrier waits for more threads than come to it."""
        if self._is_new(BARRIER, site.location):
            block, thread = _who(group, lane)
            self.found.append(
                Hazard(
                    BARRIER,
                    site.location,
                    sentence(
                        "barrier.starved",
                        place=site.location,
                        expected=expected,
                        block=group.launch.block_name(block),
                        came=came,
                    ),
                    block,
                    thread,
                )
            )

    def barrier_skipped(self, group: ThreadGroup, lane: int, site: Instruction) -> None:
        """Warps returned while others of their block waited at a barrier: it opens without them."""
        if self._is_new(SPLIT_BARRIER, site.location):
            block, thread = _who(group, lane)
            block_name, thread_name = _names(group, block, thread)
            self.warnings.append(
                Hazard(
                    SPLIT_BARRIER,
                    site.location,
                    sentence(
                        "barrier.skipped",
                        place=site.location,
                        block=block_name,
                        thread=thread_name,
                    ),
                    block,
                    thread,
                )
            )

    def barrier_split(
        self, group: ThreadGroup, lane: int, site: Instruction, other: Instruction
    ) -> None:
        """Warps of one block met at two barriers of the source: the hardware counts them alike."""
        if self._is_new(SPLIT_BARRIER, site.location):
            block, thread = _who(group, lane)
            self.warnings.append(
                Hazard(
                    SPLIT_BARRIER,
                    site.location,
                    sentence(
                        "barrier.split",
                        place=site.location,
                        block=group.launch.block_name(block),
                        line=other.location.line,
                    ),
                    block,
                    thread,
                    other_location=other.location,
                )
            )

    def race(
        self, access: Access, lane: int, position: int, other_thread: int, other: Instruction
    ) -> None:
        """Two threads meet at one shared element with no barrier between."""
        across_warps = int(access.group.thread[lane]) // WARP != other_thread // WARP
        kind = f"{RACE} across warps" if across_warps else RACE
        if self._is_new(kind, access.site.instruction.index):
            place = _Place(access, lane, position)
            second = access.group.launch.thread_index(other_thread)
            name = access.group.launch.thread_name(second)
            self._keep(
                place,
                RACE,
                place.says("hazard.race", other=name, line=other.location.line),
                other_thread=second,
                other_location=other.location,
                across_warps=across_warps,
            )

    def in_flight(self, access: Access, lane: int, position: int) -> None:
        """A read of shared memory that an asynchronous copy has not filled yet."""
        if self._is_new(IN_FLIGHT, access.site.instruction.index):
            place = _Place(access, lane, position)
            self._keep(place, IN_FLIGHT, place.says("hazard.in flight"))

    def _fault(
        self,
        kind: str,
        access: Access,
        lanes: npt.NDArray[np.intp],
        say: Callable[["_Place"], str],
    ) -> None:
        if self._is_new(kind, access.site.instruction.index):
            place = _Place(access, int(lanes[0]))
            self._keep(place, kind, say(place))
        if self._on_fault is not None:

            def told(lane: int) -> str:
                place = _Place(access, lane)
                return place.told(say(place))

            self._on_fault(access, lanes, told)

    def _is_new(self, kind: str, where: int | Location) -> bool:
        key = (kind, where)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _keep(
        self,
        place: "_Place",
        kind: str,
        what: str,
        other_thread: Dim3 | None = None,
        other_location: Location | None = None,
        *,
        across_warps: bool = False,
    ) -> None:
        hazard = Hazard(
            kind,
            place.location,
            place.told(what),
            place.block,
            place.thread,
            None if place.array is None else place.array.name,
            place.element,
            other_thread,
            other_location,
            across_warps,
        )
        # One source line may be many instructions: say the same thing once.
        same = (hazard.kind, hazard.location, hazard.array)
        for number, old in enumerate(self.found):
            if (old.kind, old.location, old.array) == same:
                # Between two warps a race is plain.
                if hazard.across_warps and not old.across_warps:
                    self.found[number] = hazard
                return
        self.found.append(hazard)


class _Place:
    """Who accesses what, in the words of the source."""

    def __init__(self, access: Access, lane: int, position: int | None = None) -> None:
        group, memory, site = access.group, access.memory, access.site
        self.location = site.instruction.location
        self.verb = sentence(f"verb.{site.kind}")
        self.space, self.width = memory.space, site.width
        self.block, self.thread = _who(group, lane)
        self.names = _names(group, self.block, self.thread)
        if position is None:
            position = int(access.addresses[lane]) - memory.base
        else:
            position -= int(group.slot[lane]) * memory.stride
        self.array: NamedArray | None = memory.array_at(position)
        self.item_bytes = site.word_bytes
        self.flat = 0
        self.element: tuple[int, ...] | None = None
        if self.array is not None:
            if self.array.dtype is not None:
                self.item_bytes = self.array.dtype.itemsize
            self.flat = (position - self.array.start) // self.item_bytes
            self.element = element_index(self.array, self.flat)

    def told(self, what: str) -> str:
        """A sentence that says of line, thread and block what the thread does."""
        block, thread = self.names
        return sentence("hazard.who", place=self.location, thread=thread, block=block, what=what)

    def says(self, key: str, **values: Any) -> str:
        """The rest of such a sentence: what the thread does with which element."""
        return sentence(key, verb=self.verb, name=self.name, **values)

    @property
    def name(self) -> str:
        """Array and element as the source would write it."""
        if self.array is None or self.element is None:
            return sentence("hazard.memory")
        return self.array.name + "".join(f"[{index}]" for index in self.element)


def _outside(place: _Place) -> str:
    if place.array is None:
        return sentence("hazard.undeclared", verb=place.verb, space=place.space)
    count = place.array.bytes // place.item_bytes
    size = " × ".join(map(str, place.array.shape)) or count
    return place.says("hazard.outside", flat=place.flat, array=place.array.name, size=size)


def _crooked(place: _Place) -> str:
    return place.says("hazard.misaligned", width=place.width)


def element_index(array: NamedArray, flat: int) -> tuple[int, ...]:
    """Index of an element in its array's shape; one-dimensional where the shape is not known."""
    if len(array.shape) < 2 or not 0 <= flat < int(np.prod(array.shape)):
        return (flat,)
    return tuple(int(index) for index in np.unravel_index(flat, array.shape))


def _who(group: ThreadGroup, lane: int) -> tuple[Dim3, Dim3]:
    launch = group.launch
    block = launch.block_index(int(group.batch.blocks[group.slot[lane]]))
    return block, launch.thread_index(int(group.thread[lane]))


def _names(group: ThreadGroup, block: Dim3, thread: Dim3) -> tuple[str, str]:
    """A block and a thread of it as sentences name them."""
    return group.launch.block_name(block), group.launch.thread_name(thread)


def across_warps_first(own: Array, other: Array, wrong: Mask) -> int:
    """Return the first wrong entry whose two threads are of different warps, or the first."""
    apart = wrong & (own // WARP != other // WARP)
    return int(np.flatnonzero(apart if apart.any() else wrong)[0])


_NOBODY = -1


class _Shadow:
    """For each word of a batch's shared memory: who used it last, and when."""

    def __init__(self, memory: Memory, word_bytes: int) -> None:
        words = len(memory.bytes) // word_bytes
        self.writer = np.full(words, _NOBODY, dtype=np.int32)
        self.write_epoch = np.full(words, _NOBODY, dtype=np.int32)
        self.write_warp_epoch = np.zeros(words, dtype=np.int32)
        self.write_site = np.zeros(words, dtype=np.int32)
        self.reader = np.full(words, _NOBODY, dtype=np.int32)
        self.other_reader = np.full(words, _NOBODY, dtype=np.int32)
        """Where there are several readers: another one, of another warp if there are several."""
        self.read_epoch = np.full(words, _NOBODY, dtype=np.int32)
        self.read_warp_epoch = np.zeros(words, dtype=np.int32)
        self.read_site = np.zeros(words, dtype=np.int32)
        self.several_readers = np.zeros(words, dtype=bool)
        self.several_warps = np.zeros(words, dtype=bool)
        self.in_flight = np.zeros(words, dtype=np.int32)
        self.words_in_flight = 0
        self.blocks = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Use:
    """One access of shared memory, and when each lane made it."""

    access: Access
    lanes: npt.NDArray[np.intp]
    epoch: npt.NDArray[np.int64]
    """Barriers that each slot's block had passed."""
    warp_epoch: npt.NDArray[np.int64]
    """Warp-level barriers that each lane of the group had passed."""

    @property
    def thread(self) -> npt.NDArray[np.int32]:
        """Number of each lane's thread."""
        return self.access.group.thread[self.lanes].astype(np.int32)

    @property
    def lane_epoch(self) -> npt.NDArray[np.int64]:
        """Barriers that each lane's block had passed."""
        return self.epoch[self.access.group.slot[self.lanes]]


_COPY_WORD = 4
_MOST_WAITING = 1 << 23
"""Words of reads put by. Above this they would take more memory than they save time."""


def smallest_shared_access(instructions: list[Instruction]) -> int:
    """Bytes of the narrowest load or store that may go to shared memory, at most 4."""
    narrowest = 4
    for instruction in instructions:
        parts = instruction.parts
        elsewhere = {"global", "local", "param"} & set(parts)
        if parts[0] in ("ld", "st") and not elsewhere:
            narrowest = min(narrowest, TYPE_BYTES[parts[-1]])
    return narrowest


class RaceDetector:
    """Watches shared memory for accesses that no barrier orders. An observer.

    Two accesses of one word race when two threads make them in the same stretch between barriers
    and at least one writes. Threads of one warp are also ordered by ``__syncwarp()``.

    Most stretches of most kernels only read, or only write. So reads are put by, and looked at
    word by word only when a write follows in their stretch.
    """

    def __init__(self, log: HazardLog, instructions: list[Instruction]) -> None:
        self._log = log
        self._instructions = instructions
        self._word_bytes = smallest_shared_access(instructions)
        self._shadow: _Shadow | None = None
        self._memory: Memory | None = None
        self._reads: list[_Use] = []
        """Reads that have not been noted word by word."""
        self._waiting_words = 0
        self._last_write: Array = np.zeros(0, dtype=np.int64)
        self._last_read: Array = np.zeros(0, dtype=np.int64)
        """For each slot the stretch in which shared memory was last written, or a read noted."""

    def on_access(self, access: Access) -> None:
        """Check one access of shared memory against those before it."""
        if access.site.space != "shared" or access.site.kind == ATOMIC:
            return
        group = access.group
        shadow = self._shadow_of(group, access.memory)
        lanes = np.arange(group.lanes) if access.lanes is None else access.lanes
        use = _Use(access, lanes, group.batch.epoch, group.warp_epoch)
        if access.site.kind == LOAD:
            self._check_read(shadow, use)
            self._put_by(shadow, use)
        else:
            self._note_reads(shadow, use.epoch)
            self._check_write(shadow, use)
            self._last_write = use.epoch

    def on_values(self, access: Access, values: list[Array]) -> None:
        """Values do not matter for races."""

    def on_copies_landed(self, group: ThreadGroup, lanes: Array, positions: Array) -> None:
        """The words are no longer in flight; their writers wrote them just now."""
        shadow = self._shadow_of(group, group.batch.shared)
        for word in range(_COPY_WORD // self._word_bytes):
            index = positions // self._word_bytes + word
            np.subtract.at(shadow.in_flight, index, 1)
            shadow.words_in_flight -= len(index)
            shadow.writer[index] = group.thread[lanes]
            shadow.write_epoch[index] = group.batch.epoch[group.slot[lanes]]
            shadow.write_warp_epoch[index] = group.warp_epoch[lanes]
        self._last_write = group.batch.epoch

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Kernels with bulk copies are watched by clocks."""

    def on_bulk_landed(self, copy: BulkCopy) -> None:
        """Kernels with bulk copies are watched by clocks."""

    def _shadow_of(self, group: ThreadGroup, memory: Memory) -> _Shadow:
        if self._shadow is None or self._memory is not memory:
            self._shadow, self._memory = _Shadow(memory, self._word_bytes), memory
        if not np.array_equal(self._shadow.blocks, group.batch.blocks):
            self._shadow = _Shadow(memory, self._word_bytes)
            self._shadow.blocks = group.batch.blocks.copy()
            self._last_write = np.full(group.batch.slots, _NOBODY, dtype=np.int64)
            self._last_read = self._last_write
            self._reads, self._waiting_words = [], 0
        return self._shadow

    def _words(self, use: _Use) -> Iterator[Array]:
        """The words that each lane asks for, one after the other."""
        first = use.access.positions // self._word_bytes
        for word in range(use.access.site.width // self._word_bytes):
            yield first + word

    def _check_read(self, shadow: _Shadow, use: _Use) -> None:
        if shadow.words_in_flight:
            for index in self._words(use):
                waiting = np.flatnonzero(shadow.in_flight[index] > 0)
                if len(waiting):
                    lane, word = int(use.lanes[waiting[0]]), int(index[waiting[0]])
                    self._log.in_flight(use.access, lane, word * self._word_bytes)
        if not (self._last_write == use.epoch).any():
            return
        for index in self._words(use):
            self._report(use, index, *self._written_before(shadow, use, index), shadow.write_site)

    def _written_before(self, shadow: _Shadow, use: _Use, index: Array) -> tuple[Mask, Array]:
        """Where another thread wrote a word in the same stretch, and who."""
        writer = shadow.writer[index]
        wrong = shadow.write_epoch[index] == use.lane_epoch
        if wrong.any():
            thread = use.thread
            wrong &= writer != thread
            wrong &= (writer // WARP != thread // WARP) | (
                shadow.write_warp_epoch[index] == use.warp_epoch[use.lanes]
            )
        return wrong, writer

    def _put_by(self, shadow: _Shadow, use: _Use) -> None:
        if self._reads and self._reads[-1].epoch is not use.epoch:
            self._forget_reads(use.epoch)
        self._reads.append(use)
        self._waiting_words += len(use.lanes) * use.access.site.words
        if self._waiting_words > _MOST_WAITING:
            self._note_reads(shadow, use.epoch)

    def _forget_reads(self, epoch: Array) -> None:
        """Drop the reads that a barrier has ordered before everything to come."""
        self._reads = [read for read in self._reads if (read.epoch == epoch).any()]
        self._waiting_words = sum(len(r.lanes) * r.access.site.words for r in self._reads)

    def _note_reads(self, shadow: _Shadow, epoch: Array) -> None:
        self._forget_reads(epoch)
        for use in self._reads:
            for index in self._words(use):
                self._note_read(shadow, use, index)
            self._last_read = np.maximum(self._last_read, use.epoch)
        self._reads, self._waiting_words = [], 0

    @staticmethod
    def _note_read(shadow: _Shadow, use: _Use, index: Array) -> None:
        thread, epoch, warp_epoch = use.thread, use.lane_epoch, use.warp_epoch[use.lanes]
        # Forget readers of earlier stretches, then note who reads now.
        stale = shadow.read_epoch[index] != epoch
        stale |= (
            ~shadow.several_warps[index]
            & (shadow.reader[index] // WARP == thread // WARP)
            & (shadow.read_warp_epoch[index] != warp_epoch)
        )
        shadow.several_readers[index[stale]] = False
        shadow.several_warps[index[stale]] = False
        before = np.where(stale, thread, shadow.reader[index])
        shadow.reader[index] = thread
        shadow.read_epoch[index] = epoch
        shadow.read_warp_epoch[index] = warp_epoch
        shadow.read_site[index] = use.access.site.instruction.index
        newest = shadow.reader[index]
        for one, other in ((thread, before), (newest, thread)):
            several, apart = one != other, one // WARP != other // WARP
            shadow.several_readers[index[several]] = True
            shadow.other_reader[index[several & ~shadow.several_warps[index]]] = other[
                several & ~shadow.several_warps[index]
            ]
            shadow.several_warps[index[apart]] = True
            shadow.other_reader[index[apart]] = other[apart]

    def _check_write(self, shadow: _Shadow, use: _Use) -> None:
        thread, epoch, warp_epoch = use.thread, use.lane_epoch, use.warp_epoch[use.lanes]
        written = bool((self._last_write == use.epoch).any())
        read = bool((self._last_read == use.epoch).any())
        for index in self._words(use):
            if written:
                before = self._written_before(shadow, use, index)
                self._report(use, index, *before, shadow.write_site)
            if read:
                reader = shadow.reader[index]
                wrong = shadow.several_warps[index] | (reader // WARP != thread // WARP)
                wrong |= (shadow.read_warp_epoch[index] == warp_epoch) & (
                    shadow.several_readers[index] | (reader != thread)
                )
                wrong &= shadow.read_epoch[index] == epoch
                # Of several readers name one who is somebody else, best of another warp.
                alike = (reader // WARP == thread // WARP) & shadow.several_warps[index]
                alike |= (reader == thread) & shadow.several_readers[index]
                reader = np.where(alike, shadow.other_reader[index], reader)
                self._report(use, index, wrong, reader, shadow.read_site)
            shadow.writer[index] = thread
            shadow.write_epoch[index] = epoch
            shadow.write_warp_epoch[index] = warp_epoch
            shadow.write_site[index] = use.access.site.instruction.index
            # Two lanes of one instruction that write the same word: one of them is lost.
            last = shadow.writer[index]
            self._report(use, index, last != thread, last, shadow.write_site)
            if use.access.site.kind == COPY_WRITE:
                np.add.at(shadow.in_flight, index, 1)
                shadow.words_in_flight += len(index)

    def _report(self, use: _Use, index: Array, wrong: Mask, other: Array, sites: Array) -> None:
        if wrong.any():
            first = across_warps_first(use.thread, other, wrong)
            self._log.race(
                use.access,
                int(use.lanes[first]),
                int(index[first]) * self._word_bytes,
                int(other[first]),
                self._instructions[int(sites[index[first]])],
            )
