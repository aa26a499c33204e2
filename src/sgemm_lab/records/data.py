"""The form of a record: what a GPU measured, with everything needed to judge the numbers.

Nothing here measures, compiles or reads a file, so whoever reads numbers loads no GPU module.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

CUBLAS = "cublas"
"""The name under which cuBLAS stands among kernels."""


@dataclass(frozen=True)
class Measurement:
    """Samples of one kernel at one size. Seconds are per launch."""

    kernel: str
    m: int
    n: int
    k: int
    launches: int
    """Launches in one sample."""
    seconds: tuple[float, ...]

    @property
    def flop(self) -> int:
        """FLOP of the product: a multiplication and an addition per term."""
        return 2 * self.m * self.n * self.k

    @property
    def gflops(self) -> float:
        """GFLOP/s at the median sample."""
        return self.flop / statistics.median(self.seconds) / 1e9


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

    benchmark: str
    parameter: int
    unit: str
    samples: tuple[float, ...]


@dataclass(frozen=True)
class Counters:
    """What the GPU counted in one launch, by the names in ``METRICS``."""

    kernel: str
    fingerprint: str
    m: int
    n: int
    k: int
    values: dict[str, float]


@dataclass(frozen=True)
class Device:
    """A GPU as its driver describes it. Clocks in MHz, sizes in bytes."""

    name: str
    compute_capability: str
    sms: int
    max_clock_mhz: float
    memory_clock_mhz: float
    memory_bus_bits: int
    l2_bytes: int
    shared_per_sm: int
    shared_per_block: int
    registers_per_sm: int


@dataclass(frozen=True)
class KernelSamples:
    """The samples of one kernel, or of cuBLAS, at one size. Seconds are per launch."""

    kernel: str
    fingerprint: str
    """Which source was measured (``fingerprint``); empty for cuBLAS."""
    m: int
    n: int
    k: int
    launches: int
    seconds: tuple[float, ...]

    @property
    def measurement(self) -> Measurement:
        """The samples as a measurement, which knows its GFLOP/s."""
        return Measurement(self.kernel, self.m, self.n, self.k, self.launches, self.seconds)


@dataclass(frozen=True)
class Run:
    """One run of the record command."""

    date: str
    driver: str
    cuda: str
    nvrtc: str
    cupy: str
    package: str
    cublas_call: str
    complete: bool
    """False if the run was stopped before its end."""
    measurements: tuple[KernelSamples, ...]
    readings: tuple[Reading, ...]
    counters: tuple[Counters, ...] = ()
    clock_mhz: Spread | None = None
    power_w: Spread | None = None
    temperature_c: Spread | None = None


@dataclass(frozen=True)
class Record:
    """All runs of one GPU model."""

    gpu: Device
    runs: tuple[Run, ...]
