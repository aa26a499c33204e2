"""What a search for the fastest kernels found on a GPU: the form of its table, and the files.

``records/tuned/`` holds one file per GPU model. A file holds searches; a search holds a point for
each kernel that it measured at a size, cuBLAS beside it. Every point is written to the file before
the next is measured, so a search that is stopped goes on where it was.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder, locked, own_records, write_whole
from sgemm_lab.kernel import Size, book_kernel
from sgemm_lab.records.gpu_record import Count, Device, Name, OfSize, Taken
from sgemm_lab.records.json_files import Kind
from sgemm_lab.records.schema import FormError, Rule, decoded, encoded

Seconds = Annotated[float, Rule(lambda seconds: seconds > 0, "above 0")]


@dataclass(frozen=True)
class Point(OfSize):
    """One kernel at one size. Seconds are medians per launch, taken in turns with cuBLAS."""

    kernel: Name
    """With the constants that differ from its file's: "cluster_split:SPLIT=4"."""
    fingerprint: str
    """Which source was measured."""
    m: Count
    n: Count
    k: Count
    seconds: Seconds
    cublas_seconds: Seconds
    graph: bool
    """Whether both were replayed as CUDA graphs, which leaves launch gaps out."""
    bound_gflops: Annotated[float, Rule(lambda rate: rate > 0, "above 0")] | None = None
    """What the model of the search predicted as the most."""

    @property
    def gflops(self) -> float:
        """GFLOP/s at the median."""
        return self.flop / self.seconds / 1e9

    @property
    def share(self) -> float:
        """Speed over that of cuBLAS."""
        return self.cublas_seconds / self.seconds

    @property
    def is_todays(self) -> bool:
        """Whether the kernel's code is still what was measured."""
        kernel = book_kernel(self.kernel)
        return kernel is not None and kernel.fingerprint == self.fingerprint


@dataclass(frozen=True)
class Search(Taken):
    """One call of the command ``sgemm-lab tune``."""

    complete: bool
    """False if it was stopped, or its time was up."""
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Table:
    """All searches on one GPU model. Of several points of a kernel at a size the latest speaks."""

    gpu: Device
    searches: tuple[Search, ...]

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The latest point of each kernel at each size."""
        found = {(p.kernel, p.size): p for search in self.searches for p in search.points}
        return tuple(found.values())

    @cached_property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes that were searched, in the order in which they first were."""
        return tuple(dict.fromkeys(point.size for point in self.points))

    def at(self, size: Size) -> tuple[Point, ...]:
        """Return the points of a size, fastest first."""
        found = (point for point in self.points if point.size == size)
        return tuple(sorted(found, key=lambda point: point.seconds))


TABLES = Kind(Table, "Run 'sgemm-lab tune' anew.", "tuned", name="table", what="table", take="tune")
"""What ``sgemm-lab tune`` writes."""


class TableFile:
    """A table that a search adds to, point by point. The file is written whole each time."""

    def __init__(self, folder: Path, gpu: Device, search: Search) -> None:
        """Begin a search. ``folder`` is the one of records; nothing is written yet.

        Raises:
            LabError: the file that is there cannot be read, or is of another GPU.
        """
        self.path = TABLES.path(folder, gpu.name)
        self._gpu, self._search = gpu, search
        self._earlier: tuple[Search, ...] = ()
        self._seen: tuple[int, int] | None = None
        self._look()

    @property
    def table(self) -> Table:
        """What the file holds, with this search's points."""
        mine = (self._search,) if self._search.points else ()
        return Table(self._gpu, (*self._earlier, *mine))

    def add(self, point: Point) -> None:
        """Add a point and write the file.

        Raises:
            LabError: the file cannot be written, or another program put something else there.
        """
        self._search = replace(self._search, points=(*self._search.points, point))
        self._write()

    def end(self) -> None:
        """Mark the search as complete; one that measured nothing leaves no trace."""
        if self._search.points:
            self._search = replace(self._search, complete=True)
            self._write()

    def _write(self) -> None:
        with locked(self.path.parent):
            self._look()
            write_whole(self.path, _text(self.table))
            self._seen = _stamp(self.path)

    def _look(self) -> None:
        """Read the file if another search has written it since, so that none's points are lost."""
        if not self.path.exists() or _stamp(self.path) == self._seen:
            return
        found = TABLES.load(self.path)
        TABLES.expect_gpu(self.path, found.gpu, self._gpu)
        self._earlier = tuple(s for s in found.searches if s.date != self._search.date)
        self._seen = _stamp(self.path)


def load_tables(folder: Path | None = None) -> list[Table]:
    """Read every table of the book and of the reader, or of another folder of records.

    A GPU that has a table in both places speaks by the reader's.

    Raises:
        LabError: a file cannot be read.
    """
    folders = [folder] if folder else dict.fromkeys((data_folder("records"), own_records()))
    files = tuple(
        (path, *_stamp(path))
        for place in folders
        for path in sorted((place / TABLES.folder).glob("*.json"))
    )
    return list(_read_tables(files))


@lru_cache(maxsize=2)
def _read_tables(files: tuple[tuple[Path, int, int], ...]) -> tuple[Table, ...]:
    """Read these files, each with the time of its last change and its length: once."""
    tables = [TABLES.load(path) for path, _, _ in files]
    return tuple({table.gpu.name: table for table in tables}.values())


def nearest_table(gpu: Device, tables: Iterable[Table]) -> Table:
    """Return the table of this GPU, or else that of the GPU most like it.

    Alike are first GPUs of one compute capability, then those whose SMs, clock, memory bandwidth
    and L2 differ by the smallest factors.

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
        alike = gpu.compute_capability == other.compute_capability
        return gpu.name != other.name, not alike, sum(factors)

    return min(tables, key=distance)


def _sheet(gpu: Device) -> tuple[float, float, float, float]:
    bandwidth = gpu.memory_clock_mhz * gpu.memory_bus_bits
    return gpu.sms, gpu.max_clock_mhz, bandwidth, gpu.l2_bytes


def _stamp(path: Path) -> tuple[int, int]:
    """Return when a file was last changed, and its length."""
    about = path.stat()
    return about.st_mtime_ns, about.st_size


def _text(table: Table) -> str:
    """Return a table as JSON, a point per line."""
    searches = []
    for search in table.searches:
        head = json.dumps(encoded(replace(search, points=())))
        lines = ",\n".join(_line(point) for point in search.points)
        searches.append(head.replace('"points": []', f'"points": [\n{lines}\n]'))
    gpu = json.dumps(encoded(table.gpu))
    joined = ",\n".join(searches)
    return f'{{"format": {TABLES.number},\n"gpu": {gpu},\n"searches": [\n{joined}\n]}}\n'


@lru_cache(maxsize=65536)
def _line(point: Point) -> str:
    """Return a point as JSON, once it is known to fit the form."""
    data: dict[str, Any] = encoded(point)
    try:
        decoded(Point, data)
    except FormError as fault:
        raise LabError(f"A point of the search does not fit the form: {fault}.") from None
    return json.dumps(data)
