"""What each warp knows of the others: vector clocks, for kernels whose warps synchronise in parts.

Where every barrier is one of the whole block, the number of barriers passed orders all accesses.
With named barriers of some warps, or barriers in memory (mbarrier), it does not. Then each warp
has a clock, and remembers the newest time of every other warp that it has heard of. What a warp
did is ordered before what another does if the other has heard of that time. (Mattern, Virtual time
and global states of distributed systems, 1989.)

Beside that a warp counts the windows of time that it has come to, for those who look on. What one
warp did before another could go on stands in an earlier window; what stands in one window, nothing
orders. (Lamport, Time, clocks, and the ordering of events in a distributed system, 1978.)
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator.ptx import PtxKernel

Row = npt.NDArray[np.int64]

_PARTIAL = re.compile(
    r"mbarrier\..*|cp\.async\.(?:bulk|mbarrier)\..*|(?:bar|barrier)(\.cta)?\.arrive.*"
)
_BARRIER = re.compile(r"(?:bar|barrier)(?:\.cta)?\.sync.*")


def synchronises_in_parts(kernel: PtxKernel) -> bool:
    """Whether some barrier of a kernel is not one of all threads of its block."""
    return any(
        _PARTIAL.fullmatch(instruction.opcode)
        or (_BARRIER.fullmatch(instruction.opcode) and len(instruction.operands) > 1)
        for instruction in kernel.instructions
    )


class Clocks:
    """For each slot and warp, the newest time of every warp that it has heard of.

    Beside the warps there is one more that keeps time: the engine of bulk copies.
    """

    def __init__(self, slots: int, warps: int) -> None:
        self.engine = warps
        """Number of the copy engine."""
        self._window = warps + 1
        """Where a row has the window of who it belongs to, or of who told it."""
        self.seen = np.zeros((slots, warps + 1, warps + 2), dtype=np.int64)
        """(slots, who, of whom)."""
        self.start()

    def start(self) -> None:
        """Begin anew: nobody has heard of anybody."""
        self.seen[:] = 0
        each = np.arange(self.engine + 1)
        self.seen[:, each, each] = 1

    def meet(self, slot: int, warps: npt.NDArray[np.intp], heard: Row | None = None) -> None:
        """Warps wait for each other: each hears all that any knows, and ``heard`` besides."""
        known = self.seen[slot, warps].max(axis=0)
        if heard is not None:
            known = np.maximum(known, heard)
        self.seen[slot, warps] = known
        self.seen[slot, warps, warps] += 1
        self.seen[slot, warps, self._window] += 1

    def tell(self, slot: int, warp: int) -> Row:
        """What a warp knows as it arrives somewhere. What it does later is not told."""
        known: Row = self.seen[slot, warp].copy()
        self.seen[slot, warp, [warp, self._window]] += 1
        return known

    def hear(self, slot: int, warp: int, row: Row) -> None:
        """A warp learns what was told."""
        known = row.copy()
        known[self._window] += 1
        self.seen[slot, warp] = np.maximum(self.seen[slot, warp], known)

    def windows(self, slots: npt.NDArray[Any], warps: npt.NDArray[Any]) -> Row:
        """The window of time that each of some warps is in."""
        return np.asarray(self.seen[slots, warps, self._window])

    def copy_starts(self, slot: int, warp: int) -> tuple[int, Row]:
        """A warp starts a bulk copy: its time, and what those learn who wait for it."""
        self.seen[slot, self.engine, self.engine] += 1
        time = int(self.seen[slot, self.engine, self.engine])
        row = self.tell(slot, warp)
        row[self.engine] = time
        return time, row
