"""Dataclasses of a record: the measurements of a GPU, with the conditions of each run.

This module imports no GPU code. ``records.schema`` reads, checks and writes files by these classes.
"""

import re
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any

from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.schema import Rule

CUBLAS = "cublas"

CUBLAS_MODES = {"fp32": CUBLAS, "tf32": "cublas_tf32", "fp16": "cublas_fp16"}
"""The names of cuBLAS by its math mode."""

MATMUL = "matmul"
"""The name of the dispatcher among kernels."""

UNITS = ("cycles", "µs", "GB/s", "GFLOP/s", "W", "MHz", "of the bound")

INPUTS = {
    "half": "uniform in ±0.5",
    "unit": "uniform in [0, 1]",
    "normal": "normal",
    "wide": "±0.5 · 2ˣ, x in ±20",
    "cancelling": "sums that cancel",
    "large": "uniform in ±2²⁰",
    "tiny": "A ±2⁻¹²¹, B ±2⁹⁹",
}
"""Input distributions of the error measurements, with their labels."""


def _matches(pattern: str, rule: str) -> Rule:
    return Rule(lambda text: re.fullmatch(pattern, text, re.A) is not None, rule)


_ABOVE_ZERO = Rule(lambda number: number > 0, "above 0")
_NOT_BELOW_ZERO = Rule(lambda number: number >= 0, "0 or more")
_NOT_EMPTY = Rule(lambda found: len(found) > 0, "not empty")

Name = Annotated[str, _NOT_EMPTY]
Count = Annotated[int, _ABOVE_ZERO]
Seconds = Annotated[float, _ABOVE_ZERO]
NotNegative = Annotated[float, _NOT_BELOW_ZERO]
Whole = Annotated[int, _NOT_BELOW_ZERO]
Samples = Annotated[tuple[Seconds, ...], _NOT_EMPTY]


def five_digits(number: float) -> float:
    """Round to five significant digits, as records do."""
    return float(f"{number:.5g}")


class OfSize:
    """Mixin for a class with the fields M, N and K."""

    m: int
    n: int
    k: int

    @property
    def size(self) -> Size:
        """M, N, K of the product."""
        return self.m, self.n, self.k

    @property
    def flop(self) -> int:
        """FLOP of the product: a multiplication and an addition per term."""
        return 2 * self.m * self.n * self.k


class TimedWithCublas(OfSize):
    """Mixin for a class with the fields M, N, K, ``seconds`` and ``cublas_seconds``."""

    seconds: float
    cublas_seconds: float

    @property
    def gflops(self) -> float:
        """Median GFLOP/s."""
        return self.flop / self.seconds / 1e9

    @property
    def share(self) -> float:
        """Speed relative to cuBLAS."""
        return self.cublas_seconds / self.seconds


@dataclass(frozen=True)
class Measurement(OfSize):
    """Samples of one kernel, or of cuBLAS, at one size. Seconds are per launch."""

    kernel: Name
    fingerprint: str
    """``Kernel.fingerprint`` of the measured source; empty for cuBLAS."""
    m: Count
    n: Count
    k: Count
    launches: Count
    """Launches in one sample."""
    seconds: Samples
    graph: bool | None = None
    """True if the launches of a sample were replayed as a CUDA graph."""
    picked: Name | None = None
    """The kernel that the dispatcher chose (``matmul`` only); the fingerprint is of its source."""
    error: NotNegative | None = None
    """‖C − A·B‖ / ‖A·B‖ over all elements, A·B in float64, inputs distributed as in the timing.
    None if it was not measured, or C holds NaN or infinity."""
    clock_mhz: Annotated[float, _ABOVE_ZERO] | None = None
    """Median over the samples of the mean SM clock during each, in MHz; None in older records."""

    @property
    def gflops(self) -> float:
        """Median GFLOP/s."""
        return self.flop / statistics.median(self.seconds) / 1e9

    @property
    def samples(self) -> tuple[float, ...]:
        """GFLOP/s of every sample, in the order taken."""
        return tuple(self.flop / seconds / 1e9 for seconds in self.seconds)


