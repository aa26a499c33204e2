"""Search for the fastest kernel at each size, with cheap tests before measurements.

At each size the candidates are sorted by expected speed. A candidate is measured only if it
compiles without spills, fits on an SM, could beat the best measurement so far by its bound, and was
not much slower than the best at the nearest size where it was measured. Its C, filled with NaN
first, must be correct. Each point is written before the next measurement; existing points are
reused.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sgemm_lab.gemm.dispatch.work import distance, extrapolated, is_aligned
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.bound import CLOCK_TOLERANCE
from sgemm_lab.records.dispatch_table import Point, Table
from sgemm_lab.text import plural, size_text

TOO_SLOW_FACTOR = 3.0
"""A candidate whose first launch takes this many times the best time is not measured."""

PRUNE_FACTOR = 1.5
"""A candidate is not measured if the time extrapolated from its nearest point exceeds this many
times the best. The factor is raised to 1 + distance (``work.distance``), since distant points
predict less."""

MAX_DISTANCE = 3.0
"""Largest distance of that point; a doubling of M, N or K is 1."""

SHORT_LAUNCH = 1e-3
"""Launches up to this many seconds are always measured, since one launch is not reliable."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Timing:
    """Interleaved medians of a candidate and of cuBLAS, in seconds per launch."""

    seconds: float
    cublas_seconds: float
    graph: bool


class Bench(Protocol):
    """Interface of the search to a GPU."""

    def refusal(self, kernel: Kernel, size: Size) -> str | None:
        """Return why a candidate cannot run at a size or spills registers; None if it can run."""

    def predicted_gflops(self, kernel: Kernel, size: Size) -> float:
        """Return the upper bound of a candidate's speed."""

    def first_launch(self, kernel: Kernel, size: Size) -> float:
        """Multiply into a C of NaN, check it, and return the seconds of a second launch.

        Raises:
            WrongProductError: C is wrong.
        """

    def measure(self, kernel: Kernel, size: Size) -> Timing:
        """Measure a candidate, interleaved with cuBLAS."""


class WrongProductError(Exception):
    """A candidate's C is wrong."""


class Store(Protocol):
    """Storage of points."""

    @property
    def table(self) -> Table:
        """All points, including those of earlier searches."""

    def add(self, point: Point) -> None:
        """Write a point to disk."""

    def end(self) -> None:
        """Mark the search as complete."""


@dataclass
class Summary:
    """Result of a search."""

    measured: int = 0
    known: int = 0
    """Points of earlier searches."""
    skipped: int = 0
    """Candidates ruled out by the models or the first launch."""
    faults: list[str] = field(default_factory=list)
    """A message for each candidate with a wrong product."""
    complete: bool = True

    @property
    def text(self) -> str:
        """The summary as a sentence."""
        ended = "complete" if self.complete else "incomplete; run it again to continue"
        wrong = f" {plural(len(self.faults), 'product')} wrong." if self.faults else ""
        return (
            f"{plural(self.measured, 'point')} measured, {self.known:,} known before, "
            f"{self.skipped:,} ruled out unmeasured.{wrong} The search is {ended}."
        )


