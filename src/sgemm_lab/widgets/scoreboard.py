"""The scoreboard: rows of what was measured, to filter, to search and to sort."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import traitlets

from sgemm_lab.formulas.scoreboard_rows import COLUMNS, cell_words, chosen_rows, score_words
from sgemm_lab.widgets.base import LabWidget, html_table

HEADS = {
    "kernel": "kernel",
    "size": "M×N×K",
    "gflops": "GFLOP/s",
    "of_cublas": "of cuBLAS",
    "arithmetic": "arithmetic",
    "error": "error",
    "of_cublas_error": "times cuBLAS's",
    "of_bound": "of its bound",
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

    Args:
        rows: what was measured, see :class:`Row`.
        gpu: only rows of this GPU; "" for all.
        size: only rows of this M×N×K, such as "4096×4096×4096"; "" for all.
        arithmetic: only rows of this; "" for all.
        search: only kernels whose name contains this.
        sort: the column to sort by, one of ``COLUMNS``.
        falling: whether the largest comes first.

    All but ``rows`` are state that the reader changes and Python can read or set.

    Raises:
        LabError: a setting is out of its range.
    """

    ROOM = "904px"

    rows: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    gpu = traitlets.Unicode().tag(sync=True)
    size = traitlets.Unicode().tag(sync=True)
    arithmetic = traitlets.Unicode().tag(sync=True)
    search = traitlets.Unicode().tag(sync=True)
    sort = traitlets.Enum(COLUMNS, "gflops").tag(sync=True)
    falling = traitlets.Bool(True).tag(sync=True)
    heads: "traitlets.Dict[str, str]" = traitlets.Dict(HEADS).tag(sync=True)

    def __init__(self, rows: Sequence[Row], **state: Any) -> None:
        super().__init__(rows=list(rows), **state)

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The rows on show, in order."""
        return [self.rows[i] for i in self._indices]

    @property
    def alt(self) -> str:
        """How many rows are shown, and which of them is the fastest."""
        return score_words(self.rows, self._indices)

    def table(self) -> str:
        """Return the rows on show as an HTML table."""
        rows = [[cell_words(row, column) for column in COLUMNS] for row in self.shown]
        return html_table(self.alt, list(HEADS.values()), rows)

    @property
    def _indices(self) -> list[int]:
        wanted = self.gpu, self.size, self.arithmetic, self.search
        return chosen_rows(self.rows, *wanted, self.sort, falling=self.falling)
