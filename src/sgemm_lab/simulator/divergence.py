"""Divergent threads: which run, which wait, and where they reconverge.

A path is a set of threads that run in lockstep. Where they part at a branch, both sides become
paths of their own, and the threads join again at the branch's immediate post-dominator, as the
hardware's convergence barriers make them do. A path waits at a barrier, or in a loop around
``mbarrier.try_wait``, while other paths go on.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.control_flow import END, BasicBlock
from sgemm_lab.simulator.errors import DeadlockError, EndlessLoopError, TimeLimitError
from sgemm_lab.simulator.execution_counts import Tally
from sgemm_lab.simulator.group import ThreadGroup
from sgemm_lab.simulator.operations import Step
from sgemm_lab.simulator.ptx import Instruction
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.source_locations import Location

_TURN = 4096
"""Basic blocks that a path may run before others that can run have their turn."""


def _endless(block: BasicBlock) -> EndlessLoopError:
    return EndlessLoopError(sentence("run.endless", where=_where(block)), _location(block))


def _late(group: ThreadGroup, block: BasicBlock) -> TimeLimitError:
    launch = group.launch
    return TimeLimitError(
        sentence(
            "run.time",
            seconds=f"{launch.time_limit:g}",
            done=launch.blocks_done,
            blocks=launch.blocks,
            where=_where(block),
        )
    )


def deadlock(block: BasicBlock) -> DeadlockError:
    """Return the error of threads that wait in a block for what no thread will do."""
    return DeadlockError(sentence("run.stuck", where=_where(block)), _location(block))


def _where(block: BasicBlock) -> str:
    place = _location(block)
    return "" if place is None else sentence("run.where", place=place)


def _location(block: BasicBlock) -> Location | None:
    """The first line of a basic block, where one is known."""
    places = (one.location for one in (*block.instructions, block.terminator) if one is not None)
    return next((place for place in places if place.line), None)


@dataclass(frozen=True, eq=False)
class BlockBarrier:
    """A barrier instruction: ``bar.sync`` and its kin."""

    instruction: Instruction
    number: Any
    """Which of a block's 16 barriers: a number, or one for each lane."""
    threads: Any
    """How many threads it waits for, as ``number``; None for all that have not returned."""
    waits: bool
    """False for ``bar.arrive``, which only counts."""
    guard: Callable[[Mask | None], Mask] | None


@dataclass(frozen=True, eq=False)
class Wait:
    """Where a path waits: one barrier, by its number."""

    instruction: Instruction
    number: int
    threads: int | None


@dataclass(frozen=True, eq=False)
class Segment:
    """Steps up to a barrier, or to the end of a basic block."""

    steps: list[tuple[Step, Step]]
    """Each plain, and with marks of what nothing has set: see ``UninitializedValues``."""
    barrier: BlockBarrier | None


@dataclass(eq=False)
class Path:
    """Threads that run together until they reconverge with others."""

    block: int
    reconvergence: int
    mask: Mask
    parent: "Path | None"
    segment: int = 0
    """First segment of the block that is still to run."""
    wait: Wait | None = None
    """Where the threads wait, if they wait."""
    pending: Mask | None = None
    """Threads that diverged here and have not reconverged yet."""
    failed: tuple[int, int] | None = None
    """Block in which a test of an mbarrier failed, and ``progress_count`` at that time."""
    may_end: bool = False
    """Whether the loop of that test may have an end of its own."""
    turn: int = 0
    """Blocks run since others had a turn."""

    def split(self, chosen: Mask) -> "Path":
        """Take some threads out into a path of their own at the same place."""
        self.mask = self.mask & ~chosen
        return Path(self.block, self.reconvergence, chosen, self.parent, self.segment)


@dataclass(eq=False)
class Code:
    """A kernel bound to the registers of a group of threads."""

    blocks: list[BasicBlock]
    segments: Callable[[BasicBlock], list[Segment]]
    condition: list[Callable[[Mask | None], Mask] | None]
    """For each block, the lanes that follow its guarded branch."""


