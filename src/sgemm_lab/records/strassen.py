"""What Strassen's product reached on a GPU: the form of a record, and its scores."""

import statistics
from dataclasses import dataclass
from typing import Annotated

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size
from sgemm_lab.records.gpu_record import (
    BesideLibrary,
    Count,
    Device,
    Name,
    OfSize,
    Samples,
    Spread,
    Taken,
)
from sgemm_lab.records.json_files import Kind
from sgemm_lab.records.schema import Rule

STRASSEN = "strassen"
"""The name under which it stands among kernels, and its arithmetic."""
_UNIFORM = "uniform"
"""The class of inputs, uniform in ±0.5, at which other kernels' errors are noted too."""

Level = Annotated[int, Rule(lambda levels: levels >= 0, "0 or more")]
Error = Annotated[float, Rule(lambda error: error >= 0, "0 or more")]


@dataclass(frozen=True)
class MeasuredPlan:
    """A plan at a size, measured. Seconds are per product."""

    schedules: tuple[Name, ...]
    """Of its levels, the outermost first; "twice" is two levels."""
    levels: Level
    leaf: tuple[Count, ...]
    """M, N, K of the products in the end."""
    kernel: Name
    """The kernel of the leaves."""
    workspace_bytes: Level
    moved_bytes: Level
    """What the additions read and write."""
    seconds: Samples
    products: Samples | None = None
    """The same without additions."""
    additions: Samples | None = None
    """The additions alone."""


@dataclass(frozen=True)
class SizeTimes(OfSize):
    """All plans of one size and cuBLAS, in turns."""

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
        """Return TFLOP/s at the median, as if each term were multiplied and added: 2·M·N·K."""
        return self.flop / statistics.median(seconds) / 1e12

    def share(self, way: MeasuredPlan) -> float:
        """Return a plan's speed over that of cuBLAS."""
        return statistics.median(self.cublas) / statistics.median(way.seconds)

    @property
    def fastest(self) -> MeasuredPlan:
        """The fastest plan."""
        return min(self.ways, key=lambda way: statistics.median(way.seconds))


@dataclass(frozen=True)
class Errors(OfSize):
    """Norm-wise errors ‖error of C‖ / ‖C‖ (Frobenius, of sampled rows) against float64."""

    inputs: Name
    m: Count
    n: Count
    k: Count
    rows: Count
    """Rows that were sampled."""
    cublas: Error
    levels: tuple[Error, ...]
    """Of 0 levels, of 1, and so on."""


@dataclass(frozen=True)
class Inside:
    """Strassen's product with all leaves by one kernel of another arithmetic than FP32."""

    kernel: Name
    fingerprint: str
    """Of the kernel's code."""
    arithmetic: Name
    """What the kernel multiplies in: "3xtf32"."""
    times: tuple[SizeTimes, ...] = ()
    errors: tuple[Errors, ...] = ()


@dataclass(frozen=True)
class StrassenRun(Taken):
    """One run of the command ``sgemm-lab strassen record``."""

    complete: bool = False
    exact: Level = 0
    """Products of whole numbers at awkward sizes that were tried, all of them right bit for bit."""
    times: tuple[SizeTimes, ...] = ()
    errors: tuple[Errors, ...] = ()
    inside: tuple[Inside, ...] = ()

    def at(self, n: int) -> SizeTimes:
        """Return the times of n×n matrices.

        Raises:
            LabError: they were not measured.
        """
        for found in self.times:
            if found.size == (n, n, n):
                return found
        raise LabError(f"Strassen's product was not measured at {n}×{n}×{n}.")

    @property
    def others(self) -> tuple[SizeTimes, ...]:
        """The times of sizes that are no cube of a power of two."""
        return tuple(t for t in self.times if t.size != (t.m,) * 3 or t.m & (t.m - 1))

    def error_at(self, n: int, inputs: str) -> Errors:
        """Return the errors of n×n matrices of a class of inputs.

        Raises:
            LabError: they were not measured.
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
class StrassenScore(BesideLibrary):
    """The fastest plan with a level or more at one size, beside cuBLAS in the same run."""

    gpu: str
    date: str
    arithmetic: str
    """Strassen's, and that of its leaves where it is not FP32."""
    times: SizeTimes
    way: MeasuredPlan
    errors: Errors | None
    """At this size, inputs uniform in ±0.5; None: not measured."""

    kernel = STRASSEN
    picked = None

    @property
    def size(self) -> Size:
        """M, N, K."""
        return self.times.size

    @property
    def levels(self) -> int:
        """How often a product is cut into seven."""
        return self.way.levels

    @property
    def gflops(self) -> float:
        """GFLOP/s at the median, as if each term were multiplied and added."""
        return 1e3 * self.times.tflops(self.way.seconds)

    @property
    def cublas_gflops(self) -> float:
        """GFLOP/s of cuBLAS."""
        return 1e3 * self.times.tflops(self.times.cublas)

    @property
    def error(self) -> float | None:
        """The error of so many levels. Schedules of as many add in the same order: it is theirs."""
        levels = self.errors.levels if self.errors else ()
        return levels[self.levels] if self.levels < len(levels) else None

    @property
    def cublas_error(self) -> float | None:
        """That of cuBLAS."""
        return self.errors.cublas if self.errors else None


def scores(record: StrassenRecord) -> list[StrassenScore]:
    """Return the fastest plan of each size and kind of leaves, among those with levels.

    They are of the latest run.
    """
    run = latest(record)
    found = []
    parts = [(STRASSEN, run.times, run.errors)]
    parts += [(strassen_over(one.arithmetic), one.times, one.errors) for one in run.inside]
    for arithmetic, measured, known in parts:
        for times in measured:
            ways = [way for way in times.ways if way.levels]
            alike = (one for one in known if one.size == times.size)
            errors = next((one for one in alike if one.inputs == _UNIFORM), None)
            if ways:
                best = min(ways, key=lambda way: statistics.median(way.seconds))
                found.append(
                    StrassenScore(record.gpu.name, run.date, arithmetic, times, best, errors)
                )
    return found


def strassen_over(arithmetic: str) -> str:
    """Return the name of Strassen's arithmetic with leaves of another, or of FP32."""
    return STRASSEN if arithmetic == "fp32" else f"{STRASSEN}+{arithmetic}"


def leveled(arithmetic: str, levels: int) -> str:
    """Return the name under which the errors of so many levels stand among those of kernels."""
    return f"{strassen_over(arithmetic)}:levels={levels}"


FEWER = Kind(StrassenRecord, "Run 'sgemm-lab strassen record' anew.", "fewer")
"""What ``sgemm-lab strassen record`` writes."""


def latest(record: StrassenRecord) -> StrassenRun:
    """Return the latest complete run, or the latest of all where none is."""
    return max(record.runs, key=lambda run: (run.complete, run.date))
