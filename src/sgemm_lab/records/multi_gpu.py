"""Records of several GPUs of one host: dataclasses of a file.

What measured them is ``multi_gpu/recorder.py`` in the repository's history until 2026-11-26.
"""

import statistics
from dataclasses import dataclass
from typing import Annotated

from sgemm_lab.records.gpu_record import (
    Count,
    Dated,
    Device,
    Name,
    NotNegative,
    OfSize,
    Samples,
    Whole,
)
from sgemm_lab.records.json_files import Kind
from sgemm_lab.records.schema import Rule

NCCL, COPY = "nccl", "copy"
"""What carries tiles: NCCL's kernels, or the copy engines."""
ONE_WAY, BOTH_WAYS, RING = "one way", "both ways", "ring"
PATTERNS = (ONE_WAY, BOTH_WAYS, RING)
"""Transfers of a link measurement: GPU 0 to GPU 1; both directions; each GPU to the next."""

Share = Annotated[float, Rule(lambda share: 0 <= share <= 1, "from 0 to 1")]


@dataclass(frozen=True)
class LinkCase:
    """Parameters of a transfer measurement."""

    carrier: Name
    """``NCCL`` or ``COPY``."""
    pattern: Annotated[str, Rule(lambda p: p in PATTERNS, f"one of {', '.join(PATTERNS)}")]
    gpus: Count
    bytes: Count
    """Of each transfer."""
    peer: bool = True
    """Whether peer access is enabled."""
    graph: bool = False
    """Whether a CUDA graph is replayed."""
    block_limit: Count | None = None
    """Maximum number of NCCL's blocks; None: NCCL's default."""


@dataclass(frozen=True)
class LinkTimes:
    """A measured transfer: seconds until the last one has finished."""

    case: LinkCase
    seconds: Samples

    @property
    def gbs(self) -> float:
        """Median GB/s of each transfer."""
        return self.case.bytes / statistics.median(self.seconds) / 1e9


@dataclass(frozen=True)
class Case(OfSize):
    """Parameters of a product measurement."""

    gpus: Count
    m: Count
    n: Count
    k: Count
    layout: Name
    inside: Name
    """The product on each GPU: "cublas" or "book"."""
    transport: Name
    """``NCCL`` or ``COPY``."""
    panels: Count = 1
    graph: bool = False
    """Whether the whole product is one CUDA graph."""
    block_limit: Count | None = None
    """Maximum number of NCCL's blocks per transfer; None: NCCL's default."""


@dataclass(frozen=True)
class ProductTimes:
    """A measured product. Seconds are wall time from the first GPU's start to the last one's end.

    The variants are interleaved, so that clock drift affects all of them.
    """

    case: Case
    overlap: Samples
    """Transfers overlapped with products."""
    worst_share: Share
    """Largest error of sampled rows over the rounding bound."""
    serial: Samples | None = None
    """Transfers and products without overlap."""
    products: Samples | None = None
    """Products without transfers."""
    replays: Count = 1
    """Sequential replays of the graph per sample; seconds are per replay."""
    alone: Samples | None = None
    """One GPU's cuBLAS call at the same local size: a GPU's rows and columns of C, and all of K."""

    @property
    def tflops(self) -> float:
        """Median TFLOP/s of all GPUs."""
        return self.case.flop / statistics.median(self.overlap) / 1e12


@dataclass(frozen=True)
class Piece:
    """A step of a plan on a GPU: "multiply" or "transfer", in seconds from the start."""

    gpu: Whole
    what: Name
    label: Name
    start: NotNegative
    end: NotNegative


@dataclass(frozen=True)
class Timeline:
    """Start and end of each step of one run; each GPU by its own clock."""

    case: Case
    overlap: bool
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class LibraryTimes:
    """A library's product of n³ on the same GPUs in FP32, without TF32."""

    library: Name
    version: str
    gpus: Count
    n: Count
    layout: Name
    """Distribution of A and B."""
    seconds: Samples

    @property
    def tflops(self) -> float:
        """Median TFLOP/s of all GPUs."""
        return 2 * self.n**3 / statistics.median(self.seconds) / 1e12


@dataclass(frozen=True)
class Failure:
    """A measurement that failed, and the reason in a sentence."""

    what: Name
    why: Name


@dataclass(frozen=True)
class MultiGpuRun(Dated):
    """One run on several GPUs."""

    gpus: Count
    """Maximum number of GPUs."""
    driver: str
    cuda: str
    cupy: str
    nccl: str
    package: str
    cublas_call: str
    complete: bool = False
    """Whether every part was tried; ``failures`` lists the measurements that failed."""
    links: tuple[LinkTimes, ...] = ()
    products: tuple[ProductTimes, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    libraries: tuple[LibraryTimes, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class MultiGpuRecord:
    """All runs on one GPU model."""

    gpu: Device
    runs: tuple[MultiGpuRun, ...]


MULTI_GPU_RECORDS = Kind(MultiGpuRecord, "multi_gpu")
