"""Filter, sort and format the rows of the scoreboard."""

from collections.abc import Mapping, Sequence
from typing import Any

from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.text import error_text, number, percent, size_text

COLUMNS = (
    "kernel", "size", "gflops", "of_cublas", "arithmetic", "error", "of_cublas_error", "of_bound",
    "bound_by", "date",
)  # fmt: skip
"""Sortable columns of a row; it also has a GPU."""


def chosen_rows(
    rows: Sequence[Mapping[str, Any]],
    gpu: str,
    size: str,
    arithmetic: str,
    search: str,
    sort: str,
    *,
    falling: bool,
) -> list[int]:
    """Return the indices of the rows to show, in order.

    Args:
        rows: each with its known keys of ``COLUMNS``, and "gpu".
        gpu: filter by GPU; "" for all.
        size: filter by M×N×K, such as "4096×4096×4096"; "" for all.
        arithmetic: filter by arithmetic; "" for all.
        search: filter by part of the kernel's name, ignoring case.
        sort: column to sort by; a size by M·N·K. Rows without a value come last; the sort is
            stable.
        falling: whether the order is descending.
    """
    found = [
        i
        for i, row in enumerate(rows)
        if gpu in ("", row["gpu"])
        and size in ("", "×".join(map(str, row["size"])))
        and arithmetic in ("", row.get("arithmetic"))
        and search.lower() in row["kernel"].lower()
    ]
    known = [i for i in found if rows[i].get(sort) is not None]
    unknown = [i for i in found if rows[i].get(sort) is None]
    return sorted(known, key=lambda i: _value(rows[i], sort), reverse=falling) + unknown


def cell_words(row: Mapping[str, Any], column: str) -> str:
    """Return the text of a cell; "–" for an unknown value."""
    value: Any = row.get(column)
    if value is None:
        return "–"
    if column == "size":
        return size_text(value)
    if column in ("gflops", "of_cublas_error"):
        return number(value)
    if column == "error":
        return error_text(value)
    return value if isinstance(value, str) else percent(value)


def score_words(rows: Sequence[Mapping[str, Any]], shown: Sequence[int]) -> str:
    """Return a sentence with the number of shown rows and the fastest one."""
    if not shown:
        return sentence("score.none")
    best = max((rows[i] for i in shown), key=lambda row: row["gflops"])
    return sentence(
        "score.best" if "of_cublas" in best else "score.fastest",
        count=len(shown),
        kernel=best["kernel"],
        size=size_text(best["size"]),
        gpu=best["gpu"],
        gflops=best["gflops"],
        share=best.get("of_cublas", 0),
    )


def _value(row: Mapping[str, Any], column: str) -> Any:
    value = row[column]
    if column != "size":
        return value
    m, n, k = value
    return m * n * k
