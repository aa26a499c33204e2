"""What it costs to use one kernel for products of all sizes, from the search of the dispatcher."""

from collections.abc import Sequence

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.shapes import SQUARES
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.output import Output, table
from sgemm_lab.records.dispatch_table import load_tables

_TILES = ("BM", "BN", "WM", "WN", "TM", "TN")
"""Constants that the label of a candidate leaves out: its tile says which they are."""
_WORDS = {
    "SPLIT": "K in {} parts",
    "UNROLL": "{} k unrolled",
    "RESIDENT": "{} blocks per SM",
    "BLOCKS": "{} blocks per SM",
    "BAND": "bands of {} tiles",
    "STAGES": "{} stages",
}
"""What a constant of more than 1 is called in a label."""
_DEPTHS = ("BK", "STAGES")
"""Constants that a label has where kernels would else have the same one."""


def wrong_picks(*sizes: AnySize) -> Output:
    """Return a table of what it costs to use one size's fastest kernel at the other sizes.

    Without ``sizes`` at the squares.

    Raises:
        LabError: there is no table of a search, or it has no point of today's kernels there.
    """
    tables = load_tables()
    if not tables:
        raise LabError("There is no table of a search yet. Run 'sgemm-lab tune' on a GPU.")
    gpu = session.book_records()[0].gpu.name
    quoted = next((table for table in tables if table.gpu.name == gpu), tables[0])
    asked = [size_of(size) for size in sizes] or list(SQUARES)
    points = [point for point in quoted.points if point.size in asked and point.is_current]
    if not points:
        raise LabError(
            f"No search on {quoted.gpu.name} measured these sizes with today's kernels. "
            "Run 'sgemm-lab tune' on a GPU."
        )
    seconds = {(point.kernel, point.size): point.seconds for point in points}
    fastest = {
        size: min((p for p in points if p.size == size), key=lambda point: point.seconds)
        for size in asked
        if any(point.size == size for point in points)
    }
    winners = list(dict.fromkeys(point.kernel for point in fastest.values()))
    rows = []
    for kernel, label in zip(winners, labels(winners), strict=True):
        found = [(seconds.get((kernel, size)), best.seconds) for size, best in fastest.items()]
        rows.append([label, *(f"{taken / best:.2f}" if taken else "–" for taken, best in found)])
    return table(
        ["time over the fastest", *(f"{m}³" for m, _, _ in fastest)],
        rows,
        note=f"The winners of a search on {quoted.gpu.name}. 1.00: the fastest of all candidates. "
        "–: not measured.",
    )


def labels(names: Sequence[str]) -> list[str]:
    """Return a short label of each candidate: kernel, tile, and what else it was given."""
    short = [_label(name, (*_TILES, *_DEPTHS)) for name in names]
    return [
        label if short.count(label) == 1 else _label(name, _TILES)
        for label, name in zip(short, names, strict=True)
    ]


def _label(name: str, left_out: Sequence[str]) -> str:
    kernel = load_kernel(name)
    base = load_kernel(kernel.base_name)
    values = kernel.values
    tile = f" {values['BM']}×{values['BN']}" if {"BM", "BN"} <= values.keys() else ""
    others = [
        f", {_words(constant, value)}"
        for constant, value in values.items()
        if not (tile and constant in left_out)
        and (value != base.values[constant] or constant in ("SPLIT", *_DEPTHS))
        and (constant, value) != ("SPLIT", 1)
    ]
    return f"{kernel.base_name}{tile}{''.join(others)}"


def _words(constant: str, value: int) -> str:
    if constant not in _WORDS:
        return f"{constant} {value}"
    words = _WORDS[constant].format(value)
    return words.replace("blocks", "block") if value == 1 else words
