"""When the barriers of a block open, and what is wrong with how its threads came to them.

A barrier counts threads. It opens when all threads of the block that have not returned wait at a
barrier of its number, whichever instruction brought them there: PTX ISA, "bar". With a count of
its own it opens when that many have come. PTX wants all threads of one warp at the same
instruction; warps may come by different ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.divergence import Path, Program, Wait, deadlock
from sgemm_lab.simulator.execution_counts import Tally
from sgemm_lab.simulator.group import CLUSTER_BARRIER, BlockBatch, warps_among
from sgemm_lab.simulator.registers import Mask

_NOWHERE = -1
_RETRIES = 200
"""Times that threads which ask in a loop may ask again though nothing has changed: the loop may
have an end of its own."""


@dataclass(frozen=True, eq=False)
class _Waiting:
    """Threads at a barrier."""

    program: Program
    path: Path
    wait: Wait
    lanes: Mask

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """Slot of the block of each lane."""
        return self.program.group.slot[self.lanes]


def run_to_completion(
    batch: BlockBatch, programs: Sequence[Program], tally: Tally, *, thread_by_thread: bool = False
) -> None:
    """Run all threads of the blocks in a batch, from barrier to barrier.

    With ``thread_by_thread`` each thread runs alone up to its next barrier.

    Raises:
        DeadlockError: threads wait for what no other thread will do.
    """
    for program in programs:
        program.start(thread_by_thread=thread_by_thread)
    retries = _RETRIES
    while True:
        for program in programs:
            program.run()
        if not any(program.paths for program in programs):
            return
        if open_barriers(batch, programs, tally) or any(one.can_run() for one in programs):
            continue
        if any([program.split_by_warp() for program in programs]):  # noqa: C419  all of them
            continue
        if retries and any([program.retry_failed_tests() for program in programs]):  # noqa: C419
            retries -= 1
            continue
        _resolve_deadlock(batch, programs, tally)


def _waiting_paths(programs: Sequence[Program]) -> list[_Waiting]:
    return [
        _Waiting(program, path, path.wait, path.mask & program.group.alive)
        for program in programs
        for path in program.paths
        if path.wait is not None
    ]


def open_barriers(batch: BlockBatch, programs: Sequence[Program], tally: Tally) -> bool:
    """Resume all threads whose barrier is complete; return whether there were any."""
    by_number: dict[int, list[_Waiting]] = {}
    for one in _waiting_paths(programs):
        by_number.setdefault(one.wait.number, []).append(one)
    opened = False
    for number, waiting in by_number.items():
        complete = _complete(batch, number, waiting, programs)
        if complete.any():
            _check_same_barrier(complete, waiting)
            _resume(batch, complete, waiting, programs, tally)
            opened = True
    return opened


def _complete(
    batch: BlockBatch, number: int, waiting: list[_Waiting], programs: Sequence[Program]
) -> Mask:
    """For each slot, whether a barrier has all it waits for."""
    came = _per_slot(batch, waiting)
    counts = [one.wait.threads for one in waiting if one.wait.threads is not None]
    missing = _alive(batch, programs) - came
    if number == CLUSTER_BARRIER:
        size = batch.launch.cluster
        missing = np.repeat(missing.reshape(-1, size).sum(axis=1), size)
    enough = missing == 0
    if counts:
        enough = came + batch.arrived[number] >= min(counts)
    return np.asarray((came > 0) & enough)


def _per_slot(batch: BlockBatch, waiting: list[_Waiting]) -> npt.NDArray[np.int64]:
    counts = [np.bincount(one.slots, minlength=batch.slots) for one in waiting]
    return np.asarray(np.sum(counts, axis=0), dtype=np.int64)


def _alive(batch: BlockBatch, programs: Sequence[Program]) -> npt.NDArray[np.int64]:
    groups = [program.group for program in programs]
    counts = [np.bincount(group.slot[group.alive], minlength=batch.slots) for group in groups]
    return np.asarray(np.sum(counts, axis=0), dtype=np.int64)


def _check_same_barrier(complete: Mask, waiting: list[_Waiting]) -> None:
    """Report threads that wait at one barrier by different instructions."""
    if len({one.wait.instruction.index for one in waiting}) < 2:
        return
    for program in {id(one.program): one.program for one in waiting}.values():
        group = program.group
        site = np.full(group.lanes, _NOWHERE)
        for one in waiting:
            if one.program is program:
                site[one.lanes & complete[group.slot]] = one.wait.instruction.index
        by_warp = site.reshape(-1, WARP)
        first = np.repeat(by_warp.max(axis=1), WARP)
        missing = (site != _NOWHERE) & (site != first)
        if missing.any():
            warp = int(np.flatnonzero(missing)[0]) // WARP
            index = int(by_warp[warp].max())
            barrier = next(one for one in waiting if one.wait.instruction.index == index)
            group.launch.hazards.barrier_missed(group, barrier.wait.instruction, missing)
            return
    first_one, *others = sorted(waiting, key=lambda one: one.wait.instruction.index)
    for other in others:
        if other.wait.instruction is first_one.wait.instruction:
            continue
        common = np.intersect1d(first_one.slots, other.slots)
        common = common[complete[common]]
        if len(common):
            group = other.program.group
            lane = int(np.flatnonzero(other.lanes & (group.slot == common[0]))[0])
            group.launch.hazards.barrier_split(
                group, lane, other.wait.instruction, first_one.wait.instruction
            )


def _resume(
    batch: BlockBatch,
    complete: Mask,
    waiting: list[_Waiting],
    programs: Sequence[Program],
    tally: Tally,
) -> None:
    """Open a barrier in the slots where it is complete."""
    whole = complete & (_per_slot(batch, waiting) == _alive(batch, programs))
    opened = [(one.program.group, one.lanes & complete[one.program.group.slot]) for one in waiting]
    warps = [warp for group, lanes in opened for warp in warps_among(group, lanes)]
    batch.passed(waiting[0].wait.number, complete, whole, warps)
    first = min(one.wait.instruction.index for one in waiting)
    tally.barriers[first] += int(np.count_nonzero(complete))
    for one in waiting:
        free = one.lanes & complete[one.program.group.slot]
        if np.array_equal(free, one.lanes):
            one.path.wait = None
        elif free.any():
            one.program.paths.append(one.path.split(free))


def _resolve_deadlock(batch: BlockBatch, programs: Sequence[Program], tally: Tally) -> None:
    """Deadlock: report the reason, and resume threads that wait at a barrier of their block.

    Raises:
        DeadlockError: nobody waits at one.
    """
    waiting = _waiting_paths(programs)
    if not waiting:
        program = next(program for program in programs if program.paths)
        raise deadlock(program.place_of(program.paths[-1]))
    one = min(waiting, key=lambda one: one.wait.instruction.index)
    present = _per_slot(batch, [one]) > 0
    _report_missing(present, one, programs)
    _resume(batch, present, [one], programs, tally)


def _report_missing(present: Mask, one: _Waiting, programs: Sequence[Program]) -> None:
    """Say whom a barrier that cannot open waits for."""
    group, site = one.program.group, one.wait.instruction
    if one.wait.threads is not None:
        lane = int(np.flatnonzero(one.lanes)[0])
        came = int(np.count_nonzero(one.slots == group.slot[lane]))
        group.launch.hazards.barrier_starved(group, lane, site, came, one.wait.threads)
        return
    for program in programs:
        missing = program.group.alive & present[program.group.slot]
        if program is one.program:
            missing &= ~one.lanes
        if missing.any():
            program.group.launch.hazards.barrier_missed(program.group, site, missing)
            return
