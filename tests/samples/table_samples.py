"""A small table of a search, for the tests of what is made of it."""

from typing import Any

from record_samples import DEVICE

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.kernel import Size
from sgemm_lab.records.dispatch_table import Point, Search, Table


def point(kernel: str, size: Size, seconds: float, **fields: Any) -> Point:
    """Of today's kernel, as fast as cuBLAS unless told otherwise."""
    known: dict[str, Any] = {
        "fingerprint": load_kernel(kernel).fingerprint,
        "cublas_seconds": seconds,
        "graph": False,
    }
    m, n, k = size
    return Point(kernel=kernel, m=m, n=n, k=k, seconds=seconds, **{**known, **fields})


def search(*points: Point, date: str = "2026-01-02T03:04:05Z", complete: bool = True) -> Search:
    return Search(date, "580.1", "13.0", "13.0", "14.2.0", "0.1.0", "cublasSgemm", complete, points)


def table(*points: Point, **fields: Any) -> Table:
    return Table(**{"gpu": DEVICE, "searches": (search(*points),), **fields})
