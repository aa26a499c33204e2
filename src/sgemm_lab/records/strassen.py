"""Records of Strassen's product: dataclasses of a file."""

import statistics
from dataclasses import dataclass, replace

from sgemm_lab.errors import LabError
from sgemm_lab.records.gpu_record import (
    Count,
    Device,
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


@dataclass(frozen=True)
class MeasuredPlan:
    """A measured plan at a size. Seconds are per product."""

    schedules: tuple[Name, ...]
    """Of the levels, outermost first; "twice" covers two levels."""
    levels: Whole
    leaf: tuple[Count, ...]
    """M, N, K of the leaf products."""
    kernel: Name
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

    kernel: Name
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
        """Return the times of n×n matrices."""
        for found in self.times:
            if found.size == (n, n, n):
                return found
        raise LabError(f"Strassen's product was not measured at {n}×{n}×{n}.")

    @property
    def other_sizes(self) -> tuple[SizeTimes, ...]:
        """Times of the sizes that are not cubes of a power of two."""
        return tuple(t for t in self.times if t.size != (t.m,) * 3 or t.m & (t.m - 1))

    def error_at(self, n: int, inputs: str) -> Errors:
        """Return the errors of n×n matrices for an input distribution."""
        for found in self.errors:
            if (found.n, found.inputs) == (n, inputs):
                return found
        raise LabError(f"Errors of {inputs} matrices were not measured at {n}.")


@dataclass(frozen=True)
class StrassenRecord:
    """All runs on one GPU model."""

    gpu: Device
    runs: tuple[StrassenRun, ...]


def strassen_over(arithmetic: str) -> str:
    """Return the name of Strassen's arithmetic with leaves of an arithmetic."""
    return STRASSEN if arithmetic == "fp32" else f"{STRASSEN}+{arithmetic}"


def level_error_name(arithmetic: str, levels: int) -> str:
    """Return the name of Strassen's product with ``levels`` levels among recorded accuracies."""
    return f"{strassen_over(arithmetic)}:levels={levels}"


STRASSEN_RECORDS = Kind(StrassenRecord, "strassen")


def latest(record: StrassenRecord) -> StrassenRun:
    """Return the latest run with times, a complete one if there is one.

    What was measured with one kernel inside is that of the latest run which has it.
    """
    run = max(record.runs, key=lambda run: (bool(run.times), run.complete, run.date))
    taken = max(record.runs, key=lambda run: (bool(run.inside), run.complete, run.date))
    return replace(run, inside=tuple(replace(one, date=taken.date) for one in taken.inside))
