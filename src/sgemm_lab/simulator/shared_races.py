"""Race detector for shared memory, where every barrier is one of the whole block."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP, WORD_BYTES
from sgemm_lab.simulator.group import ATOMIC, COPY_WRITE, LOAD, Access, BulkCopy, ThreadGroup
from sgemm_lab.simulator.hazards import HazardLog
from sgemm_lab.simulator.memory import Memory
from sgemm_lab.simulator.ptx import Instruction
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.shared_race_base import NO_THREAD, Array, SharedRaceDetector


class _Shadow:
    """For each word of a batch's shared memory: who used it last, and when."""

    def __init__(self, memory: Memory, word_bytes: int) -> None:
        words = len(memory.bytes) // word_bytes
        self.writer = np.full(words, NO_THREAD, dtype=np.int32)
        self.write_epoch = np.full(words, NO_THREAD, dtype=np.int32)
        self.write_warp_epoch = np.zeros(words, dtype=np.int32)
        self.write_site = np.zeros(words, dtype=np.int32)
        self.atomic = np.zeros(words, dtype=bool)
        """Whether an atomic wrote the word last."""
        self.reader = np.full(words, NO_THREAD, dtype=np.int32)
        self.other_reader = np.full(words, NO_THREAD, dtype=np.int32)
        """Where there are several readers: another one, of another warp if there are several."""
        self.read_epoch = np.full(words, NO_THREAD, dtype=np.int32)
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
    def is_for_others(self) -> bool:
        """Whether it is an atomic, or a volatile access beside some: they may meet."""
        site = self.access.site
        return site.kind == ATOMIC or "volatile" in site.instruction.parts

    @property
    def thread(self) -> npt.NDArray[np.int32]:
        """Number of each lane's thread."""
        return self.access.group.thread[self.lanes].astype(np.int32)

    @property
    def lane_epoch(self) -> npt.NDArray[np.int64]:
        """Barriers that each lane's block had passed."""
        return self.epoch[self.access.group.slot[self.lanes]]


_MAX_PENDING_WORDS = 1 << 23
"""Words of reads put by. Above this they would take more memory than they save time."""


class RaceDetector(SharedRaceDetector):
    """Watches shared memory for accesses that no barrier orders. An observer.

    Two accesses of one word race when two threads make them in the same stretch between barriers
    and at least one writes. Threads of one warp are also ordered by ``__syncwarp()``.

    Most stretches of most kernels only read, or only write. So reads are put by, and looked at
    word by word only when a write follows in their stretch.
    """

    def __init__(self, log: HazardLog, instructions: list[Instruction]) -> None:
        super().__init__(log, instructions)
        self._shadow: _Shadow | None = None
        self._memory: Memory | None = None
        self._reads: list[_Use] = []
        """Reads that have not been noted word by word."""
        self._pending_words = 0
        self._last_write: Array = np.zeros(0, dtype=np.int64)
        self._last_read: Array = np.zeros(0, dtype=np.int64)
        """For each slot the stretch in which shared memory was last written, or a read noted."""

    def on_access(self, access: Access) -> None:
        """Check one access of shared memory against those before it."""
        if access.site.space != "shared":
            return
        group = access.group
        shadow = self._shadow_of(group, access.memory)
        lanes = np.arange(group.lanes) if access.lanes is None else access.lanes
        use = _Use(access, lanes, group.batch.epoch, group.warp_epoch)
        if access.site.kind == LOAD:
            self._check_read(shadow, use)
            self._defer_read(shadow, use)
        else:
            self._note_reads(shadow, use.epoch)
            self._check_write(shadow, use)
            self._last_write = use.epoch

    def on_copies_landed(self, group: ThreadGroup, lanes: Array, positions: Array) -> None:
        """The words are no longer in flight; their writers wrote them just now."""
        shadow = self._shadow_of(group, group.batch.shared)
        for word in range(WORD_BYTES // self._word_bytes):
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
            self._last_write = np.full(group.batch.slots, NO_THREAD, dtype=np.int64)
            self._last_read = self._last_write
            self._reads, self._pending_words = [], 0
        return self._shadow

    def _check_read(self, shadow: _Shadow, use: _Use) -> None:
        if shadow.words_in_flight:
            for index in self._words(use.access):
                waiting = np.flatnonzero(shadow.in_flight[index] > 0)
                if len(waiting):
                    lane, word = int(use.lanes[waiting[0]]), int(index[waiting[0]])
                    self._log.in_flight(use.access, lane, word * self._word_bytes)
        if not (self._last_write == use.epoch).any():
            return
        for index in self._words(use.access):
            self._report(use, index, *self._written_before(shadow, use, index), shadow.write_site)

    def _written_before(self, shadow: _Shadow, use: _Use, index: Array) -> tuple[Mask, Array]:
        """Where another thread wrote a word in the same stretch, and who."""
        writer = shadow.writer[index]
        wrong = shadow.write_epoch[index] == use.lane_epoch
        if use.is_for_others:
            wrong &= ~shadow.atomic[index]
        if wrong.any():
            thread = use.thread
            wrong &= writer != thread
            wrong &= (writer // WARP != thread // WARP) | use.access.group.in_same_epoch(
                use.lanes, writer, shadow.write_warp_epoch[index]
            )
        return wrong, writer

    def _defer_read(self, shadow: _Shadow, use: _Use) -> None:
        if self._reads and self._reads[-1].epoch is not use.epoch:
            self._forget_reads(use.epoch)
        self._reads.append(use)
        self._pending_words += len(use.lanes) * use.access.site.words
        if self._pending_words > _MAX_PENDING_WORDS:
            self._note_reads(shadow, use.epoch)

    def _forget_reads(self, epoch: Array) -> None:
        """Drop the reads that a barrier has ordered before everything to come."""
        self._reads = [read for read in self._reads if (read.epoch == epoch).any()]
        self._pending_words = sum(len(r.lanes) * r.access.site.words for r in self._reads)

    def _note_reads(self, shadow: _Shadow, epoch: Array) -> None:
        self._forget_reads(epoch)
        for use in self._reads:
            for index in self._words(use.access):
                self._note_read(shadow, use, index)
            self._last_read = np.maximum(self._last_read, use.epoch)
        self._reads, self._pending_words = [], 0

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
        for number, index in enumerate(self._words(use.access)):
            if written:
                before = self._written_before(shadow, use, index)
                self._report(use, index, *before, shadow.write_site)
            if read:
                reader = shadow.reader[index]
                wrong = shadow.several_warps[index] | (reader // WARP != thread // WARP)
                wrong |= use.access.group.in_same_epoch(
                    use.lanes, reader, shadow.read_warp_epoch[index]
                ) & (shadow.several_readers[index] | (reader != thread))
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
            shadow.atomic[index] = use.access.site.kind == ATOMIC
            if use.access.site.kind != ATOMIC:
                self._check_same_store(use, number, index, shadow.writer[index], shadow.write_site)
            if use.access.site.kind == COPY_WRITE:
                np.add.at(shadow.in_flight, index, 1)
                shadow.words_in_flight += len(index)
