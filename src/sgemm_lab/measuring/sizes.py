"""Which sizes a record takes on this GPU: what fits its memory and the time, and is not yet there.

How long a size takes is predicted from the sizes before it. A GPU that is a hundred times slower
than another so measures fewer sizes in the same minutes, and says which it left out.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.interleaved import Budget
from sgemm_lab.records.gpu_record import CUBLAS_MODES, Measurement, Run, RunEnvironment

TIME_LIMIT = 480.0
"""Seconds that the races of a record may take if nothing else is said; its microbenchmarks take
about a minute more."""

_ROOM = 0.8
"""The part of the free memory that matrices may take; the rest is for workspace."""
_GOES_ON = timedelta(days=1)
"""How old a stopped run may be that is gone on with."""
_LAUNCHES_BEFORE = 2
"""Launches of a product before it is timed."""


@dataclass
class Pace:
    """How fast products are, and how long they will take at the next size."""

    budget: Budget
    seconds_per_flop: dict[str, float] = field(default_factory=dict)
    """Of each product at the last size that it was measured at."""

    def learn(self, measurements: Iterable[Measurement]) -> None:
        """Take note of what a race measured."""
        for found in measurements:
            self.seconds_per_flop[found.kernel] = 1e-9 / found.gflops

    def predicted(self, name: str, size: Size) -> float:
        """Return the seconds that a product will take at a size; 0 where nothing is known yet.

        One that was not measured before counts as slow as the slowest. Larger products mostly run
        at a higher rate, so the time is predicted too long rather than too short.
        """
        m, n, k = size
        slowest = max(self.seconds_per_flop.values(), default=0.0)
        launch = 2 * m * n * k * self.seconds_per_flop.get(name, slowest)
        if not launch:
            return 0.0
        budget = self.budget
        timed = max(budget.seconds, budget.min_samples * launch)
        return _LAUNCHES_BEFORE * launch + max(budget.warm_up_seconds, launch) + timed

    def in_time(self, names: Sequence[str], size: Size, left: float) -> list[str]:
        """Return the products that can be measured at a size in ``left`` seconds.

        The slowest are left out until the rest fits. cuBLAS stays; without any other product there
        is nothing to compare it with, and the list is empty.
        """
        cost = {name: self.predicted(name, size) for name in names}
        library = set(CUBLAS_MODES.values())
        kept = list(names)
        for name in sorted(set(names) - library, key=lambda one: -cost[one]):
            if sum(cost[one] for one in kept) <= left:
                break
            kept.remove(name)
        fits = sum(cost[one] for one in kept) <= left
        return kept if fits and set(kept) - library else []


def has_room(size: Size, free_bytes: int) -> bool:
    """Say whether the three matrices of a size fit into free memory beside a workspace."""
    m, n, k = size
    return FLOAT_BYTES * (m * k + k * n + m * n) <= _ROOM * free_bytes


def measured_before(
    runs: Sequence[Run], like: RunEnvironment, kernels: Sequence[Kernel], others: Collection[str]
) -> set[Size]:
    """Return the sizes that stopped runs of these products have measured to their end.

    Only the latest runs count, back to the last that was complete, and only those of the last day
    with the same driver, compiler and libraries. The last size of a stopped run may be cut short,
    so it is not among them.

    Args:
        runs: of one GPU, the oldest first.
        like: a run of now.
        kernels: the kernels that are wanted; runs of other code do not count.
        others: names of what else is wanted, such as cuBLAS.
    """
    now = datetime.fromisoformat(like.date)
    wanted = {(kernel.name, kernel.fingerprint) for kernel in kernels}
    done: set[Size] = set()
    for run in reversed([run for run in runs if run.measurements]):
        recent = now - datetime.fromisoformat(run.date) <= _GOES_ON
        measured = {(one.kernel, one.fingerprint) for one in run.measurements}
        same = wanted <= measured and set(others) <= {name for name, _ in measured}
        if run.complete or not recent or not same or _tools(run) != _tools(like):
            break
        done |= {one.size for one in run.measurements} - {run.measurements[-1].size}
    return done


def _tools(run: RunEnvironment) -> tuple[str, ...]:
    return (run.driver, run.cuda, run.nvrtc, run.cupy, run.package, run.cublas_call)
