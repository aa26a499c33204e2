"""The form of a record: what a GPU measured, with everything needed to judge the numbers.

Nothing here measures, compiles or reads a file, so whoever reads numbers loads no GPU module.
The classes are the form of a file too: ``records.form`` reads, checks and writes it by them.
"""

import re
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.schema import Rule

CUBLAS = "cublas"
"""The name under which cuBLAS stands among kernels."""

CUBLAS_MODES = {"fp32": CUBLAS, "tf32": "cublas_tf32", "fp16": "cublas_fp16"}
"""Under which names cuBLAS stands, by the arithmetic that it was told to use."""

MATMUL = "matmul"
"""The name under which the dispatcher stands among kernels."""

UNITS = ("cycles", "GB/s", "GFLOP/s", "W", "MHz", "of the bound")
"""What a reading can be in."""


INPUTS = {
    "half": "uniform in ±0.5",
    "unit": "uniform in [0, 1]",
    "normal": "normal",
    "wide": "±0.5 · 2ˣ, x in ±20",
    "cancelling": "sums that cancel",
    "large": "uniform in ±2²⁰",
    "tiny": "A ±2⁻¹²¹, B ±2⁹⁹",
}
"""Classes of inputs at which errors are measured, in words."""


def _matches(pattern: str, words: str) -> Rule:
    return Rule(lambda text: re.fullmatch(pattern, text, re.A) is not None, words)


_ABOVE_ZERO = Rule(lambda number: number > 0, "above 0")
_NOT_BELOW_ZERO = Rule(lambda number: number >= 0, "0 or more")
_NOT_EMPTY = Rule(lambda found: len(found) > 0, "not empty")

Name = Annotated[str, _NOT_EMPTY]
Count = Annotated[int, _ABOVE_ZERO]
Samples = Annotated[tuple[Annotated[float, _ABOVE_ZERO], ...], _NOT_EMPTY]


class OfSize:
    """What there is of one size: a part of what has M, N and K among its fields."""

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


class BesideLibrary:
    """A speed beside that of cuBLAS in the same run: a part of the scores."""

    @property
    def size(self) -> Size:
        """M, N, K of the product."""
        raise NotImplementedError

    @property
    def gflops(self) -> float:
        """GFLOP/s at the median."""
        raise NotImplementedError

    @property
    def cublas_gflops(self) -> float:
        """GFLOP/s of cuBLAS."""
        raise NotImplementedError

    @property
    def m(self) -> int:
        """Rows of C."""
        return self.size[0]

    @property
    def n(self) -> int:
        """Columns of C."""
        return self.size[1]

    @property
    def k(self) -> int:
        """Terms of a sum."""
        return self.size[2]

    @property
    def share(self) -> float:
        """Its GFLOP/s over those of cuBLAS."""
        return self.gflops / self.cublas_gflops


@dataclass(frozen=True)
class Measurement(OfSize):
    """Samples of one kernel, or of cuBLAS, at one size. Seconds are per launch."""

    kernel: Name
    fingerprint: str
    """Which source was measured (``Kernel.fingerprint``); empty for cuBLAS."""
    m: Count
    n: Count
    k: Count
    launches: Count
    """Launches in one sample."""
    seconds: Samples
    graph: bool | None = None
    """True if the launches of a sample were replayed as a CUDA graph."""
    picked: str | None = None
    """Which kernel the dispatcher took; its is the fingerprint. None for all but ``matmul``."""
    error: Annotated[float, _NOT_BELOW_ZERO] | None = None
    """‖C − A·B‖ over ‖A·B‖ by all elements, A·B in float64, of inputs like those of the race. None
    where it was not measured, or C holds NaN or infinity."""

    @property
    def gflops(self) -> float:
        """GFLOP/s at the median sample."""
        return self.flop / statistics.median(self.seconds) / 1e9

    @property
    def samples(self) -> tuple[float, ...]:
        """GFLOP/s of every sample, in the order taken."""
        return tuple(self.flop / seconds / 1e9 for seconds in self.seconds)