def search(
    kernels: Sequence[Kernel],
    sizes: Iterable[Size],
    bench: Bench,
    store: Store,
    *,
    everything: bool = False,
    seconds: float | None = None,
    progress: Progress = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Summary:
    """Measure the promising candidates, size by size, and store every point.

    Args:
        kernels: the candidates.
        sizes: M, N, K of each product.
        bench: the GPU.
        store: for points; its existing points are reused.
        everything: measure also ruled-out candidates, to evaluate the bound.
        seconds: time limit; the point in progress is finished.
        progress: called with a line of text before each measurement.
        clock: returns the time in seconds.
    """
    sizes, summary = list(sizes), Summary()
    too_slow: dict[str, list[Size]] = {}
    end = None if seconds is None else clock() + seconds
    for number, size in enumerate(sizes, 1):
        known = {(p.kernel, p.fingerprint): p for p in store.table.at(size)}
        ranked = _ranked(kernels, size, bench, store.table, too_slow, summary)
        best: float | None = None
        for place, candidate in enumerate(ranked, 1):
            if end is not None and clock() >= end:
                summary.complete = False
                return summary
            point = known.get((candidate.kernel.name, candidate.kernel.fingerprint))
            if point is not None:
                summary.known += 1
            elif best is not None and not everything and candidate.is_ruled_out_by(best):
                summary.skipped += 1
            else:
                so_far = f"; best {best:,.0f} GFLOP/s" if best else ""
                progress(
                    f"size {number} of {len(sizes)}, {size_text(size)}: candidate {place} of "
                    f"{len(ranked)}, {candidate.kernel.name}{so_far}"
                )
                try:
                    point = _measured(candidate.kernel, size, candidate.bound, best, bench, summary)
                    if point is not None:
                        store.add(point)
                except _TooSlowError:
                    summary.skipped += 1
                    too_slow.setdefault(candidate.kernel.name, []).append(size)
            if point is not None:
                best = max(best or 0.0, point.gflops)
    store.end()
    return summary


@dataclass(frozen=True)
class _Candidate:
    """A kernel at a size with its expected speed in GFLOP/s."""

    kernel: Kernel
    bound: float
    """Upper bound from the models."""
    extrapolated: float | None
    """Extrapolated from the nearest measured point; None if none is near."""
    away: float = 0.0
    """Distance of that point."""

    @property
    def expected(self) -> float:
        """The best estimate."""
        return self.bound if self.extrapolated is None else min(self.bound, self.extrapolated)

    def is_ruled_out_by(self, best: float) -> bool:
        """Whether another candidate's ``best`` GFLOP/s makes a measurement unnecessary."""
        factor = PRUNE_FACTOR ** (1 + self.away)
        slower = self.extrapolated is not None and self.extrapolated * factor < best
        return slower or self.bound * (1 + CLOCK_TOLERANCE) < best


class _TooSlowError(Exception):
    """A candidate's first launch took much longer than the best time."""


def _ranked(
    kernels: Iterable[Kernel],
    size: Size,
    bench: Bench,
    table: Table,
    too_slow: Mapping[str, Iterable[Size]],
    summary: Summary,
) -> list[_Candidate]:
    """Return the candidates that can run at a size, fastest first, those measured nearby first.

    Kernels that were too slow at a nearby size are skipped, because one long launch can take
    minutes.
    """
    m, n, k = size
    points: dict[str, list[Point]] = {}
    for point in table.points:
        if (
            is_aligned(point.size) == is_aligned(size)
            and distance(point.size, size) <= MAX_DISTANCE
        ):
            points.setdefault(point.kernel, []).append(point)
    found = []
    for kernel in kernels:
        tried = too_slow.get(kernel.name, ())
        if any(distance(other, size) <= MAX_DISTANCE for other in tried) or bench.refusal(
            kernel, size
        ):
            summary.skipped += 1
            continue
        bound, expected, away = bench.predicted_gflops(kernel, size), None, 0.0
        if near := points.get(kernel.name):
            point = min(near, key=lambda point: distance(point.size, size))
            time_ = extrapolated(point.seconds, kernel, point.size, size, table.gpu.sms)
            expected, away = 2 * m * n * k / time_ / 1e9, distance(point.size, size)
        found.append(_Candidate(kernel, bound, expected, away))
    return sorted(
        found, key=lambda candidate: (candidate.extrapolated is None, -candidate.expected)
    )


def _measured(
    kernel: Kernel,
    size: Size,
    predicted: float,
    best: float | None,
    bench: Bench,
    summary: Summary,
) -> Point | None:
    """Check a candidate, then measure it; None if its product is wrong.

    Raises:
        _TooSlowError: its first launch took much longer than the best time.
    """
    m, n, k = size
    try:
        first = bench.first_launch(kernel, size)
    except WrongProductError as fault:
        summary.faults.append(f"{kernel.name} is excluded at {size_text(size)}: {fault}")
        return None
    slow = best is not None and 2 * m * n * k / first / 1e9 * TOO_SLOW_FACTOR < best
    if slow and first > SHORT_LAUNCH:
        raise _TooSlowError
    timing = bench.measure(kernel, size)
    summary.measured += 1
    return Point(
        kernel.name, kernel.fingerprint, m, n, k, _rounded(timing.seconds),
        _rounded(timing.cublas_seconds), timing.graph, _rounded(predicted),
    )  # fmt: skip


def _rounded(number: float) -> float:
    """Round to five significant digits."""
    return float(f"{number:.5g}")
