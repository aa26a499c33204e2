"""Base of the race detectors for shared memory: it splits accesses into words and reports races."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.group import Access
from sgemm_lab.simulator.hazards import HazardLog
from sgemm_lab.simulator.ptx import TYPE_BYTES, Instruction
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.write_conflicts import loses, words_of

Array = npt.NDArray[Any]

NO_THREAD = -1
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


_SameStore = tuple[LaneUse, int, Array, Array, Array]
"""The arguments of ``_check_same_store``."""


class SharedRaceDetector:
    """Watches shared memory word by word. A base for observers."""

    def __init__(self, log: HazardLog, instructions: list[Instruction]) -> None:
        self._log = log
        self._instructions = instructions
        self._word_bytes = _smallest_shared_access(instructions)
        self._same_store: list[_SameStore] = []
        """Of the last store what races if its lanes stored different values."""

    def on_values(self, access: Access, values: list[Array]) -> None:
        """Report lanes of one warp that stored different values to one word."""
        for use, number, index, last, sites in self._same_store:
            if use.access is access:
                words = words_of(values, self._word_bytes)[:, number]
                wrong = (last != use.thread) & loses(index, words)
                self._report(use, index, wrong, last, sites, same_store=True)

    def _check_same_store(
        self, use: LaneUse, number: int, index: Array, last: Array, sites: Array
    ) -> None:
        """Check lanes of one access that write the same word.

        Args:
            use: who writes.
            number: which of their words.
            index: the word of each lane.
            last: the last thread of all that write it.
            sites: for each word of shared memory the instruction that wrote it last.
        """
        if self._same_store and self._same_store[0][0].access is not use.access:
            self._same_store = []
        lost = last != use.thread
        if not lost.any():
            return
        apart = lost & (use.thread // WARP != last // WARP)
        self._report(use, index, apart, last, sites)
        if not apart.any():
            self._same_store.append((use, number, index, last, sites))

    def _words(self, access: Access) -> Iterator[Array]:
        """The words that each lane asks for, one after the other."""
        first = access.positions // self._word_bytes
        for word in range(access.site.width // self._word_bytes):
            yield first + word

    def _report(
        self,
        use: LaneUse,
        index: Array,
        wrong: Mask,
        other: Array,
        sites: Array,
        *,
        same_store: bool = False,
    ) -> None:
        """Report a race where one is wrong, best one between threads of different warps.

        Args:
            use: who uses the words now.
            index: the word of each lane.
            wrong: where its use and that of the ``other`` thread are not ordered.
            other: who used it before.
            sites: for each word of shared memory the instruction that used it before.
            same_store: whether both are lanes of one warp that store at once.
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
            same_store=same_store,
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
