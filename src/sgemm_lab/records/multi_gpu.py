"""What several GPUs of one host measured: the form of a record, its file and its scores."""

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from sgemm_lab.records.gpu_record import Count, Dated, Device, Name, OfSize, Samples
from sgemm_lab.records.json_files import Kind, RunFile
from sgemm_lab.records.schema import Rule

ONE_WAY, BOTH_WAYS, RING = "one way", "both ways", "ring"
PATTERNS = (ONE_WAY, BOTH_WAYS, RING)
"""Who sends in a measurement of links: GPU 0 to GPU 1; both to each other; each to the next."""

Share = Annotated[float, Rule(lambda share: 0 <= share <= 1, "from 0 to 1")]
Instant = Annotated[float, Rule(lambda seconds: seconds >= 0, "0 or more")]


@dataclass(frozen=True)
class LinkCase:
    """A transfer that was to be measured."""

    carrier: Name
    """"nccl" or "copy"."""
    pattern: Annotated[str, Rule(lambda p: p in PATTERNS, f"one of {', '.join(PATTERNS)}")]
    gpus: Count
    bytes: Count
    """Of each transfer."""
    peer: bool = True
    """Whether the GPUs may reach each other's memory."""
    graph: bool = False
    """Whether a CUDA graph was replayed."""
    block_limit: Count | None = None
    """The most blocks that NCCL took; None: it chose."""


@dataclass(frozen=True)
class LinkTimes:
    """A transfer, measured: seconds until the last one is done."""

    case: LinkCase
    seconds: Samples

    @property
    def gbs(self) -> float:
        """GB/s of each transfer at the median."""
        return self.case.bytes / statistics.median(self.seconds) / 1e9


@dataclass(frozen=True)
class Case(OfSize):
    """A product that was to be measured."""

    gpus: Count
    m: Count
    n: Count
    k: Count
    layout: Name
    inside: Name
    """Whose product a GPU runs: "cublas" or "book"."""
    transport: Name
    """Who carries the tiles: "nccl" or "copy"."""
    panels: Count = 1
    graph: bool = False
    """Whether all of it was one CUDA graph."""
    block_limit: Count | None = None
    """The most blocks that NCCL took for a transfer; None: it chose."""

    @property
    def is_square(self) -> bool:
        """Whether M, N and K are equal."""
        return self.m == self.n == self.k


@dataclass(frozen=True)
class ProductTimes:
    """A product, measured. Seconds are wall time from the first GPU's start to the last one's end.

    The ways took turns, so that a clock that drifts drifts for all.
    """

    case: Case
    overlap: Samples
    """Products and transfers at once: the time that counts."""
    worst_share: Share
    """The largest error of sampled rows, as a share of what rounding allows."""
    serial: Samples | None = None
    """Products and transfers one after the other."""
    products: Samples | None = None
    """The same products without transfers."""
    replays: Count = 1
    """Replays of the graph in a sample, one after the other; seconds are of one."""
    alone: Samples | None = None
    """One GPU's cuBLAS call at the same local size: C's rows and columns of a GPU, and all of K."""

    @property
    def tflops(self) -> float:
        """TFLOP/s of all GPUs at the median."""
        return self.case.flop / statistics.median(self.overlap) / 1e12

    @property
    def efficiency(self) -> float | None:
        """Time of one GPU's cuBLAS call at the same local size over the time that counts."""
        return self.over_overlap(self.alone)

    @property
    def transfer_cost(self) -> float | None:
        """The time that counts over that of the same products without transfers."""
        share = self.over_overlap(self.products)
        return 1 / share if share else None

    def over_overlap(self, other: tuple[float, ...] | None) -> float | None:
        """Return the median of other samples over that of the time that counts."""
        return statistics.median(other) / statistics.median(self.overlap) if other else None


@dataclass(frozen=True)
class Piece:
    """A step of a plan on a GPU: "multiply" or "transfer", in seconds from its start."""

    gpu: Annotated[int, Rule(lambda gpu: gpu >= 0, "0 or more")]
    what: Name
    label: Name
    start: Instant
    end: Instant