@dataclass(eq=False)
class Program:
    """A group of threads that runs a kernel, path by path."""

    group: ThreadGroup
    code: Code
    tally: Tally
    paths: list[Path] = field(default_factory=list)
    """The last runs first."""
    _left: float = 0

    def start(self, *, thread_by_thread: bool = False) -> None:
        """Begin the blocks in the batch's slots."""
        self.group.start()
        alive = self.group.alive
        masks = [alive.copy()]
        if thread_by_thread:
            lanes = np.flatnonzero(alive)[::-1]  # the last path runs first
            masks = [np.arange(len(alive)) == lane for lane in lanes]
        self.paths = [Path(0, END, mask, None) for mask in masks]
        max_basic_blocks = self.group.launch.max_basic_blocks
        self._left = float("inf") if max_basic_blocks is None else max_basic_blocks

    def run(self) -> None:
        """Run until every path is at its end or waits."""
        while (path := self._next()) is not None:
            self._advance(path)

    def can_run(self) -> bool:
        """Whether there is a path that does not wait."""
        return self._next() is not None

    def waiting(self) -> list[Path]:
        """Paths that wait at a barrier of their block."""
        return [path for path in self.paths if path.wait is not None]

    def retry_failed_tests(self) -> bool:
        """Resume threads whose test of an mbarrier failed; return whether there are any."""
        found = False
        for path in self.paths:
            if path.wait is None and path.failed is not None and path.may_end:
                path.failed, found = None, True
        return found

    def split_by_warp(self) -> bool:
        """Resume warps that wait for other warps to reconverge; return whether there are any.

        The hardware joins the threads of one warp, not those of several.
        """
        found = False
        for path in list(self.paths):
            if path.pending is None:
                continue
            pending = _in_warps(path.pending & self.group.alive)
            free = path.mask & self.group.alive & ~pending
            if free.any():
                self.paths.append(path.split(free))
                found = True
        return found

    def place_of(self, path: Path) -> BasicBlock:
        """The block that a path is in."""
        return self.code.blocks[path.block]

    def _next(self) -> Path | None:
        progress_count = self.group.batch.progress_count
        for path in reversed(self.paths):
            if path.wait is not None:
                continue
            if path.failed is not None and path.failed == (path.block, progress_count):
                continue
            if path.pending is not None:
                if (path.pending & self.group.alive).any():
                    continue
                path.pending = None
            return path
        return None

    def _advance(self, path: Path) -> None:
        """Run a path to the end of its block, or to a barrier."""
        group = self.group
        if path.block == END:
            self._exit(path.mask & group.alive)
            self.paths.remove(path)
            return
        if path.block == path.reconvergence:
            self._reconverge(path)
            return
        mask = path.mask & group.alive
        lanes = int(np.count_nonzero(mask))
        if lanes == 0:
            self.paths.remove(path)
            return
        block = self.code.blocks[path.block]
        full = lanes == group.lanes
        if path.segment == 0:
            self._begin(path, block, mask, lanes, full=full)
        segments = self.code.segments(block)
        step_mask = None if full else mask
        uninitialized = group.launch.uninitialized
        group.test_failed = group.may_end = False
        for number in range(path.segment, len(segments)):
            segment = segments[number]
            for plain, following in segment.steps:
                (following if uninitialized.active else plain)(step_mask)
            if segment.barrier is not None:
                path.segment = number + 1
                self._arrive(path, segment.barrier, mask)
                return
        path.segment = 0
        if group.test_failed:
            path.failed, path.may_end = (block.number, group.batch.progress_count), group.may_end
        self._take_branch(block, mask, path)

    def _begin(self, path: Path, block: BasicBlock, mask: Mask, lanes: int, *, full: bool) -> None:
        group = self.group
        self._left -= 1
        if self._left < 0:
            raise _endless(block)
        if time.monotonic() > group.launch.deadline:
            raise _late(group, block)
        self.tally.block_lanes[block.number] += lanes
        self.tally.block_warps[block.number] += group.warps if full else warps_of(mask)
        path.turn += 1
        if path.turn > _TURN:
            path.turn = 0
            self.paths.remove(path)
            self.paths.insert(0, path)

    def _arrive(self, path: Path, barrier: BlockBarrier, mask: Mask) -> None:
        """Threads come to a barrier: those of one number go on waiting as one path."""
        arrived = mask if barrier.guard is None else barrier.guard(mask)
        if not np.array_equal(arrived, mask):
            self.paths.append(path.split(mask & ~arrived))
        for lanes, wait in _waits(barrier, arrived):
            if not barrier.waits:
                self.group.batch.arrive(self.group, lanes, wait.number)
                continue
            one = path
            if np.count_nonzero(lanes) != np.count_nonzero(path.mask & self.group.alive):
                one = path.split(lanes)
                self.paths.append(one)
            one.wait = wait

    def _reconverge(self, path: Path) -> None:
        self.paths.remove(path)
        if path.parent is not None and path.parent.pending is not None:
            path.parent.pending = path.parent.pending & ~path.mask

    def _exit(self, leaving: Mask) -> None:
        """Threads return. Those of their warp that wait at a barrier will wait for them in vain."""
        self.group.alive &= ~leaving
        for path in self.waiting():
            assert path.wait is not None
            if path.wait.threads is not None:
                continue
            hazards, group = self.group.launch.hazards, self.group
            fellows = _in_warps(path.mask)
            if (leaving & fellows).any():
                hazards.barrier_missed(group, path.wait.instruction, leaving & fellows)
            others = leaving & ~fellows & np.isin(group.slot, group.slot[path.mask])
            if others.any():
                lane = int(np.flatnonzero(others)[0])
                hazards.barrier_skipped(group, lane, path.wait.instruction)

    def _take_branch(self, block: BasicBlock, mask: Mask, path: Path) -> None:
        """Follow the terminator of a block; the threads diverge if they disagree."""
        condition = self.code.condition[block.number]
        if condition is None:
            if block.terminator is not None and block.target == END:
                self._exit(mask)
            path.block = block.fall_through if block.terminator is None else block.target
            return
        taken = condition(mask)
        count = int(np.count_nonzero(taken))
        exits = block.target == END
        if exits and count:
            self._exit(taken)
        if exits or count == 0:
            path.block = block.fall_through
        elif count == int(np.count_nonzero(mask)):
            path.block = block.target
        else:
            self._diverge(block, mask, taken, path)

    def _diverge(self, block: BasicBlock, mask: Mask, taken: Mask, path: Path) -> None:
        path.block = block.reconvergence
        parent: Path | None = path
        if path.block == path.reconvergence:
            # Those who wait below already know these threads: no second wait is needed.
            self.paths.remove(path)
            parent = path.parent
        else:
            path.pending = mask.copy()
        self.paths.append(Path(block.fall_through, block.reconvergence, mask & ~taken, parent))
        self.paths.append(Path(block.target, block.reconvergence, taken, parent))


def _waits(barrier: BlockBarrier, arrived: Mask) -> Iterator[tuple[Mask, Wait]]:
    """The barriers that threads have come to, by number and count."""
    site = barrier.instruction
    if np.ndim(barrier.number) == 0 and np.ndim(barrier.threads) == 0:
        threads = None if barrier.threads is None else int(barrier.threads)
        yield arrived, Wait(site, int(barrier.number), threads)
        return
    numbers = np.broadcast_to(barrier.number, arrived.shape)
    counts = np.broadcast_to(-1 if barrier.threads is None else barrier.threads, arrived.shape)
    pairs = np.stack([numbers[arrived], counts[arrived]]).astype(np.int64)
    for number, threads in np.unique(pairs, axis=1).T.tolist():
        lanes = arrived & (numbers == number) & (counts == threads)
        yield lanes, Wait(site, number, None if threads < 0 else threads)


def warps_of(mask: Mask) -> int:
    """Warps with at least one lane in a mask."""
    return int(mask.reshape(-1, WARP).any(axis=1).sum())


def _in_warps(mask: Mask) -> Mask:
    """All lanes of the warps that have a lane in a mask."""
    return np.repeat(mask.reshape(-1, WARP).any(axis=1), WARP)
