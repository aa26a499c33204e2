"""Select the sizes of a record that fit the GPU's memory and the time limit.

The time of a size is predicted from earlier sizes, so a slow GPU measures fewer sizes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Size
from sgemm_lab.measuring.interleaved import Budget
from sgemm_lab.records.gpu_record import CUBLAS_MODES, Measurement

TIME_LIMIT = 480.0
"""Default time limit of the timings of a record in seconds. Its microbenchmarks take another
minute."""

_MATRICES = 0.8
"""Share of the free memory for matrices; the rest is for workspace."""
_LAUNCHES_BEFORE = 2
"""Launches of a product before its timing."""


@dataclass
class Pace:
    """Speeds of products, for predicting their times at further sizes."""

    budget: Budget
    seconds_per_flop: dict[str, float] = field(default_factory=dict)
    """By product, at its latest size."""

    def update(self, measurements: Iterable[Measurement]) -> None:
        """Update the speeds from measurements."""
        for found in measurements:
            self.seconds_per_flop[found.kernel] = 1e-9 / found.gflops

    def predicted(self, name: str, size: Size) -> float:
        """Return the predicted seconds of measuring a product at a size; 0 without measurements.

        A product without measurements gets the speed of the slowest. Larger products mostly run at
        a higher rate, so the prediction tends to be too long.
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

        The slowest are dropped until the rest fits. cuBLAS is never dropped; without another
        product the list is empty.
        """
        cost = {name: self.predicted(name, size) for name in names}
        library = set(CUBLAS_MODES.values())
        chosen = list(names)
        for name in sorted(set(names) - library, key=lambda one: -cost[one]):
            if sum(cost[one] for one in chosen) <= left:
                break
            chosen.remove(name)
        fits = sum(cost[one] for one in chosen) <= left
        return chosen if fits and set(chosen) - library else []


def fits_memory(size: Size, free_bytes: int) -> bool:
    """Whether the matrices of a size fit into free memory, with space for a workspace."""
    m, n, k = size
    return FLOAT_BYTES * (m * k + k * n + m * n) <= _MATRICES * free_bytes
