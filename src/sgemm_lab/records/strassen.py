"""Records of Strassen's product: dataclasses of a file, and scores."""

import statistics
from dataclasses import dataclass, replace

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size
from sgemm_lab.records.gpu_record import (
    Count,
    CublasComparison,
    Device,
    KernelName,
    Name,
    NotNegative,
    OfSize,
    RunEnvironment,
    Samples,
    Spread,
    Whole,
)
from sgemm_lab.records.json_files import Kind

STRASSEN = "strassen"
"""The name of Strassen's product among kernels and among arithmetics."""
_UNIFORM = "uniform"
"""Inputs uniform in ±0.5, as for the errors in other kernels' scores."""


@dataclass(frozen=True)
class MeasuredPlan:
    """A measured plan at a size. Seconds are per product."""

    schedules: tuple[Name, ...]
    """Of the levels, outermost first; "twice" covers two levels."""
    levels: Whole
    leaf: tuple[Count, ...]
    """M, N, K of the leaf products."""
    kernel: KernelName
    """The kernel of the leaves."""
    workspace_bytes: Whole
    moved_bytes: Whole
    """Bytes that the additions read and write."""
    seconds: Samples
    products: Samples | None = None
    """Seconds of the leaf products alone."""
    additions: Samples | None = None
    """Seconds of the additions alone."""


@dataclass(frozen=True)
class SizeTimes(OfSize):
    """Interleaved measurements of all plans of one size and of cuBLAS."""

    m: Count
    n: Count
    k: Count
    graph: bool
    """Whether CUDA graphs were replayed."""
    cublas: Samples
    ways: tuple[MeasuredPlan, ...]
    clock_mhz: Spread | None = None
    power_w: Spread | None = None

    def tflops(self, seconds: tuple[float, ...]) -> float:
        """Return the median TFLOP/s, counting 2·M·N·K FLOP."""
        return self.flop / statistics.median(seconds) / 1e12

    def share(self, way: MeasuredPlan) -> float:
        """Return a plan's speed relative to cuBLAS."""
        return statistics.median(self.cublas) / statistics.median(way.seconds)

    @property
    def fastest(self) -> MeasuredPlan:
        """The fastest plan."""
        return min(self.ways, key=lambda way: statistics.median(way.seconds))


@dataclass(frozen=True)
class Errors(OfSize):
    """Relative errors ‖C − A·B‖ / ‖A·B‖ (Frobenius norm of sampled rows) against float64."""

    inputs: Name
    m: Count
    n: Count
    k: Count
    rows: Count
    """Number of sampled rows."""
    cublas: NotNegative
    levels: tuple[NotNegative, ...]
    """By number of levels, from 0."""


@dataclass(frozen=True)
class Inside:
    """Strassen's product whose leaves all run one kernel that does not multiply in FP32."""

    kernel: KernelName
    fingerprint: str
    """Of the kernel's source."""
    arithmetic: Name
    """Of the kernel: "3xfp16"."""
    times: tuple[SizeTimes, ...] = ()
    errors: tuple[Errors, ...] = ()
    date: str | None = None
    """Start time of its run, if ``latest`` has put it into another one."""


@dataclass(frozen=True)
class StrassenRun(RunEnvironment):
    """One run of ``sgemm-lab strassen record``."""

    complete: bool = False
    exact: Whole = 0
    """Number of products of whole numbers at odd sizes that were checked to be exact."""
    times: tuple[SizeTimes, ...] = ()
    errors: tuple[Errors, ...] = ()
    inside: tuple[Inside, ...] = ()

    def at(self, n: int) -> SizeTimes:
        """Return the times of n×n matrices.

        Raises:
            LabError: this size was not measured.
        """
        for found in self.times:
            if found.size == (n, n, n):
                return found
        raise LabError(f"Strassen's product was not measured at {n}×{n}×{n}.")

    @property
    def other_sizes(self) -> tuple[SizeTimes, ...]:
        """Times of the sizes that are not cubes of a power of two."""
        return tuple(t for t in self.times if t.size != (t.m,) * 3 or t.m & (t.m - 1))

    def error_at(self, n: int, inputs: str) -> Errors:
        """Return the errors of n×n matrices for an input distribution.

        Raises:
            LabError: this case was not measured.
        """
        for found in self.errors:
            if (found.n, found.inputs) == (n, inputs):
                return found
        raise LabError(f"Errors of {inputs} matrices were not measured at {n}.")


