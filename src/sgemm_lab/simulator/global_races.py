"""Race detector for global memory: between blocks, and between threads of one block.

Two accesses of one word race when two threads make them, at least one writes, and nothing orders
them. Within a block barriers do. Between blocks of one launch only a fence does: where a block has
had one after it wrote, and then an atomic or volatile access, and another block had such an access
later, before it reads, this takes the two as ordered. A store of the value that is already there is
not reported.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.group import (
    ATOMIC,
    COPY_WRITE,
    STORE,
    SURFACE,
    Access,
    BulkCopy,
    ThreadGroup,
)
from sgemm_lab.simulator.hazards import HazardLog
from sgemm_lab.simulator.ptx import TYPE_BYTES, Instruction
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.write_conflicts import loses, words_of

Array = npt.NDArray[Any]

_ORDERED = frozenset({"relaxed", "acquire", "release", "acq_rel"})
"""Parts of the opcode of an access that others may make at the same time."""
_MAX_LANES = 1 << 20


@dataclass(eq=False)
class _Uses:
    """For each word: who used it last in one way, and when."""

    used: Array
    """Whether anybody did."""
    block: Array
    thread: Array
    epoch: Array
    """Barriers that the block had passed."""
    warp_epoch: Array
    site: Array
    time: Array
    """The number of the access, in the order of the simulation."""
    atomic: Array
    volatile: Array

    @classmethod
    def of(cls, words: int) -> "_Uses":
        """Nobody has used any word. Zeros take no memory until one is."""
        block, thread, epoch, warp_epoch, site, time = np.zeros((6, words), np.int64)
        used, atomic, volatile = np.zeros((3, words), bool)
        return cls(used, block, thread, epoch, warp_epoch, site, time, atomic, volatile)

    def note(self, index: Array, use: "_Use") -> None:
        """Keep who uses some words now."""
        self.used[index] = True
        self.block[index] = use.block
        self.thread[index] = use.thread
        self.epoch[index] = use.epoch
        self.warp_epoch[index] = use.warp_epoch
        self.site[index] = use.instruction.index
        self.time[index] = use.time
        self.atomic[index] = use.atomic
        self.volatile[index] = use.volatile


@dataclass(frozen=True, eq=False)
class _Use:
    """One access of global memory, lane by lane."""

    access: Access
    lanes: npt.NDArray[np.intp]
    chosen: npt.NDArray[np.intp]
    """Which of the access's legal lanes these are."""
    block: Array
    thread: Array
    epoch: Array
    warp_epoch: Array
    time: int
    atomic: bool
    """Whether others may make such an access at the same time."""
    volatile: bool
    """Whether an atomic may be made at the same time."""

    @property
    def instruction(self) -> Instruction:
        """The instruction that makes it."""
        return self.access.site.instruction


