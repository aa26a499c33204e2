"""Dispatch tables: the results of ``sgemm-lab tune``, one file per GPU model in ``records/tuned/``.

A file holds searches. A search holds one point per measured kernel and size, with the time of
cuBLAS. Each point is written before the next measurement, so an interrupted search can resume.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any

from sgemm_lab.catalogue import book_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder, locked, own_records, write_whole
from sgemm_lab.kernel import Size
from sgemm_lab.records.gpu_record import (
    Count,
    Device,
    Fingerprint,
    KernelName,
    OfSize,
    RunEnvironment,
)
from sgemm_lab.records.json_files import Kind, chapters_record_first
from sgemm_lab.records.schema import FormError, Rule, decode, encode

Seconds = Annotated[float, Rule(lambda seconds: seconds > 0, "above 0")]


@dataclass(frozen=True)
class Point(OfSize):
    """One kernel at one size. Seconds are medians per launch, interleaved with cuBLAS."""

    kernel: KernelName
    """With the constants that differ from its file: "cluster_split:SPLIT=4"."""
    fingerprint: Fingerprint
    """Of the measured source."""
    m: Count
    n: Count
    k: Count
    seconds: Seconds
    cublas_seconds: Seconds
    graph: bool
    """Whether both were replayed as CUDA graphs, which excludes launch gaps."""
    bound_gflops: Annotated[float, Rule(lambda rate: rate > 0, "above 0")] | None = None
    """Upper bound predicted by the model of the search."""

    @property
    def gflops(self) -> float:
        """Median GFLOP/s."""
        return self.flop / self.seconds / 1e9

    @property
    def share(self) -> float:
        """Speed relative to cuBLAS."""
        return self.cublas_seconds / self.seconds

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
class Table:
    """All searches on one GPU model. The latest point of a kernel at a size counts."""

    gpu: Device
    searches: tuple[Search, ...]

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


TABLES = Kind(Table, "tune", "tuned", noun="table")


class TableFile:
    """A table that grows point by point. Each change replaces the whole file."""

    def __init__(self, folder: Path, gpu: Device, search: Search) -> None:
        """Begin a search in a folder of records. Nothing is written yet.

        Raises:
            LabError: the existing file cannot be read, or is of another GPU.
        """
        self.path = TABLES.path(folder, gpu.name)
        self._gpu, self._search = gpu, search
        self._earlier: tuple[Search, ...] = ()
        self._read_state: tuple[int, int] | None = None
        self._reload()

    @property
    def table(self) -> Table:
        """The file's content, with the points of this search."""
        current = (self._search,) if self._search.points else ()
        return Table(self._gpu, (*self._earlier, *current))

    def add(self, point: Point) -> None:
        """Add a point and write the file.

        Raises:
            LabError: the file cannot be written, or is no longer a table of this GPU.
        """
        self._search = replace(self._search, points=(*self._search.points, point))
        self._write()

    def end(self) -> None:
        """Mark the search as complete; a search without points is not written."""
        if self._search.points:
            self._search = replace(self._search, complete=True)
            self._write()

    def _write(self) -> None:
        with locked(self.path.parent):
            self._reload()
            write_whole(self.path, _text(self.table))
            self._read_state = _state(self.path)

    def _reload(self) -> None:
        """Read the file if another process has written it since, so that no points are lost."""
        if not self.path.exists() or _state(self.path) == self._read_state:
            return
        found = TABLES.load(self.path)
        TABLES.expect_gpu(self.path, found.gpu, self._gpu)
        self._earlier = tuple(s for s in found.searches if s.date != self._search.date)
        self._read_state = _state(self.path)


def load_tables(folder: Path | None = None) -> list[Table]:
    """Read every table of the book and of the reader, or of another folder of records.

    The reader's table of a GPU replaces the book's.

    Raises:
        LabError: a file cannot be read.
    """
    folders = [folder] if folder else dict.fromkeys((data_folder("records"), own_records()))
    files = tuple(
        (path, *_state(path))
        for place in folders
        for path in chapters_record_first((place / TABLES.folder).glob("*.json"))
    )
    return list(_read_tables(files))


@lru_cache(maxsize=2)
def _read_tables(files: tuple[tuple[Path, int, int], ...]) -> tuple[Table, ...]:
    """Read files, given with modification time and length so that unchanged files are cached."""
    tables = [TABLES.load(path) for path, _, _ in files]
    return tuple({table.gpu.name: table for table in tables}.values())


def nearest_table(gpu: Device, tables: Iterable[Table]) -> Table:
    """Return the table of this GPU, or else of the most similar GPU.

    Similarity: equal compute capability first, then the smallest factors between the numbers of
    SMs, clocks, memory bandwidths and L2 sizes.

    Raises:
        LabError: there is no table.
    """
    tables = list(tables)
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


def _state(path: Path) -> tuple[int, int]:
    """Return a file's modification time and length."""
    about = path.stat()
    return about.st_mtime_ns, about.st_size


def _text(table: Table) -> str:
    """Return a table as JSON with one point per line."""
    searches = []
    for search in table.searches:
        head = json.dumps(encode(replace(search, points=())))
        lines = ",\n".join(_line(point) for point in search.points)
        searches.append(head.replace('"points": []', f'"points": [\n{lines}\n]'))
    gpu = json.dumps(encode(table.gpu))
    joined = ",\n".join(searches)
    return f'{{"format": {TABLES.number},\n"gpu": {gpu},\n"searches": [\n{joined}\n]}}\n'


@lru_cache(maxsize=65536)
def _line(point: Point) -> str:
    """Check a point and return it as JSON."""
    data: dict[str, Any] = encode(point)
    try:
        decode(Point, data)
    except FormError as fault:
        raise LabError(f"A point of the search is not valid: {fault}.") from None
    return json.dumps(data)
