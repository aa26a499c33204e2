"""Records of FP32 products of other libraries and of ``matmul``: one file per GPU model."""

from dataclasses import dataclass

from sgemm_lab.records.gpu_record import (
    CUBLAS,
    Count,
    Device,
    Name,
    OfSize,
    RunEnvironment,
    Seconds,
)
from sgemm_lab.records.json_files import Kind


@dataclass(frozen=True)
class ComparedShape(OfSize):
    """All products at one shape: medians per launch in seconds, by name, measured in turns."""

    m: Count
    n: Count
    k: Count
    seconds: dict[Name, Seconds]

    def gflops(self, name: str) -> float:
        """GFLOP/s of one of the products."""
        return self.flop / self.seconds[name] / 1e9

    def share(self, name: str) -> float:
        """Speed of one of the products relative to cuBLAS."""
        return self.seconds[CUBLAS] / self.seconds[name]


@dataclass(frozen=True)
class Comparison(RunEnvironment):
    """The latest run of ``sgemm-lab other-libraries`` on a GPU model."""

    gpu: Device
    seed: int
    """Of the drawn shapes."""
    versions: dict[Name, str]
    """Of the libraries, by the name of their product."""
    squares: tuple[ComparedShape, ...]
    drawn: tuple[ComparedShape, ...]
    forty: tuple[ComparedShape, ...] = ()
    """At ``FORTY_SHAPES``; empty in runs that did not measure them."""


COMPARISONS = Kind(Comparison, "other_libraries")