@dataclass(frozen=True)
class Spread:
    """The smallest, the middle and the largest of a row of readings."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, readings: Iterable[float]) -> "Spread | None":
        """Return the spread of some readings, or None if there are none."""
        values = list(readings)
        return cls(min(values), statistics.median(values), max(values)) if values else None


@dataclass(frozen=True)
class Reading:
    """The samples of one benchmark at one parameter: bytes touched, a stride, a width, or 0."""

    benchmark: Name
    parameter: Annotated[int, _NOT_BELOW_ZERO]
    unit: Annotated[str, Rule(lambda unit: unit in UNITS, f"one of {', '.join(UNITS)}")]
    samples: Samples

    @property
    def median(self) -> float:
        """The middle sample."""
        return statistics.median(self.samples)


@dataclass(frozen=True)
class Counters(OfSize):
    """What the GPU counted in one launch, by the names in ``METRICS``."""

    kernel: Name
    fingerprint: str
    m: Count
    n: Count
    k: Count
    values: dict[str, Annotated[float, _NOT_BELOW_ZERO]]


@dataclass(frozen=True)
class Accuracy(OfSize):
    """How far off C was from A·B in float64, at one class of inputs and one size."""

    kernel: Name
    fingerprint: str
    inputs: Annotated[str, Rule(lambda name: name in INPUTS, f"one of {', '.join(INPUTS)}")]
    m: Count
    n: Count
    k: Count
    lost: Annotated[int, _NOT_BELOW_ZERO]
    """Elements of C that are NaN or infinite. No such is right: A·B fits FP32 in all classes."""
    error: Annotated[float, _NOT_BELOW_ZERO] | None = None
    """‖C − A·B‖ over ‖A·B‖, all elements; None where some are lost."""
    largest: Annotated[float, _NOT_BELOW_ZERO] | None = None
    """The largest error of an element as a share of 2⁻²⁴·(|A|·|B|); None where some are lost."""


@dataclass(frozen=True)
class Device:
    """A GPU as its driver describes it. Clocks in MHz, sizes in bytes."""

    name: Name
    compute_capability: Annotated[str, _matches(r"\d+\.\d", "a version such as 9.0")]
    sms: Count
    max_clock_mhz: Annotated[float, _ABOVE_ZERO]
    memory_clock_mhz: Annotated[float, _NOT_BELOW_ZERO]
    memory_bus_bits: Annotated[int, _NOT_BELOW_ZERO]
    l2_bytes: Annotated[int, _NOT_BELOW_ZERO]
    shared_per_sm: Count
    shared_per_block: Count
    registers_per_sm: Count


@dataclass(frozen=True)
class Dated:
    """What a run begins with."""

    date: Annotated[
        str, _matches(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "a date such as 2026-01-02T03:04:05Z")
    ]
    """When it was taken."""


@dataclass(frozen=True)
class Taken(Dated):
    """When a run was taken on one GPU, and with what."""

    driver: str
    cuda: str
    nvrtc: str
    cupy: str
    package: str
    cublas_call: str


@dataclass(frozen=True)
class Run(Taken):
    """One run of the record command."""

    complete: bool
    """False if the run was stopped before its end."""
    measurements: tuple[Measurement, ...]
    readings: tuple[Reading, ...]
    counters: tuple[Counters, ...] = ()
    accuracies: tuple[Accuracy, ...] | None = None
    """None where no errors were measured."""
    clock_mhz: Spread | None = None
    power_w: Spread | None = None
    temperature_c: Spread | None = None


@dataclass(frozen=True)
class Score(BesideLibrary):
    """One kernel at one size on one GPU, beside cuBLAS in the same run. Speeds are medians."""

    device: Device
    run: Run
    measurement: Measurement
    cublas: Measurement

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.measurement.kernel

    @property
    def fingerprint(self) -> str:
        """Which source was measured."""
        return self.measurement.fingerprint

    @property
    def picked(self) -> str | None:
        """Which kernel the dispatcher took; None for all but ``matmul``."""
        return self.measurement.picked

    @property
    def gpu(self) -> str:
        """The GPU's name."""
        return self.device.name

    @property
    def size(self) -> Size:
        """M, N, K of the product."""
        return self.measurement.size

    @property
    def gflops(self) -> float:
        """The kernel's GFLOP/s."""
        return self.measurement.gflops

    @property
    def cublas_gflops(self) -> float:
        """GFLOP/s of cuBLAS."""
        return self.cublas.gflops

    @property
    def error(self) -> float | None:
        """How far off the kernel's C was (``Measurement.error``)."""
        return self.measurement.error

    @property
    def cublas_error(self) -> float | None:
        """How far off that of cuBLAS was."""
        return self.cublas.error

    @property
    def date(self) -> str:
        """When the run was taken."""
        return self.run.date

    @property
    def samples(self) -> tuple[float, ...]:
        """GFLOP/s of every sample of the kernel."""
        return self.measurement.samples

    @property
    def clock_mhz(self) -> float:
        """The SM clock of the run, as ``clock_mhz`` tells it."""
        return clock_mhz(self.device, self.run)


@dataclass(frozen=True)
class Counted:
    """What the GPU counted in one launch, and the run in which it did."""

    device: Device
    run: Run
    counters: Counters

    @property
    def values(self) -> dict[str, float]:
        """The counts by name."""
        return self.counters.values

    @property
    def fingerprint(self) -> str:
        """Which source was counted."""
        return self.counters.fingerprint


