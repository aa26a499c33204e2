"""What all who look for races in shared memory do: split accesses into words, and report."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.group import Access
from sgemm_lab.simulator.hazards import HazardLog
from sgemm_lab.simulator.ptx import TYPE_BYTES, Instruction
from sgemm_lab.simulator.registers import Mask

Array = npt.NDArray[Any]

COPY_WORD = 4
"""Bytes of the smallest asynchronous copy."""
NOBODY = -1
"""Stands for the thread that used a word where none did."""


class LaneUse(Protocol):
    """Who uses words of shared memory. One entry per lane that is active."""

    @property
    def access(self) -> Access:
        """What they do."""

    @property
    def lanes(self) -> npt.NDArray[np.intp]:
        """Lanes of the group."""

    @property
    def thread(self) -> Array:
        """Numbers of their threads."""


class SharedWatch:
    """Watches shared memory word by word. A base for observers."""

    def __init__(self, log: HazardLog, instructions: list[Instruction]) -> None:
        self._log = log
        self._instructions = instructions
        self._word_bytes = _smallest_shared_access(instructions)

    def _words(self, access: Access) -> Iterator[Array]:
        """The words that each lane asks for, one after the other."""
        first = access.positions // self._word_bytes
        for word in range(access.site.width // self._word_bytes):
            yield first + word

    def _report(self, use: LaneUse, index: Array, wrong: Mask, other: Array, sites: Array) -> None:
        """Report a race where one is wrong, best one between threads of different warps.

        Args:
            use: who uses the words now.
            index: the word of each lane.
            wrong: where its use and that of the ``other`` thread are not ordered.
            other: who used it before.
            sites: for each word of shared memory the instruction that used it before.
        """
        if not wrong.any():
            return
        apart = wrong & (use.thread // WARP != other // WARP)
        first = int(np.flatnonzero(apart if apart.any() else wrong)[0])
        self._log.race(
            use.access,
            int(use.lanes[first]),
            int(index[first]) * self._word_bytes,
            int(other[first]),
            self._instructions[int(sites[index[first]])],
        )


def _smallest_shared_access(instructions: list[Instruction]) -> int:
    """Bytes of the narrowest load or store that may go to shared memory, at most 4."""
    narrowest = 4
    for instruction in instructions:
        parts = instruction.parts
        elsewhere = {"global", "local", "param"} & set(parts)
        if parts[0] in ("ld", "st", "atom", "red") and not elsewhere:
            narrowest = min(narrowest, TYPE_BYTES.get(parts[-1], narrowest))
    return narrowest
