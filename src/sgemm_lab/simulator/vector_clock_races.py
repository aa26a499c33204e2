"""Race detector for kernels whose warps synchronise in parts, by vector clocks."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP, WORD_BYTES
from sgemm_lab.simulator.group import (
    ATOMIC,
    COPY_WRITE,
    LOAD,
    PIECE_BYTES,
    Access,
    BulkCopy,
    TensorRead,
    ThreadGroup,
)
from sgemm_lab.simulator.hazards import HazardLog
from sgemm_lab.simulator.memory import Memory
from sgemm_lab.simulator.ptx import Instruction
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.shared_race_base import NO_THREAD, Array, SharedRaceDetector
from sgemm_lab.simulator.vector_clocks import VectorClocks

_READING = np.iinfo(np.int32).max
"""The time of a read that goes on."""


class _Shadow:
    """For each word of a batch's shared memory: who used it last, and at what time."""

    def __init__(self, memory: Memory, word_bytes: int, warps: int) -> None:
        words = len(memory.bytes) // word_bytes
        self.writer = np.full(words, NO_THREAD, dtype=np.int32)
        self.write_time = np.zeros(words, dtype=np.int64)
        self.write_warp_epoch = np.zeros(words, dtype=np.int64)
        self.write_site = np.zeros(words, dtype=np.int32)
        self.reader = np.full(words, NO_THREAD, dtype=np.int32)
        self.read_time = np.zeros((words, warps), dtype=np.int32)
        """When each warp last read a word."""
        self.read_warp_epoch = np.zeros(words, dtype=np.int64)
        self.read_site = np.zeros(words, dtype=np.int32)
        self.in_flight = np.zeros(words, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class _Use:
    """Who uses words of shared memory, and when. One entry per lane."""

    access: Access
    lanes: npt.NDArray[np.intp]
    thread: Array
    slot: Array
    warp: Array
    warp_epoch: Array
    clocks: VectorClocks

    @property
    def now(self) -> Array:
        """Each lane's own time."""
        return self.clocks.seen[self.slot, self.warp, self.warp]

    def repeated(self, times: int) -> "_Use":
        """Return the same use of many words by the last of its lanes."""
        last = np.full(times, len(self.lanes) - 1)
        lanes, thread, slot = self.lanes[last], self.thread[last], self.slot[last]
        epoch = self.warp_epoch[last]
        return _Use(self.access, lanes, thread, slot, self.warp[last], epoch, self.clocks)

    def last_known(self, warps: Array) -> Array:
        """The newest time of other warps, one for each lane, that the lanes' warps know of."""
        return self.clocks.seen[self.slot, self.warp, warps]


class VectorClockRaceDetector(SharedRaceDetector):
    """Watches shared memory for accesses that nothing orders. An observer."""

    def __init__(self, log: HazardLog, instructions: list[Instruction]) -> None:
        super().__init__(log, instructions)
        self._shadow: _Shadow | None = None
        self._blocks = np.zeros(0, dtype=np.int64)

    def on_access(self, access: Access) -> None:
        """Check one access of shared memory against those before it."""
        if access.site.space != "shared" or access.site.kind == ATOMIC:
            return
        shadow, use = self._shadow_of(access.group), _use(access)
        for number, index in enumerate(self._words(access)):
            if access.site.kind == LOAD:
                self._read(shadow, use, index)
            else:
                self._write(shadow, use, index)
                self._check_same_store(use, number, index, shadow.writer[index], shadow.write_site)
            if access.site.kind == COPY_WRITE:
                np.add.at(shadow.in_flight, index, 1)

    def on_copies_landed(self, group: ThreadGroup, lanes: Array, positions: Array) -> None:
        """The words are no longer in flight; their writers wrote them just now."""
        shadow, clocks = self._shadow_of(group), group.batch.clocks
        assert clocks is not None
        cluster, warp = clocks.at(group.slot[lanes], group.thread[lanes] // WARP)
        for word in range(WORD_BYTES // self._word_bytes):
            index = positions // self._word_bytes + word
            np.subtract.at(shadow.in_flight, index, 1)
            shadow.writer[index] = warp * WARP + group.thread[lanes] % WARP
            shadow.write_time[index] = clocks.seen[cluster, warp, warp]
            shadow.write_warp_epoch[index] = group.warp_epoch[lanes]

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """A bulk copy starts: it writes as the thread would that starts it."""
        shadow = self._shadow_of(copy.access.group)
        index = self._pieces(copy)
        use = _use(copy.access)
        self._write(shadow, use.repeated(len(index)), index)
        shadow.writer[index] = use.clocks.engine * WARP
        shadow.write_time[index] = copy.time
        shadow.in_flight[index] += 1

    def on_bulk_landed(self, copy: BulkCopy) -> None:
        """The words of a bulk copy are there for who waits for its mbarrier."""
        shadow = self._shadow_of(copy.access.group)
        shadow.in_flight[self._pieces(copy)] -= 1

    def on_tensor_read(self, read: TensorRead) -> None:
        """A product of a warp group reads from its start until it is waited for."""
        shadow, index = self._shadow_of(read.access.group), self._pieces(read)
        one = _use(read.access)
        self._read(shadow, one.repeated(len(index)), index)
        shadow.read_time[index, one.warp] = _READING

    def on_tensor_done(self, done: list[TensorRead], running: list[TensorRead]) -> None:
        """Products have read their factors just now; others of the group still read theirs."""
        for read in (*done, *running):
            use = _use(read.access)
            time = use.now if read in done else _READING
            self._shadow_of(read.access.group).read_time[self._pieces(read), use.warp] = time

    def _pieces(self, read: TensorRead | BulkCopy) -> Array:
        """The words of what a product reads or a copy writes."""
        words = PIECE_BYTES // self._word_bytes
        first = read.positions.reshape(-1, 1) // self._word_bytes
        return (first + np.arange(words)).reshape(-1)

    def _shadow_of(self, group: ThreadGroup) -> _Shadow:
        batch = group.batch
        if self._shadow is None or not np.array_equal(self._blocks, batch.blocks):
            warps = batch.launch.warps * batch.launch.cluster
            self._shadow = _Shadow(batch.shared, self._word_bytes, warps)
            self._blocks = batch.blocks.copy()
        return self._shadow

    def _read(self, shadow: _Shadow, use: _Use, index: Array) -> None:
        waiting = shadow.in_flight[index] > 0
        writer, wrong = self._after_writer(shadow, use, index)
        waiting |= wrong & (writer // WARP == use.clocks.engine)
        if waiting.any():
            first = int(np.flatnonzero(waiting)[0])
            position = int(index[first]) * self._word_bytes
            self._log.in_flight(use.access, int(use.lanes[first]), position)
        self._report(use, index, wrong & ~waiting, writer, shadow.write_site)
        shadow.reader[index] = use.thread
        shadow.read_time[index, use.warp] = use.now
        shadow.read_warp_epoch[index] = use.warp_epoch
        shadow.read_site[index] = use.access.site.instruction.index

    @staticmethod
    def _after_writer(shadow: _Shadow, use: _Use, index: Array) -> tuple[Array, Mask]:
        """Who wrote each word last, and where that is not ordered before now."""
        writer = shadow.writer[index]
        who = np.maximum(writer, 0) // WARP
        time = shadow.write_time[index]
        same_warp = who == use.warp
        alone = (time == use.now) & (shadow.write_warp_epoch[index] == use.warp_epoch)
        wrong = np.where(same_warp, alone & (writer != use.thread), time > use.last_known(who))
        return writer, wrong & (writer != NO_THREAD)

    def _write(self, shadow: _Shadow, use: _Use, index: Array) -> None:
        writer, wrong = self._after_writer(shadow, use, index)
        self._report(use, index, wrong, writer, shadow.write_site)
        reader, times = shadow.reader[index], shadow.read_time[index]
        known = use.clocks.seen[use.slot, use.warp][:, : times.shape[1]]
        lanes = np.arange(len(index))
        own = times[lanes, use.warp]
        times[lanes, use.warp] = 0
        wrong = np.asarray((times > known).any(axis=1)) | (own == _READING)
        wrong |= (
            (own == use.now)
            & (reader // WARP == use.warp)
            & (reader != use.thread)
            & (shadow.read_warp_epoch[index] == use.warp_epoch)
        )
        self._report(use, index, wrong & (reader != NO_THREAD), reader, shadow.read_site)
        shadow.writer[index] = use.thread
        shadow.write_time[index] = use.now
        shadow.write_warp_epoch[index] = use.warp_epoch
        shadow.write_site[index] = use.access.site.instruction.index


def _use(access: Access) -> _Use:
    group = access.group
    clocks = group.batch.clocks
    assert clocks is not None
    lanes = np.arange(group.lanes) if access.lanes is None else access.lanes
    cluster, warp = clocks.at(group.slot[lanes], group.thread[lanes] // WARP)
    thread = warp * WARP + group.thread[lanes] % WARP
    return _Use(access, lanes, thread, cluster, warp, group.warp_epoch[lanes], clocks)
