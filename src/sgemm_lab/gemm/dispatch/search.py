"""Search for the fastest kernel at each size: cheap questions first, the GPU last.

At every size the candidates stand in the order of what is expected of them, best first. One is
measured only if it compiles without spills, fits on an SM, could by its bound beat the best
measured so far, and was not far behind at the nearest size at which it was measured. Its C,
poisoned with NaN, must be right before its time counts. Every point is on disk before the next is
measured; a point that is there already is not measured again.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sgemm_lab.gemm.dispatch.work import carried_over, distance, is_aligned
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.bound import CLOCK_TOLERANCE
from sgemm_lab.records.dispatch_table import Point, Table
from sgemm_lab.text import plural, size_text

HOPELESS = 3.0
"""A candidate whose first launch takes so many times as long as the best is not measured."""

BEHIND = 1.5
"""A candidate is not measured where its nearest point lets expect so many times the best's time;
for each unit of distance (``work.distance``) as many times more: what is far foretells little."""

REACH = 3.0
"""How far away that point may be: a doubling of M, of N or of K is 1."""

SHORT = 1e-3
"""Seconds of a launch up to which measuring costs less than being mistaken by a single launch."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Timing:
    """Medians of a candidate and of cuBLAS, in turns. Seconds per launch."""

    seconds: float
    cublas_seconds: float
    graph: bool


class Bench(Protocol):
    """What the search asks of a GPU. Tests give one that pretends."""

    def refusal(self, kernel: Kernel, size: Size) -> str | None:
        """Say in a sentence why a candidate cannot run at a size, or is not worth it."""

    def predicted_gflops(self, kernel: Kernel, size: Size) -> float:
        """Return what the models let a candidate reach at most."""

    def first_launch(self, kernel: Kernel, size: Size) -> float:
        """Multiply into a poisoned C, judge it, and return the seconds of one more launch.

        Raises:
            WrongProductError: C is wrong.
        """

    def measure(self, kernel: Kernel, size: Size) -> Timing:
        """Measure a candidate in turns with cuBLAS."""


class WrongProductError(Exception):
    """A candidate's C is wrong. The message is a sentence."""


class Store(Protocol):
    """Where points go."""

    @property
    def table(self) -> Table:
        """All points so far, those of earlier searches too."""

    def add(self, point: Point) -> None:
        """Keep a point, on disk."""

    def end(self) -> None:
        """Mark the search as complete."""


@dataclass
class Summary:
    """What a search did."""

    measured: int = 0
    known: int = 0
    """Points that an earlier search had measured."""
    skipped: int = 0
    """Candidates that the models or the first launch ruled out."""
    faults: list[str] = field(default_factory=list)
    """What was wrong with the products of candidates that were left out, a sentence each."""
    complete: bool = True

    @property
    def text(self) -> str:
        """The summary as a sentence."""
        ended = "complete" if self.complete else "stopped before its end; call it again to go on"
        wrong = f" {plural(len(self.faults), 'product')} came out wrong." if self.faults else ""
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
    """Measure what is worth it, size by size, and keep every point.

    Args:
        kernels: the candidates.
        sizes: M, N, K of each product.
        bench: the GPU.
        store: where points go, and what is known.
        everything: measure also what the bound rules out, to see how good the bound is.
        seconds: time limit; the point in progress is finished.
        progress: is told in a line what is done.
        clock: tells the time, in seconds.
    """
    sizes, summary = list(sizes), Summary()
    hopeless: dict[str, list[Size]] = {}
    end = None if seconds is None else clock() + seconds
    for number, size in enumerate(sizes, 1):
        known = {(p.kernel, p.fingerprint): p for p in store.table.at(size)}
        ranked = _ranked(kernels, size, bench, store.table, hopeless, summary)
        best: float | None = None
        for place, hope in enumerate(ranked, 1):
            if end is not None and clock() >= end:
                summary.complete = False
                return summary
            point = known.get((hope.kernel.name, hope.kernel.fingerprint))
            if point is not None:
                summary.known += 1
            elif best is not None and not everything and hope.is_ruled_out_by(best):
                summary.skipped += 1
            else:
                so_far = f"; best {best:,.0f} GFLOP/s" if best else ""
                progress(
                    f"size {number} of {len(sizes)}, {size_text(size)}: candidate {place} of "
                    f"{len(ranked)}, {hope.kernel.name}{so_far}"
                )
                try:
                    point = _measured(hope.kernel, size, hope.bound, best, bench, summary)
                    if point is not None:
                        store.add(point)
                except _HopelessError:
                    summary.skipped += 1
                    hopeless.setdefault(hope.kernel.name, []).append(size)
            if point is not None:
                best = max(best or 0.0, point.gflops)
    store.end()
    return summary