@dataclass(frozen=True)
class Spread:
    """Minimum, median and maximum of some readings."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, readings: Iterable[float]) -> "Spread | None":
        """Return the spread of readings, or None if there are none."""
        values = list(readings)
        return cls(min(values), statistics.median(values), max(values)) if values else None


@dataclass(frozen=True)
class Reading:
    """Samples of a microbenchmark at a parameter: footprint in bytes, stride, width, or 0."""

    benchmark: Name
    parameter: Whole
    unit: Annotated[str, Rule(lambda unit: unit in UNITS, f"one of {', '.join(UNITS)}")]
    samples: Samples

    @property
    def median(self) -> float:
        """Median sample."""
        return statistics.median(self.samples)


@dataclass(frozen=True)
class Counters(OfSize):
    """Hardware counters of one launch, by the names in ``METRICS``."""

    kernel: Name
    fingerprint: str
    m: Count
    n: Count
    k: Count
    values: dict[str, NotNegative]


@dataclass(frozen=True)
class Accuracy(OfSize):
    """Error of C against A·B in float64, for one input distribution and size."""

    kernel: Name
    fingerprint: str
    inputs: Annotated[str, Rule(lambda name: name in INPUTS, f"one of {', '.join(INPUTS)}")]
    m: Count
    n: Count
    k: Count
    lost: Whole
    """NaN or infinite elements of C; always errors, because A·B fits FP32 for all inputs here."""
    error: NotNegative | None = None
    """‖C − A·B‖ / ‖A·B‖ over all elements; None if ``lost`` is not 0."""
    largest: NotNegative | None = None
    """Largest error of an element over 2⁻²⁴·(|A|·|B|); None if ``lost`` is not 0."""


@dataclass(frozen=True)
class Device:
    """A GPU as its driver describes it. Clocks in MHz, sizes in bytes."""

    name: Name
    compute_capability: Annotated[str, _matches(r"\d+\.\d", "a version such as 9.0")]
    sms: Count
    max_clock_mhz: Annotated[float, _ABOVE_ZERO]
    memory_clock_mhz: NotNegative
    memory_bus_bits: Whole
    l2_bytes: Whole
    shared_per_sm: Count
    shared_per_block: Count
    registers_per_sm: Count


@dataclass(frozen=True)
class Dated:
    """A run with a start time."""

    date: Annotated[
        str,
        _matches(
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", "a date such as 2026-01-02T03:04:05Z"
        ),
    ]
    """UTC start time; with microseconds, so that runs that begin together differ."""


@dataclass(frozen=True)
class RunEnvironment(Dated):
    """Start time and software versions of a run on one GPU."""

    driver: str
    cuda: str
    nvrtc: str
    cupy: str
    package: str
    cublas_call: str

    def environment(self) -> dict[str, Any]:
        """Return start time and versions by name, for a record of another kind of this run."""
        return {field.name: getattr(self, field.name) for field in fields(RunEnvironment)}


@dataclass(frozen=True)
class Run(RunEnvironment):
    """One run of ``sgemm-lab record``."""

    complete: bool
    """False if the run was interrupted."""
    measurements: tuple[Measurement, ...]
    readings: tuple[Reading, ...]
    counters: tuple[Counters, ...] = ()
    accuracies: tuple[Accuracy, ...] | None = None
    """None if no errors were measured."""
    clock_mhz: Spread | None = None
    power_w: Spread | None = None
    temperature_c: Spread | None = None


@dataclass(frozen=True, kw_only=True)
class Score(Measurement):
    """One kernel at one size on one GPU, with cuBLAS in the same run. Speeds are medians."""

    device: Device
    run: Run
    cublas: Measurement

    @property
    def gpu(self) -> str:
        """The GPU's name."""
        return self.device.name

    @property
    def date(self) -> str:
        """Start time of the run."""
        return self.run.date

    @property
    def cublas_gflops(self) -> float:
        """GFLOP/s of cuBLAS."""
        return self.cublas.gflops

    @property
    def share(self) -> float:
        """Ratio to the speed of cuBLAS."""
        return self.gflops / self.cublas_gflops

    def library_gflops(self, arithmetic: str) -> float | None:
        """Return the GFLOP/s of cuBLAS in an arithmetic, in the same run; None if not measured.

        Three products ("3xtf32", "3xfp16") are compared with cuBLAS in FP32.
        """
        mode = CUBLAS_MODES.get(arithmetic, CUBLAS)
        library = (one for one in self.run.measurements if one.kernel == mode)
        return next((one.gflops for one in library if one.size == self.size), None)


@dataclass(frozen=True, kw_only=True)
class Counted(Counters):
    """Hardware counters of a launch with their run."""

    device: Device
    run: Run


@dataclass(frozen=True, kw_only=True)
class Read(Reading):
    """A reading of a microbenchmark with its run."""

    run: Run


def clock_mhz(device: Device, run: Run) -> float:
    """Return the median SM clock of a run under load in MHz, else the device's maximum."""
    return run.clock_mhz.median if run.clock_mhz else device.max_clock_mhz