@dataclass(frozen=True)
class Read:
    """A reading of a benchmark, and the run in which it was taken."""

    run: Run
    reading: Reading

    @property
    def samples(self) -> tuple[float, ...]:
        """The samples, in the order taken."""
        return self.reading.samples

    @property
    def median(self) -> float:
        """The middle sample."""
        return self.reading.median


def clock_mhz(device: Device, run: Run) -> float:
    """Return the SM clock that a run saw under load; else the highest that the device names."""
    return run.clock_mhz.median if run.clock_mhz else device.max_clock_mhz


@dataclass(frozen=True)
class Record:
    """All runs of one GPU model. Of several runs the latest speaks."""

    gpu: Device
    runs: Annotated[tuple[Run, ...], _NOT_EMPTY]

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The latest score of each kernel, source and size."""
        # What the dispatcher takes may change from run to run; it is one contender all the same.
        latest = {
            (s.kernel, "" if s.picked else s.fingerprint, s.size): s for s in self._all_scores()
        }
        return tuple(latest.values())

    def score(self, kernel: Kernel, size: Size) -> Score | None:
        """Return the latest score of this source of a kernel, or None."""
        return self._by_source.get((kernel.name, kernel.fingerprint, size))

    def counted(self, kernel: Kernel, size: Size) -> Counted | None:
        """Return the latest counters of this source of a kernel, or None."""
        return self.launches(kernel).get(size)

    def launches(self, kernel: Kernel) -> dict[Size, Counted]:
        """Return the latest counters of this source of a kernel at every size that has some."""
        return self._by_kernel.get((kernel.name, kernel.fingerprint), {})

    def readings(self, benchmark: str) -> dict[int, Read]:
        """Return the latest readings of one benchmark by parameter; empty where there are none."""
        return self._by_benchmark.get(benchmark, {})

    def library(self, arithmetic: str, size: Size) -> Measurement | None:
        """Return the latest measurement of cuBLAS in an arithmetic; None where there is none."""
        name = CUBLAS_MODES.get(arithmetic)
        found = (m for run in self.runs for m in run.measurements if m.kernel == name)
        return {m.size: m for m in found}.get(size)

    def accuracy(
        self, kernel: Kernel | str, inputs: str, k: int, fingerprint: str = ""
    ) -> Accuracy | None:
        """Return the latest accuracy of this source of a kernel, or of another product, or None.

        Args:
            kernel: a kernel, or the name of what is none, such as one of ``CUBLAS_MODES``.
            inputs: one of ``INPUTS``.
            k: terms of a sum.
            fingerprint: of the code that what is no kernel is made of, where it has one.
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
        """Return the latest scores of this source of a kernel, one of each size."""
        return self._scores_by_kernel.get((kernel.name, kernel.fingerprint), ())

    @cached_property
    def accuracy_terms(self) -> frozenset[int]:
        """How many terms the sums had of which some accuracy is known."""
        return frozenset(one.k for run in self.runs for one in run.accuracies or ())

    @cached_property
    def _scores_by_kernel(self) -> dict[tuple[str, str], tuple[Score, ...]]:
        found: dict[tuple[str, str], tuple[Score, ...]] = {}
        for score in self.scores:
            of = (score.kernel, score.fingerprint)
            found[of] = (*found.get(of, ()), score)
        return found

    @cached_property
    def _by_source(self) -> dict[tuple[str, str, Size], Score]:
        return {(score.kernel, score.fingerprint, score.size): score for score in self.scores}

    @cached_property
    def _by_kernel(self) -> dict[tuple[str, str], dict[Size, Counted]]:
        launches: dict[tuple[str, str], dict[Size, Counted]] = {}
        for run in self.runs:
            for found in run.counters:
                sizes = launches.setdefault((found.kernel, found.fingerprint), {})
                sizes[found.size] = Counted(self.gpu, run, found)
        return launches

    @cached_property
    def _by_benchmark(self) -> dict[str, dict[int, Read]]:
        found: dict[str, dict[int, Read]] = {}
        for run in self.runs:
            for reading in run.readings:
                found.setdefault(reading.benchmark, {})[reading.parameter] = Read(run, reading)
        return found

    def _all_scores(self) -> Iterator[Score]:
        """Yield the scores of every run, earlier runs first."""
        for run in self.runs:
            library = {found.size: found for found in run.measurements if found.kernel == CUBLAS}
            for found in run.measurements:
                if found.kernel not in CUBLAS_MODES.values() and found.size in library:
                    yield Score(self.gpu, run, found, library[found.size])
