"""Query the records of several GPUs, and predict times of products from their links."""

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.layouts import make_plan
from sgemm_lab.multi_gpu.model import Link, seconds
from sgemm_lab.multi_gpu.plan import Plan
from sgemm_lab.records.multi_gpu import (
    BOTH_WAYS,
    COPY,
    MULTI_GPU_RECORDS,
    NCCL,
    RING,
    Case,
    LibraryTimes,
    LinkCase,
    MultiGpuRecord,
    MultiGpuRun,
    ProductTimes,
    Timeline,
)
from sgemm_lab.text import plural


@dataclass(frozen=True)
class RecordQueries:
    """Queries on the record of one GPU model. What was not measured raises a LabError."""

    record: MultiGpuRecord

    @property
    def runs(self) -> list[MultiGpuRun]:
        """All runs, latest first."""
        return sorted(self.record.runs, key=lambda run: run.date, reverse=True)

    @property
    def day(self) -> str:
        """The day of the latest run that measured links."""
        return next(run.date for run in self.runs if run.links)[:10]

    def product(self, gpus: int, n: int, layout: str = "rows", **fields: Any) -> ProductTimes:
        """Return the latest times of n³ on some GPUs.

        Args:
            gpus: number of GPUs.
            n: M, N and K.
            layout: one of ``layouts.LAYOUTS``.
            fields: others of ``Case``, such as ``graph=True``; by default cuBLAS multiplies and
                copy engines carry the tiles, launched.
        """
        given = {"m": n, "inside": "cublas", "transport": COPY, **fields}
        case = Case(gpus=gpus, n=n, k=n, layout=layout, **given)
        for run in self.runs:
            for times in run.products:
                if times.case == case:
                    return times
        raise LabError(
            f"The product of {case.m}×{n}×{n} on {plural(gpus, 'GPU')} by {layout}, {case.inside} "
            f"inside and carried by {case.transport}, is not in the record of "
            f"{self.record.gpu.name}."
        )

    def products(self, **wanted: object) -> list[ProductTimes]:
        """Return the latest times of every case with the given fields.

        Args:
            wanted: fields of ``Case``, such as ``gpus=4, n=8192``.
        """
        found: dict[Case, ProductTimes] = {}
        for run in self.runs:
            for times in run.products:
                if all(getattr(times.case, name) == value for name, value in wanted.items()):
                    found.setdefault(times.case, times)
        return list(found.values())

    def link(self, carrier: str = COPY, gpus: int = 2, block_limit: int | None = None) -> Link:
        """Fit a link to the latest measured transfers."""
        with_links = [run for run in self.runs if run.links]
        if not with_links:
            raise LabError(f"No link is in the record of {self.record.gpu.name}.")
        return fitted_link(with_links[0], carrier, gpus, block_limit)

    def without_peer_access(self) -> tuple[float, float]:
        """Return GB/s of the largest copy with and without peer access."""
        far = [found for run in self.runs for found in run.links if not found.case.peer]
        if not far:
            raise LabError("Copies without peer access are not in the record.")
        slow = max(far, key=lambda found: found.case.bytes)
        fast = [
            found
            for run in self.runs
            for found in run.links
            if found.case.peer
            and (found.case.carrier, found.case.pattern, found.case.bytes)
            == (slow.case.carrier, slow.case.pattern, slow.case.bytes)
        ]
        return fast[0].gbs, slow.gbs

    def predicted(self, times: ProductTimes, *, overlap: bool) -> float:
        """Return the predicted seconds of a product, from the links of the record."""
        case = times.case
        limit = case.block_limit if case.transport == NCCL else None
        return predicted(times, self.link(case.transport, case.gpus, limit), overlap=overlap)

    def timelines(self) -> Iterator[tuple[MultiGpuRun, Timeline]]:
        """Yield the latest timeline of each case."""
        seen = set()
        for run in self.runs:
            for one in run.timelines:
                if (one.case, one.overlap) not in seen:
                    seen.add((one.case, one.overlap))
                    yield run, one

    def libraries(self) -> list[LibraryTimes]:
        """Return the latest times of each library, by GPUs and size."""
        found: dict[tuple[str, int, int, str], LibraryTimes] = {}
        for run in self.runs:
            for one in run.libraries:
                found.setdefault((one.library, one.gpus, one.n, one.layout), one)
        return [found[key] for key in sorted(found)]


def findings(records: Iterable[MultiGpuRecord] | None = None) -> RecordQueries:
    """Return the queries on the first record, by default of the book's."""
    for record in MULTI_GPU_RECORDS.load_all() if records is None else records:
        return RecordQueries(record)
    raise LabError("The book has no record of several GPUs.")


def median(samples: tuple[float, ...] | None) -> float:
    """Return the median of seconds."""
    if not samples:
        raise LabError("This variant of the product was not measured.")
    return statistics.median(samples)


def received(plan: Plan) -> int:
    """Return the maximum of the bytes that a GPU receives in a plan."""
    return max(sum(step.tile.bytes for step in share.receives) for share in plan.shares)


def flop_per_link_byte(layout: str, n: int, gpus: int) -> float:
    """Return the FLOP per received byte of a GPU in the plan of n³."""
    plan = make_plan(layout, (n, n, n), gpus)
    return plan.flop / gpus / received(plan)


def fitted_link(run: MultiGpuRun, carrier: str, gpus: int, block_limit: int | None = None) -> Link:
    """Fit a link to a run's transfers with all GPUs sending; more than two send in a ring.

    The carrier is "nccl" or "copy". ``block_limit`` is the maximum number of NCCL's blocks; without
    one it is NCCL's default.
    """
    pattern = RING if gpus > 2 else BOTH_WAYS
    times = [
        (found.case.bytes, statistics.median(found.seconds))
        for found in run.links
        if found.case == LinkCase(carrier, pattern, gpus, found.case.bytes, block_limit=block_limit)
    ]
    if len(times) < 2:
        raise LabError(
            f"The run of {run.date} has no times of links by {carrier} between {gpus} GPUs."
        )
    return Link.fit(times)


def predicted(times: ProductTimes, link: Link, *, overlap: bool) -> float:
    """Return the predicted seconds of a measured product over a link.

    The rate is that of its products without transfers.
    """
    case = times.case
    if not times.products:
        raise LabError("A prediction needs the time of the products without transfers.")
    plan = make_plan(case.layout, case.size, case.gpus)
    busiest = max(sum(2 * m * n * k for m, n, k in (s.size for s in share.products))
                  for share in plan.shares)  # fmt: skip
    rate = busiest / statistics.median(times.products)
    return seconds(plan, link, rate, overlap=overlap)
