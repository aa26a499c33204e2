"""Cases of a record of several GPUs: transfers and products, most important first.

Cases with the same process settings form a group. An interrupted run has the first groups.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sgemm_lab.multi_gpu.engine import COPY, NCCL
from sgemm_lab.multi_gpu.measure import LINK, PRODUCT, TIMELINE
from sgemm_lab.multi_gpu.single_gpu import BOOK, CUBLAS
from sgemm_lab.records.multi_gpu import BOTH_WAYS, ONE_WAY, RING, Case, LinkCase, MultiGpuRun
from sgemm_lab.records.schema import encode

SIZES = (8192, 16384, 32768)
SMALL_SIZES = (512, 1024, 2048, 4096)
"""Sizes measured as CUDA graphs, on one GPU and on more."""
WEAK_SIZES = (4096, 8192, 16384)
BLOCK_LIMITS = (1, 2, 8)
"""Further limits of NCCL's blocks, in addition to ``FEW_BLOCKS`` and the default."""
FEW_BLOCKS = 4
"""With this limit transfers are slower but still hidden, and the product is faster."""
MIDDLE_SIZE = 8192
"""Size of timelines and block limits, and the largest that is also measured as CUDA graphs."""
LARGEST_COMPARED = 16384
"""Largest size for slower variants: other layouts, and NCCL with all its blocks."""
LINK_BYTES = tuple(2**power for power in (12, 16, 20, 22, 24, 26, 28, 30))

PARTS = (
    "products", "nccl", "links", "small", "book", "timelines", "compared", "weak", "blocks",
)  # fmt: skip
"""The parts of a record, in the order of measurement."""


@dataclass(frozen=True)
class Request:
    """A request to ``measure`` for one measurement."""

    do: str
    case: Case | LinkCase
    overlap: bool = True

    @property
    def label(self) -> str:
        """The request as text, for progress lines."""
        fields = self.to_json()["case"]
        text = ", ".join(f"{name} {value}" for name, value in fields.items() if value is not False)
        return f"{self.do}: {text}" + ("" if self.overlap else ", in series")

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON data."""
        return {"do": self.do, "case": encode(self.case), "overlap": self.overlap}

    def is_in(self, run: MultiGpuRun) -> bool:
        """Whether a run has this measurement."""
        if self.do == PRODUCT:
            return any(found.case == self.case for found in run.products)
        if self.do == LINK:
            return any(found.case == self.case for found in run.links)
        return any((t.case, t.overlap) == (self.case, self.overlap) for t in run.timelines)


@dataclass
class Group:
    """Requests for one process."""

    requests: list[Request] = field(default_factory=list)
    block_limit: int | None = None


def groups(gpus: int, sizes: Sequence[int], parts: Sequence[str] = PARTS) -> Iterator[Group]:
    """Yield the groups of a record, the most important first.

    Args:
        gpus: 2 or more.
        sizes: of the large products, n of n³.
        parts: some of ``PARTS``.
    """
    makers: dict[str, Callable[[int, Sequence[int]], Iterator[Group]]] = {
        "products": partial(_fastest, transport=COPY, limit=None),
        "nccl": partial(_fastest, transport=NCCL, limit=FEW_BLOCKS),
        "compared": _compared,
        "small": _small,
        "links": _links,
        "book": _book,
        "timelines": _timelines,
        "weak": _weak,
        "blocks": _blocks,
    }
    for part in PARTS:
        if part in parts:
            for group in makers[part](gpus, sizes):
                if group.requests:
                    yield group


def layouts(gpus: int) -> tuple[str, ...]:
    """Return the layouts for a number of GPUs, the fastest with cuBLAS first."""
    square = gpus > 1 and math.isqrt(gpus) ** 2 == gpus
    return ("cannon", "rows") if square else ("rows",)


def _cube(n: int, gpus: int, layout: str, transport: str, **more: Any) -> Case:
    given = {"inside": CUBLAS, **more}
    return Case(gpus, n, n, n, layout, transport=transport, **given)


def _group(cases: Iterable[Case | LinkCase], block_limit: int | None = None) -> Group:
    requests = [Request(LINK if isinstance(case, LinkCase) else PRODUCT, case) for case in cases]
    return Group(requests, block_limit)


def _fastest(gpus: int, sizes: Sequence[int], transport: str, limit: int | None) -> Iterator[Group]:
    """The fastest layout, launched and as CUDA graphs."""
    best = layouts(gpus)[0]
    yield _group(
        (
            _cube(n, gpus, best, transport, graph=graph, block_limit=limit)
            for graph in (False, True)
            for n in sizes
            if not graph or n <= MIDDLE_SIZE
        ),
        limit,
    )


def _compared(gpus: int, sizes: Sequence[int]) -> Iterator[Group]:
    """Slower variants: NCCL with all its blocks, and other layouts."""
    best, *others = layouts(gpus)
    for layout, transport in ((best, NCCL), *((other, COPY) for other in (*others, "summa"))):
        yield _group(_cube(n, gpus, layout, transport) for n in sizes if n <= LARGEST_COMPARED)


def _small(gpus: int, _sizes: Sequence[int]) -> Iterator[Group]:
    numbers = sorted({1, 2, gpus})
    for transport, inside in ((COPY, CUBLAS), (NCCL, CUBLAS), (COPY, BOOK)):
        cases = [
            _cube(n, number, layout, transport, inside=inside, graph=True)
            for number in numbers
            for layout in layouts(number)
            for n in SMALL_SIZES
            if number > 1 or transport == COPY
        ]
        yield _group(cases)


def _links(gpus: int, _sizes: Sequence[int]) -> Iterator[Group]:
    patterns = {ONE_WAY: 2, BOTH_WAYS: 2} | ({RING: gpus} if gpus > 2 else {})
    for carrier, limit in ((COPY, None), (NCCL, None), (NCCL, FEW_BLOCKS)):
        cases = [
            LinkCase(carrier, pattern, number, count, block_limit=limit)
            for pattern, number in patterns.items()
            for count in LINK_BYTES
        ]
        yield _group(cases, limit)
    # In a separate process, because peer access cannot be disabled again.
    far = [LinkCase(COPY, ONE_WAY, 2, count, peer=False) for count in LINK_BYTES[2::2]]
    yield _group(far)


def _book(gpus: int, sizes: Sequence[int]) -> Iterator[Group]:
    for layout in reversed(layouts(gpus)):
        largest = max(sizes) if layout == "rows" else LARGEST_COMPARED
        cases = [_cube(n, gpus, layout, COPY, inside=BOOK) for n in sizes if n <= largest]
        yield _group(cases)


def _timelines(gpus: int, _sizes: Sequence[int]) -> Iterator[Group]:
    for transport in (COPY, NCCL):
        cases = [_cube(MIDDLE_SIZE, gpus, layout, transport) for layout in layouts(gpus)]
        yield Group([Request(TIMELINE, c, overlap) for c in cases for overlap in (True, False)])


def _weak(gpus: int, _sizes: Sequence[int]) -> Iterator[Group]:
    yield _group(
        Case(number, number * n, n, n, "rows", CUBLAS, COPY)
        for number in sorted({1, 2, gpus})
        for n in WEAK_SIZES
    )


def _blocks(gpus: int, _sizes: Sequence[int]) -> Iterator[Group]:
    for limit in BLOCK_LIMITS:
        case = _cube(MIDDLE_SIZE, gpus, layouts(gpus)[0], NCCL, block_limit=limit)
        yield _group([case], limit)