class GlobalRaceDetector:
    """Watches some arrays in global memory. An observer."""

    def __init__(
        self, log: HazardLog, instructions: list[Instruction], arrays: Collection[str]
    ) -> None:
        self._log = log
        self._instructions = instructions
        self._names = frozenset(arrays)
        self._word_bytes = _smallest_access(instructions)
        self._fences = any(i.parts[0] in ("membar", "fence") or _ORDERED & set(i.parts)
                           for i in instructions)  # fmt: skip
        self._swaps = np.array([i.parts[0] == "atom" and "cas" in i.parts for i in instructions])
        self._spans: list[tuple[int, int]] | None = None
        self._writers = self._readers = self._first_readers = _Uses.of(0)
        self._fence_times: dict[int, int] = {}
        """Of each block, the time of its last fence."""
        self._releases: dict[int, list[tuple[int, int]]] = defaultdict(list)
        """Of each block: the time of a fence, and of the first atomic or volatile access after."""
        self._acquires: dict[int, int] = {}
        """Of each block, the time of its last atomic or volatile access."""
        self._time = 0
        self._stored: tuple[_Use, list[_Clash]] | None = None
        """A store that races if it changes anything."""

    def on_access(self, access: Access) -> None:
        """Check one access of global memory against those before it."""
        if access.site.space not in ("global", "const", SURFACE) or not len(access.positions):
            return
        self._time += 1
        batch = access.group.batch
        if batch.fenced.any():
            self._fence_times.update(
                (int(block), self._time) for block in batch.blocks[batch.fenced]
            )
            batch.fenced[:] = False
        use = self._use_of(access)
        if use is not None and access.site.kind in (STORE, ATOMIC, COPY_WRITE):
            self._write(use)
        elif use is not None:
            self._read(use)
        # Only now: what a thread reads itself does not order the reading.
        parts = access.site.instruction.parts
        if self._fences and (_is_atomic(access) or "volatile" in parts):
            lanes = _lanes_of(access)
            blocks = batch.blocks[access.group.slot[lanes]]
            for block, first in zip(*np.unique(blocks, return_index=True), strict=True):
                when = self._time * _MAX_LANES + int(lanes[first])
                own = self._releases[int(block)]
                fence = self._fence_times.get(int(block), 0)
                fence = self._time if {"release", "acq_rel"} & set(parts) else fence
                if fence and (not own or own[-1][0] < fence):
                    own.append((fence, when))
                self._acquires[int(block)] = when

    def on_values(self, access: Access, values: list[Array]) -> None:
        """Report a store that changed what another thread had written or read."""
        if self._stored is None or self._stored[0].access is not access:
            return
        use, found = self._stored
        self._stored = None
        words = words_of(values, self._word_bytes)[use.chosen]
        for number, index, wrong, blocks, threads, sites, before in found:
            own = words[:, number]
            changes = loses(index, own) if before is None else own != before
            self._report(use, index, wrong & changes, blocks, threads, sites)

    def on_copies_landed(self, group: ThreadGroup, lanes: Array, positions: Array) -> None:
        """Asynchronous copies write shared memory only."""

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Bulk copies write shared memory only."""

    def on_bulk_landed(self, copy: BulkCopy) -> None:
        """Bulk copies write shared memory only."""

    def _use_of(self, access: Access) -> _Use | None:
        """The lanes of an access that ask for a watched array; None if none does."""
        if self._spans is None:
            self._spans = [
                (array.start, array.start + array.bytes)
                for array in access.memory.arrays
                if array.name in self._names
            ]
            words = len(access.memory.bytes) // self._word_bytes
            self._writers, self._readers, self._first_readers = (_Uses.of(words) for _ in range(3))
        positions = access.positions
        watched = np.zeros(len(positions), bool)
        least, most = positions.min(), positions.max()
        for start, end in self._spans:
            if least < end and most >= start:
                watched |= (positions >= start) & (positions < end)
        if not watched.any():
            return None
        group = access.group
        chosen = np.flatnonzero(watched)
        lanes = _lanes_of(access)[chosen]
        slots = group.slot[lanes]
        return _Use(
            access,
            lanes,
            chosen,
            group.batch.blocks[slots],
            group.thread[lanes],
            group.batch.epoch[slots],
            group.warp_epoch[lanes],
            self._time,
            _is_atomic(access),
            "volatile" in access.site.instruction.parts,
        )

    def _words(self, use: _Use) -> list[Array]:
        first = use.access.positions[use.chosen] // self._word_bytes
        count = max(1, use.access.site.width // self._word_bytes)
        return [first + number for number in range(count)]

    def _races(self, uses: _Uses, index: Array, use: _Use) -> Mask:
        """Where another thread used a word, and nothing orders the two."""
        block, thread = uses.block[index], uses.thread[index]
        apart = uses.used[index] & ((block != use.block) | (thread != use.thread))
        if not apart.any():
            return np.asarray(apart)
        same_block = block == use.block
        same_epoch = uses.epoch[index] == use.epoch
        same_warp = thread // WARP == use.thread // WARP
        in_warp = use.access.group.in_same_epoch(use.lanes, thread, uses.warp_epoch[index])
        near = same_epoch & (~same_warp | in_warp)
        found = apart & np.where(same_block, near, True)
        at_once = uses.atomic[index] | uses.volatile[index]
        found &= ~(at_once & use.atomic | uses.atomic[index] & use.volatile)
        if self._fences:
            for place in np.flatnonzero(found):
                used = int(uses.time[index[place]])
                found[place] = not self._ordered(int(block[place]), int(use.block[place]), used)
        return np.asarray(found)

    def _ordered(self, block: int, here: int, used: int) -> bool:
        """Whether a block had a fence after a time, and another block knows of it."""
        releases = self._releases[block]
        place = bisect_right(releases, used, key=lambda one: one[0])
        return place < len(releases) and self._acquires.get(here, -1) >= releases[place][1]

    def _read(self, use: _Use) -> None:
        for index in self._words(use):
            at = self._writers
            # What a compare-and-swap wrote is read as a first guess: the next one compares again.
            wrong = self._races(at, index, use) & ~self._swaps[at.site[index]]
            self._report(use, index, wrong, at.block[index], at.thread[index], at.site[index])
            kept = ~self._first_readers.used[index]
            if kept.any():
                self._first_readers.note(index[kept], _only(use, kept))
            self._readers.note(index, use)

    def _write(self, use: _Use) -> None:
        raw = use.access.memory.words(self._word_bytes)
        found: list[_Clash] = []
        for number, index in enumerate(self._words(use)):
            before = raw[index].copy()
            for uses in (self._writers, self._readers, self._first_readers):
                wrong = self._races(uses, index, use)
                if uses is not self._writers and use.atomic:
                    wrong = np.zeros(len(index), bool)  # who reads besides takes what comes
                if wrong.any():
                    found.append(_clash(number, index, wrong, uses, before))
            self._writers.note(index, use)
            if not use.atomic:
                # Two lanes of one instruction that write one word: one of them is lost.
                lost = self._writers.thread[index] != use.thread
                lost |= self._writers.block[index] != use.block
                if lost.any():
                    found.append(_clash(number, index, lost, self._writers, None))
        self._stored = (use, found) if found else None

    def _report(
        self, use: _Use, index: Array, wrong: Mask, block: Array, thread: Array, site: Array
    ) -> None:
        if not wrong.any():
            return
        apart = wrong & (block != use.block)
        first = int(np.flatnonzero(apart if apart.any() else wrong)[0])
        launch = use.access.group.launch
        other = self._instructions[int(site[first])]
        self._log.race_in_global(
            use.access,
            int(use.lanes[first]),
            int(index[first]) * self._word_bytes,
            launch.block_index(int(block[first])),
            int(thread[first]),
            other,
        )


_Clash = tuple[int, Array, Mask, Array, Array, Array, Array | None]
"""Of a store: which word of each lane, where it lies, who clashes, with which block, thread and
instruction, and what was there before; None where lanes write together."""


def _clash(number: int, index: Array, wrong: Mask, uses: _Uses, before: Array | None) -> _Clash:
    return number, index, wrong, uses.block[index], uses.thread[index], uses.site[index], before


def _only(use: _Use, kept: Mask) -> _Use:
    return _Use(
        use.access, use.lanes[kept], use.chosen[kept], use.block[kept], use.thread[kept],
        use.epoch[kept], use.warp_epoch[kept], use.time, use.atomic, use.volatile,
    )  # fmt: skip


def _is_atomic(access: Access) -> bool:
    return access.site.kind == ATOMIC or bool(_ORDERED & set(access.site.instruction.parts))


def _lanes_of(access: Access) -> Array:
    return np.arange(access.group.lanes) if access.lanes is None else access.lanes


def _smallest_access(instructions: list[Instruction]) -> int:
    """Bytes of the narrowest access that may go to global memory, at most 4."""
    narrowest = 4
    for instruction in instructions:
        parts = instruction.parts
        if parts[0] in ("ld", "st", "atom", "red") and not {"shared", "local", "param"} & set(
            parts
        ):
            narrowest = min(narrowest, TYPE_BYTES.get(parts[-1], 4))
        elif parts[0] in ("suld", "sust"):
            narrowest = min(narrowest, *(TYPE_BYTES[part] for part in parts if part in TYPE_BYTES))
    return narrowest
