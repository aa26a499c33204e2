"""Measure the dispatcher at shapes that no fit has seen, beside cuBLAS and all candidates."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.first_use import FirstUse
from sgemm_lab.gemm.dispatch.library import WithCublas
from sgemm_lab.gemm.dispatch.product import GpuDispatcher
from sgemm_lab.gemm.dispatch.tuning import Bench
from sgemm_lab.kernel import Size
from sgemm_lab.measuring.interleaved import Budget, Product, cublas, is_graphed, time_interleaved
from sgemm_lab.records.dispatch_table import DrawnShape
from sgemm_lab.records.gpu_record import CUBLAS, MATMUL

LOW = 0.95
"""Shares of cuBLAS below this are counted."""


def judge(
    size: Size,
    multiply: GpuDispatcher,
    bench: Bench | None,
    budget: Budget,
    tuned: Mapping[str, FirstUse | WithCublas] | None = None,
) -> list[DrawnShape]:
    """Measure the dispatcher at one shape, in turns with cuBLAS and the fastest candidate.

    The result has what the model picks, and then what each mode of tuning in ``tuned`` picks; this
    product is the first of those that tune on use. ``bench`` measures all candidates first, to find
    the fastest one. Each of the final measurements has the ``budget``.
    """
    picked = multiply.kernel_for(size).name
    tuned = tuned or {}
    products: dict[str, Product] = {MATMUL: multiply, CUBLAS: cublas()}
    products |= {_tuned_name(mode): one for mode, one in tuned.items()}
    best = picked
    if bench is not None:
        seconds = bench.measure(size).seconds
        best = min(seconds, key=lambda name: seconds[name])
        if best != picked:
            products[best] = bench.product(best)
    found = {
        one.kernel: median(one.seconds)
        for one in time_interleaved(products, size, budget, graphs=is_graphed(size))
    }
    if found.get(best, found[MATMUL]) >= found[MATMUL]:  # the two are equal but for noise
        best = picked
    model = DrawnShape(
        *size, picked, found[MATMUL], found[CUBLAS], multiply.predicted(size),
        best if bench else None, found.get(best, found[MATMUL]) if bench else None,
    )  # fmt: skip
    picks = [
        replace(
            model, kernel=chosen[0], seconds=found[_tuned_name(mode)], predicted_seconds=None,
            tune=mode, cost=chosen[1],
        )
        for mode, one in tuned.items()
        if (chosen := _chosen(one, size, picked))
    ]  # fmt: skip
    return [model, *picks]


def _chosen(
    one: FirstUse | WithCublas, size: Size, by_model: str
) -> tuple[str, float | None] | None:
    """Return what was chosen for a size, and the seconds that it took; None if nothing was."""
    if isinstance(one, WithCublas):
        return (CUBLAS if one.takes_cublas(size) else by_model), None
    trial = one.trials.get((size, True))
    return (trial.winner, trial.cost) if trial else None


def _tuned_name(mode: str) -> str:
    return f"{MATMUL}, {mode}"


@dataclass(frozen=True)
class Verdict:
    """Statistics of the dispatcher over many shapes."""

    shapes: int
    geometric_mean: float
    """Of the speeds relative to cuBLAS."""
    least: DrawnShape
    low: int
    """Shapes with less than ``LOW`` of cuBLAS."""
    of_best: float | None
    """Geometric mean of the speeds relative to the fastest candidate, if these were measured."""
    cost: float | None
    """Median of the seconds that tuning on first use took at a shape."""
    most_cost: float | None


def verdict(found: Sequence[DrawnShape]) -> Verdict:
    """Return the statistics of drawn shapes."""
    if not found:
        raise LabError("No shape was measured.")
    of_best = [one.share_of_best for one in found if one.share_of_best is not None]
    costs = [one.cost for one in found if one.cost is not None]
    return Verdict(
        len(found),
        statistics.geometric_mean(one.share for one in found),
        min(found, key=lambda one: one.share),
        sum(one.share < LOW for one in found),
        statistics.geometric_mean(of_best) if of_best else None,
        median(costs) if costs else None,
        max(costs, default=None),
    )


def by_mode(found: Iterable[DrawnShape]) -> dict[str, list[DrawnShape]]:
    """Return drawn shapes that were tuned on first use by their mode."""
    modes: dict[str, list[DrawnShape]] = {}
    for one in found:
        if one.tune:
            modes.setdefault(one.tune, []).append(one)
    return modes