@dataclass(frozen=True)
class _Hope:
    """What is expected of a candidate at a size, in GFLOP/s."""

    kernel: Kernel
    bound: float
    """What the models let it reach at most."""
    carried_over: float | None
    """What the nearest point at which it was measured lets expect; None where none is near."""
    away: float = 0.0
    """How far away that point is."""

    @property
    def expected(self) -> float:
        """The one that is known best."""
        return self.bound if self.carried_over is None else min(self.bound, self.carried_over)

    def is_ruled_out_by(self, best: float) -> bool:
        """Whether it need not be measured where another candidate has reached ``best`` GFLOP/s."""
        trusted = BEHIND ** (1 + self.away)
        behind = self.carried_over is not None and self.carried_over * trusted < best
        return behind or self.bound * (1 + CLOCK_TOLERANCE) < best


class _HopelessError(Exception):
    """A candidate's first launch took far longer than the best one takes."""


def _ranked(
    kernels: Iterable[Kernel],
    size: Size,
    bench: Bench,
    table: Table,
    hopeless: Mapping[str, Iterable[Size]],
    summary: Summary,
) -> list[_Hope]:
    """Return the candidates that can run at a size: those measured nearby first, the best first.

    Whoever was hopeless at a size nearby is none of them: where a launch is long, trying it once
    more can take minutes.
    """
    m, n, k = size
    points: dict[str, list[Point]] = {}
    for point in table.points:
        if is_aligned(point.size) == is_aligned(size) and distance(point.size, size) <= REACH:
            points.setdefault(point.kernel, []).append(point)
    found = []
    for kernel in kernels:
        tried = hopeless.get(kernel.name, ())
        if any(distance(other, size) <= REACH for other in tried) or bench.refusal(kernel, size):
            summary.skipped += 1
            continue
        bound, expected, away = bench.predicted_gflops(kernel, size), None, 0.0
        if near := points.get(kernel.name):
            point = min(near, key=lambda point: distance(point.size, size))
            time_ = carried_over(point.seconds, kernel, point.size, size, table.gpu.sms)
            expected, away = 2 * m * n * k / time_ / 1e9, distance(point.size, size)
        found.append(_Hope(kernel, bound, expected, away))
    return sorted(found, key=lambda hope: (hope.carried_over is None, -hope.expected))


def _measured(
    kernel: Kernel,
    size: Size,
    predicted: float,
    best: float | None,
    bench: Bench,
    summary: Summary,
) -> Point | None:
    """Judge a candidate, then measure it; None where it is wrong.

    Raises:
        _HopelessError: its first launch took far longer than the best one takes.
    """
    m, n, k = size
    try:
        first = bench.first_launch(kernel, size)
    except WrongProductError as fault:
        summary.faults.append(f"{kernel.name} is left out at {size_text(size)}: {fault}")
        return None
    slow = best is not None and 2 * m * n * k / first / 1e9 * HOPELESS < best
    if slow and first > SHORT:
        raise _HopelessError
    timing = bench.measure(kernel, size)
    summary.measured += 1
    return Point(
        kernel.name, kernel.fingerprint, m, n, k, _rounded(timing.seconds),
        _rounded(timing.cublas_seconds), timing.graph, _rounded(predicted),
    )  # fmt: skip


def _rounded(number: float) -> float:
    """Return a number to five digits, as records keep them."""
    return float(f"{number:.5g}")