@dataclass(frozen=True)
class StrassenRecord:
    """All runs on one GPU model."""

    gpu: Device
    runs: tuple[StrassenRun, ...]


@dataclass(frozen=True)
class StrassenScore(CublasComparison):
    """The fastest plan with at least one level at one size, with cuBLAS in the same run."""

    gpu: str
    date: str
    arithmetic: str
    """"strassen", with the arithmetic of the leaves unless it is FP32."""
    times: SizeTimes
    plan: MeasuredPlan
    errors: Errors | None
    """At this size, for inputs uniform in ±0.5; None if not measured."""

    kernel = STRASSEN
    picked = None

    @property
    def size(self) -> Size:
        """M, N, K."""
        return self.times.size

    @property
    def levels(self) -> int:
        """Recursion depth."""
        return self.plan.levels

    @property
    def gflops(self) -> float:
        """Median GFLOP/s, counting 2·M·N·K FLOP."""
        return 1e3 * self.times.tflops(self.plan.seconds)

    @property
    def cublas_gflops(self) -> float:
        """GFLOP/s of cuBLAS."""
        return 1e3 * self.times.tflops(self.times.cublas)

    @property
    def error(self) -> float | None:
        """Error at this depth; all schedules of one depth add in the same order."""
        levels = self.errors.levels if self.errors else ()
        return levels[self.levels] if self.levels < len(levels) else None

    @property
    def cublas_error(self) -> float | None:
        """Error of cuBLAS."""
        return self.errors.cublas if self.errors else None


def scores(record: StrassenRecord) -> list[StrassenScore]:
    """Return the fastest plan with levels of each size and leaf arithmetic, from the latest run."""
    run = latest(record)
    found = []
    parts = [(STRASSEN, run.date, run.times, run.errors)]
    parts += [
        (strassen_over(one.arithmetic), one.date or run.date, one.times, one.errors)
        for one in run.inside
    ]
    for arithmetic, date, sizes, all_errors in parts:
        errors = {one.size: one for one in all_errors if one.inputs == _UNIFORM}
        for times in sizes:
            plans = [plan for plan in times.ways if plan.levels]
            if plans:
                best = min(plans, key=lambda plan: statistics.median(plan.seconds))
                of_size = errors.get(times.size)
                found.append(StrassenScore(record.gpu.name, date, arithmetic, times, best, of_size))
    return found


def strassen_over(arithmetic: str) -> str:
    """Return the name of Strassen's arithmetic with leaves of an arithmetic."""
    return STRASSEN if arithmetic == "fp32" else f"{STRASSEN}+{arithmetic}"


def level_error_name(arithmetic: str, levels: int) -> str:
    """Return the name of Strassen's product with ``levels`` levels among recorded accuracies."""
    return f"{strassen_over(arithmetic)}:levels={levels}"


STRASSEN_RECORDS = Kind(StrassenRecord, "strassen record", "fewer")


def latest(record: StrassenRecord) -> StrassenRun:
    """Return the latest run with times, a complete one if there is one.

    What was measured with one kernel inside is that of the latest run which has it.
    """
    run = max(record.runs, key=lambda run: (bool(run.times), run.complete, run.date))
    taken = max(record.runs, key=lambda run: (bool(run.inside), run.complete, run.date))
    return replace(run, inside=tuple(replace(one, date=taken.date) for one in taken.inside))
