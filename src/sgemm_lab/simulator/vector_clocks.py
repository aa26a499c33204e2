"""Vector clocks of warps, for kernels in which some warps synchronize without the others.

If every barrier is one of the whole block, the number of barriers passed orders all accesses. With
named barriers of some warps, or barriers in memory (mbarrier), it does not. Then each warp has a
clock, and stores the latest time that it knows of every other warp. An access of a warp happens
before one of another warp if the other knows its time. (Mattern, Virtual time and global states of
distributed systems, 1989.)

Each warp also has a Lamport clock, its window, for traces: accesses in one window are not ordered.
(Lamport, Time, clocks, and the ordering of events in a distributed system, 1978.)
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator.ptx import PtxKernel

Row = npt.NDArray[np.int64]

_PARTIAL = re.compile(
    r"mbarrier\..*|barrier\.cluster\..*|wgmma\..*|cp\.async\.(?:bulk|mbarrier)\..*|(?:bar|barrier)(\.cta)?\.arrive.*"
)
_BARRIER = re.compile(r"(?:bar|barrier)(?:\.cta)?\.sync.*")


def synchronises_in_parts(kernel: PtxKernel) -> bool:
    """Whether some barrier of a kernel is not one of all threads of its block."""
    return any(
        _PARTIAL.fullmatch(instruction.opcode)
        or (_BARRIER.fullmatch(instruction.opcode) and len(instruction.operands) > 1)
        for instruction in kernel.instructions
    )


class VectorClocks:
    """For each slot and warp, the latest time that it knows of every warp.

    The engine of bulk copies has a clock, too.
    """

    def __init__(self, slots: int, warps: int, cluster: int = 1) -> None:
        self._warps, self._cluster = warps, cluster
        self.engine = warps * cluster
        """Number of the copy engine."""
        self._window = self.engine + 1
        """Position of the window in a row."""
        self.seen = np.zeros((slots // cluster, self.engine + 1, self.engine + 2), dtype=np.int64)
        """(cluster, warp, time of each warp and its own window)."""
        self.start()

    def start(self) -> None:
        """Reset: each warp knows only its own time."""
        self.seen[:] = 0
        each = np.arange(self.engine + 1)
        self.seen[:, each, each] = 1

    def at(self, slot: Any, warp: Any) -> tuple[Any, Any]:
        """The cluster of a block's warp, and the warp's number there; of arrays for each."""
        return slot // self._cluster, slot % self._cluster * self._warps + warp

    def synchronize(self, together: list[tuple[int, int]], released: Row | None = None) -> None:
        """Warps wait for each other: each gets the maximum of their clocks and ``released``.

        ``together`` are their slots and numbers; they are of one cluster.
        """
        slots, warps = self.at(*np.array(together).T)
        slot = int(slots[0])
        known = self.seen[slot, warps].max(axis=0)
        if released is not None:
            known = np.maximum(known, released)
        self.seen[slot, warps] = known
        self.seen[slot, warps, warps] += 1
        self.seen[slot, warps, self._window] += 1

    def release(self, slot: int, warp: int) -> Row:
        """Return the clock of a warp that arrives at a barrier, then advance that of the warp."""
        slot, warp = self.at(slot, warp)
        known: Row = self.seen[slot, warp].copy()
        self.seen[slot, warp, [warp, self._window]] += 1
        return known

    def acquire(self, slot: int, warp: int, row: Row) -> None:
        """Merge a released clock into that of a warp."""
        slot, warp = self.at(slot, warp)
        known = row.copy()
        known[self._window] += 1
        self.seen[slot, warp] = np.maximum(self.seen[slot, warp], known)

    def windows(self, slots: npt.NDArray[Any], warps: npt.NDArray[Any]) -> Row:
        """The window of each of some warps."""
        return np.asarray(self.seen[(*self.at(slots, warps), self._window)])

    def copy_starts(self, slot: int, warp: int) -> tuple[int, Row]:
        """A warp starts a bulk copy: return its time, and the clock that its waiters acquire."""
        cluster, _ = self.at(slot, warp)
        self.seen[cluster, self.engine, self.engine] += 1
        time = int(self.seen[cluster, self.engine, self.engine])
        row = self.release(slot, warp)
        row[self.engine] = time
        return time, row
