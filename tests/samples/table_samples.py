"""A small table of a search, for the tests of what is made of it."""

from typing import Any

from record_samples import DEVICE

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.gemm.dispatch.model import TERMS
from sgemm_lab.kernel import Size
from sgemm_lab.records.dispatch_table import Model, Point, Search, Table, TimeModelFit

ENVIRONMENT = (
    "2026-01-02T03:04:05Z", "580.1", "13.0", "13.0", "14.2.0", "0.1.0", "cublasSgemm",
)  # fmt: skip


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
    return Search(date, *ENVIRONMENT[1:], complete, points)


def fit(kernel: str, start: float, *, other: float | None = None, **fields: Any) -> TimeModelFit:
    """A kernel whose time is ``start``, or ``other`` where float4 cannot read the rows."""
    zeros = (0.0,) * (len(TERMS) - 1)
    known: dict[str, Any] = {
        "fingerprint": load_kernel(kernel).fingerprint, "resident": 1, "shapes": 9, "error": 0.02,
        "aligned": (start, *zeros), "other": (start if other is None else other, *zeros),
    }  # fmt: skip
    return TimeModelFit(**{"kernel": kernel, **known, **fields})


def model(*fits: TimeModelFit) -> Model:
    return Model(*ENVIRONMENT, shapes=9, fits=fits)


def table(*points: Point, fits: tuple[TimeModelFit, ...] = (), **fields: Any) -> Table:
    found = model(*fits) if fits else None
    return Table(**{"gpu": DEVICE, "searches": (search(*points),), "model": found, **fields})
