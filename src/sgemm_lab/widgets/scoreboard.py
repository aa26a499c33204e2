"""The scoreboard: rows of what was measured, to filter, to search and to sort."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import traitlets

from sgemm_lab.widgets.base import LabWidget

HEADS = {
    "kernel": "kernel",
    "size": "M×N×K",
    "gflops": "GFLOP/s",
    "of_cublas": "of cuBLAS",
    "arithmetic": "arithmetic",
    "error": "error",
    "of_cublas_error": "times cuBLAS's",
    "of_bound": "of its limit",
    "bound_by": "bound by",
    "date": "measured",
}
"""The name of each column."""


class Row(TypedDict):
    """One way to multiply at one size on one GPU. What is not known is left out."""

    kernel: str
    gpu: str
    size: Sequence[int]  # M, N, K
    gflops: float
    of_cublas: NotRequired[float]  # its speed over that of cuBLAS in the same arithmetic
    of_bound: NotRequired[float]
    bound_by: NotRequired[str]
    arithmetic: NotRequired[str]
    error: NotRequired[float]
    of_cublas_error: NotRequired[float]  # its error over that of cuBLAS in FP32
    date: str  # such as "2026-01-02"


class Scoreboard(LabWidget):
    """A table of rows, with filters above it and a button to sort in each head.

    Its still picture is a table already, so :meth:`table` adds none.

    Args:
        rows: what was measured, see :class:`Row`.
        gpu: only rows of this GPU; "" for all.
        size: only rows of this M×N×K, such as "4096×4096×4096"; "" for all.
        arithmetic: only rows of this; "" for all.
        search: only kernels whose name contains this.
        sort: the column to sort by, one of ``HEADS``.
        falling: whether the largest comes first.

    All but ``rows`` are state that the reader changes and Python can read or set.
    """

    ROOM = "904px"

    rows: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    gpu = traitlets.Unicode().tag(sync=True)
    size = traitlets.Unicode().tag(sync=True)
    arithmetic = traitlets.Unicode().tag(sync=True)
    search = traitlets.Unicode().tag(sync=True)
    sort = traitlets.Enum(list(HEADS), "gflops").tag(sync=True)
    falling = traitlets.Bool(True).tag(sync=True)
    heads: "traitlets.Dict[str, str]" = traitlets.Dict(HEADS).tag(sync=True)

    def __init__(self, rows: Sequence[Row], **state: Any) -> None:
        super().__init__(rows=list(rows), **state)