@dataclass(frozen=True)
class Record:
    """All runs of one GPU model. Queries return the latest match."""

    gpu: Device
    runs: Annotated[tuple[Run, ...], _NOT_EMPTY]

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The latest score of each kernel, source and size."""
        # The dispatcher's choice may change from run to run; all its scores share one key.
        latest = {
            (s.kernel, "" if s.picked else s.fingerprint, s.size): s for s in self._all_scores()
        }
        return tuple(latest.values())

    def score(self, kernel: Kernel, size: Size) -> Score | None:
        """Return the latest score of this source of a kernel, or None."""
        return self._scores_by_kernel.get((kernel.name, kernel.fingerprint), {}).get(size)

    def counted(self, kernel: Kernel | str, size: Size) -> Counted | None:
        """Return the latest counters of this source of a kernel, or of cuBLAS by name, or None."""
        return self.launches(kernel).get(size)

    def launches(self, kernel: Kernel | str) -> dict[Size, Counted]:
        """Return the latest counters of this source of a kernel, or of cuBLAS by name, by size."""
        named = (kernel, "") if isinstance(kernel, str) else (kernel.name, kernel.fingerprint)
        return self._by_kernel.get(named, {})

    def readings(self, benchmark: str) -> dict[int, Read]:
        """Return the latest readings of a microbenchmark by parameter; empty if there are none."""
        return self._by_benchmark.get(benchmark, {})

    def library(self, arithmetic: str, size: Size) -> Measurement | None:
        """Return the latest measurement of cuBLAS in an arithmetic, or None."""
        name = CUBLAS_MODES.get(arithmetic)
        found = (m for run in self.runs for m in run.measurements if m.kernel == name)
        return {m.size: m for m in found}.get(size)

    def accuracy(
        self, kernel: Kernel | str, inputs: str, k: int, fingerprint: str = ""
    ) -> Accuracy | None:
        """Return the latest accuracy of this source of a kernel or of another product, or None.

        Args:
            kernel: a kernel, or the name of another product, such as one of ``CUBLAS_MODES``.
            inputs: one of ``INPUTS``.
            k: terms of a sum.
            fingerprint: of the code, for a product given by name.
        """
        if isinstance(kernel, str):
            return self._by_inputs.get((kernel, fingerprint, inputs, k))
        return self._by_inputs.get((kernel.name, kernel.fingerprint, inputs, k))

    @cached_property
    def _by_inputs(self) -> dict[tuple[str, str, str, int], Accuracy]:
        return {
            (one.kernel, one.fingerprint, one.inputs, one.k): one
            for run in self.runs
            for one in run.accuracies or ()
        }

    def scores_of(self, kernel: Kernel) -> tuple[Score, ...]:
        """Return the latest score of this source of a kernel at each size."""
        return tuple(self._scores_by_kernel.get((kernel.name, kernel.fingerprint), {}).values())

    @cached_property
    def accuracy_terms(self) -> frozenset[int]:
        """Values of K with a measured accuracy."""
        return frozenset(one.k for run in self.runs for one in run.accuracies or ())

    @cached_property
    def _scores_by_kernel(self) -> dict[tuple[str, str], dict[Size, Score]]:
        found: dict[tuple[str, str], dict[Size, Score]] = {}
        for score in self.scores:
            found.setdefault((score.kernel, score.fingerprint), {})[score.size] = score
        return found

    @cached_property
    def _by_kernel(self) -> dict[tuple[str, str], dict[Size, Counted]]:
        launches: dict[tuple[str, str], dict[Size, Counted]] = {}
        for run in self.runs:
            for found in run.counters:
                sizes = launches.setdefault((found.kernel, found.fingerprint), {})
                sizes[found.size] = Counted(**vars(found), device=self.gpu, run=run)
        return launches

    @cached_property
    def _by_benchmark(self) -> dict[str, dict[int, Read]]:
        found: dict[str, dict[int, Read]] = {}
        for run in self.runs:
            for reading in run.readings:
                by_parameter = found.setdefault(reading.benchmark, {})
                by_parameter[reading.parameter] = Read(**vars(reading), run=run)
        return found

    def _all_scores(self) -> Iterator[Score]:
        """Yield the scores of all runs, oldest first."""
        for run in self.runs:
            library = {found.size: found for found in run.measurements if found.kernel == CUBLAS}
            for found in run.measurements:
                if found.kernel not in CUBLAS_MODES.values() and found.size in library:
                    same = library[found.size]
                    yield Score(**vars(found), device=self.gpu, run=run, cublas=same)
