"""Dispatch tables: the results of ``sgemm-lab tune``, one file per GPU model in ``records/tuned/``.

A file holds searches, and the model of time that was fitted to the latest one. A search holds one
point per measured kernel and size, with the time of cuBLAS; of shapes drawn for the fit it holds
none.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from sgemm_lab.catalogue import book_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder, own_records
from sgemm_lab.kernel import Size
from sgemm_lab.records.gpu_record import (
    Count,
    Device,
    Name,
    NotNegative,
    OfSize,
    RunEnvironment,
    Seconds,
    TimedWithCublas,
)
from sgemm_lab.records.json_files import Kind
from sgemm_lab.records.schema import Rule

Coefficients = tuple[NotNegative, ...]


@dataclass(frozen=True)
class Point(TimedWithCublas):
    """One kernel at one size. Seconds are medians per launch, interleaved with cuBLAS."""

    kernel: Name
    """With the constants that differ from its file: "cluster_split:SPLIT=4"."""
    fingerprint: str
    """Of the measured source."""
    m: Count
    n: Count
    k: Count
    seconds: Seconds
    cublas_seconds: Seconds
    graph: bool
    """Whether both were replayed as CUDA graphs, which excludes launch gaps."""
    bound_gflops: Seconds | None = None
    """Upper bound predicted by the model of the search."""

    @property
    def is_current(self) -> bool:
        """Whether the kernel's source is unchanged since the measurement."""
        kernel = book_kernel(self.kernel)
        return kernel is not None and kernel.fingerprint == self.fingerprint


@dataclass(frozen=True)
class Search(RunEnvironment):
    """One run of ``sgemm-lab tune``."""

    complete: bool
    """False if it was interrupted or reached its time limit."""
    points: tuple[Point, ...]


@dataclass(frozen=True)
class TimeModelFit:
    """The fitted time of one kernel: seconds per unit of each term of ``gemm.dispatch.model``."""

    kernel: Name
    fingerprint: str
    """Of the measured source."""
    resident: Count
    """Blocks on an SM."""
    shapes: Count
    """At which it was measured."""
    error: NotNegative
    """Median of the relative errors at them."""
    aligned: Coefficients
    """For matrices whose rows float4 can read."""
    other: Coefficients
    """For other matrices."""
    clusters: Count | None = None
    """Of a kernel with clusters: how many run at a time with one block on each SM."""


@dataclass(frozen=True)
class LibraryShape(OfSize):
    """How cuBLAS compares at one shape of a ``tune`` with what the model promises there."""

    m: Count
    n: Count
    k: Count
    ratio: Seconds
    """Measured time of cuBLAS over the time that the model predicts for its first choice."""


@dataclass(frozen=True)
class Model(RunEnvironment):
    """The model of time that was fitted in one run of ``sgemm-lab tune``."""

    shapes: Count
    """Measured ones."""
    fits: Annotated[tuple[TimeModelFit, ...], Rule(bool, "a list that is not empty")]
    library: tuple[LibraryShape, ...] = ()
    """The measured shapes; empty in older tables."""


@dataclass(frozen=True)
class DrawnShape(TimedWithCublas):
    """The dispatcher at one drawn shape. Seconds are medians per launch, measured in turns."""

    m: Count
    n: Count
    k: Count
    kernel: Name
    """That it picked, or "cublas"."""
    seconds: Seconds
    cublas_seconds: Seconds
    predicted_seconds: Seconds | None = None
    """By the model."""
    best: Name | None = None
    """The fastest candidate; None if candidates were not measured."""
    best_seconds: Seconds | None = None
    tune: str | None = None
    """The mode of ``first_use.MODES``; None: the kernel is the model's."""
    cost: Seconds | None = None
    """Seconds that tuning on first use took, once."""

    @property
    def share_of_best(self) -> float | None:
        """Speed relative to the fastest candidate."""
        return self.best_seconds / self.seconds if self.best_seconds else None


@dataclass(frozen=True)
class DrawnShapes(RunEnvironment):
    """One run of ``sgemm-lab shapes --drawn``: shapes that no fit has seen."""

    seed: int
    shapes: Annotated[tuple[DrawnShape, ...], Rule(bool, "a list that is not empty")]
    """As the model picks."""
    tuned: tuple[DrawnShape, ...] = ()
    """The same shapes, in other modes than "model"."""


@dataclass(frozen=True)
class Table:
    """All searches on one GPU model. The latest point of a kernel at a size counts."""

    gpu: Device
    searches: tuple[Search, ...]
    model: Model | None = None
    """None: the model of the most similar GPU serves."""
    drawn: DrawnShapes | None = None
    """The latest run at drawn shapes."""

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The latest point of each kernel at each size."""
        found = {(p.kernel, p.size): p for search in self.searches for p in search.points}
        return tuple(found.values())

    @cached_property
    def sizes(self) -> tuple[Size, ...]:
        """The searched sizes, in order of their first search."""
        return tuple(dict.fromkeys(point.size for point in self.points))

    def at(self, size: Size) -> tuple[Point, ...]:
        """Return the points of a size, fastest first."""
        found = (point for point in self.points if point.size == size)
        return tuple(sorted(found, key=lambda point: point.seconds))


TABLES = Kind(Table, "tuned", noun="table")


def load_tables() -> list[Table]:
    """Read the tables of the book and of the reader, whose table of a GPU replaces the book's."""
    places = dict.fromkeys((data_folder("records"), own_records()))
    tables = [table for place in places for table in TABLES.load_all(place)]
    return list({table.gpu.name: table for table in tables}.values())


def nearest_table(gpu: Device, tables: Iterable[Table]) -> Table:
    """Return the table with a model of this GPU, or else of the most similar GPU.

    Similarity: equal compute capability first, then the smallest factors between the numbers of
    SMs, clocks, memory bandwidths and L2 sizes.
    """
    tables = [table for table in tables if table.model]
    if not tables:
        raise LabError(
            "There is no table of tuned kernels. Make one with 'sgemm-lab tune' on a GPU."
        )

    def distance(table: Table) -> tuple[bool, bool, float]:
        other = table.gpu
        pairs = zip(_sheet(gpu), _sheet(other), strict=True)
        factors = [abs(math.log(one / two)) for one, two in pairs if one > 0 and two > 0]
        other_capability = gpu.compute_capability != other.compute_capability
        return gpu.name != other.name, other_capability, sum(factors)

    return min(tables, key=distance)


def _sheet(gpu: Device) -> tuple[float, float, float, float]:
    bandwidth = gpu.memory_clock_mhz * gpu.memory_bus_bits
    return gpu.sms, gpu.max_clock_mhz, bandwidth, gpu.l2_bytes