@dataclass(frozen=True)
class Timeline:
    """When each step of one run began and ended; each GPU by its own clock."""

    case: Case
    overlap: bool
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class LibraryTimes:
    """Another engine's product of n³ on the same GPUs, FP32, without TF32."""

    library: Name
    version: str
    gpus: Count
    n: Count
    layout: Name
    """How A and B lay."""
    seconds: Samples

    @property
    def tflops(self) -> float:
        """TFLOP/s of all GPUs at the median."""
        return 2 * self.n**3 / statistics.median(self.seconds) / 1e12


@dataclass(frozen=True)
class Failure:
    """Something that could not be measured, and why, in a sentence."""

    what: Name
    why: Name


@dataclass(frozen=True)
class MultiGpuRun(Dated):
    """One run of the command ``sgemm-lab several record``."""

    gpus: Count
    """GPUs that took part, at most."""
    driver: str
    cuda: str
    cupy: str
    nccl: str
    package: str
    cublas_call: str
    complete: bool = False
    """Whether all parts were measured; those that could not be are in ``failures``."""
    links: tuple[LinkTimes, ...] = ()
    products: tuple[ProductTimes, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    libraries: tuple[LibraryTimes, ...] = ()
    failures: tuple[Failure, ...] = ()

    def is_like(self, other: "MultiGpuRun") -> bool:
        """Whether two runs had the same GPUs, driver and packages."""
        mine, its = (
            (r.gpus, r.driver, r.cuda, r.cupy, r.nccl, r.package, r.cublas_call)
            for r in (self, other)
        )
        return mine == its


@dataclass(frozen=True)
class MultiGpuRecord:
    """All runs on one GPU model."""

    gpu: Device
    runs: tuple[MultiGpuRun, ...]


Item = LinkTimes | ProductTimes | Timeline | LibraryTimes | Failure
"""What a run is made of."""

_FIELDS: dict[type, str] = {
    LinkTimes: "links",
    ProductTimes: "products",
    Timeline: "timelines",
    LibraryTimes: "libraries",
    Failure: "failures",
}


SEVERAL = Kind(MultiGpuRecord, "Run 'sgemm-lab several record' anew.", "several")
"""What ``sgemm-lab several record`` writes."""


class MultiGpuFile(RunFile[MultiGpuRun]):
    """A run on several GPUs that items are added to, or the latest like it, taken up again."""

    def __init__(self, folder: Path, gpu: Device, run: MultiGpuRun) -> None:
        """Begin a run, or go on with the latest that is like this one and not complete.

        Nothing is written yet. Failures of the earlier call are tried again.

        Args:
            folder: the folder of records.
            gpu: the GPUs' model.
            run: of nothing yet.

        Raises:
            LabError: the file that is there cannot be read, or is of another GPU.
        """
        super().__init__(SEVERAL, folder, gpu, run)
        for earlier in self.others():
            if not earlier.complete and earlier.is_like(run):
                self.run = replace(earlier, failures=())

    def add(self, item: Item) -> None:
        """Add an item and write the file.

        Raises:
            LabError: the item does not fit the form, or the file cannot be written.
        """
        name = _FIELDS[type(item)]
        self.put(**{name: (*getattr(self.run, name), item)})

    def end(self) -> None:
        """Mark the run as complete."""
        self.put(complete=True)


@dataclass(frozen=True)
class MultiGpuScore:
    """The fastest way of one layout at one size, and the run that it is from."""

    gpu: str
    run: MultiGpuRun
    times: ProductTimes


def scores(records: Iterable[MultiGpuRecord]) -> list[MultiGpuScore]:
    """Return the fastest square product by GPUs, inside, layout and size, of the latest run each.

    Products without a time of one GPU alone have no efficiency and are left out.
    """
    found: dict[tuple[str, int, str, str, int], MultiGpuScore] = {}
    for score in _all_scores(records):
        case = score.times.case
        key = (score.gpu, case.gpus, case.inside, case.layout, case.n)
        known = found.get(key)
        rank = (score.run.date, score.times.tflops)
        if known is None or (known.run.date, known.times.tflops) < rank:
            found[key] = score
    return [found[key] for key in sorted(found)]


def _all_scores(records: Iterable[MultiGpuRecord]) -> Iterator[MultiGpuScore]:
    for record in records:
        for run in record.runs:
            for times in run.products:
                if times.case.is_square and times.alone:
                    yield MultiGpuScore(record.gpu.name, run, times)
