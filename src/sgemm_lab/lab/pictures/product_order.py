"""The order in which a thread multiplies its tile, and which factor two products in a row share."""

from collections.abc import Iterator
from itertools import pairwise

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    LETTERS,
    PALE,
    PANEL_WIDTH,
    box,
    panel,
    rectangle,
    stroke,
    words,
)

_ROWS, _COLUMNS = 8, 16
"""Rows and columns of the thread tile."""
_LEFT, _TOP, _HIGH = 30, 24, 20
_WIDE = (PANEL_WIDTH - _LEFT - 2) / _COLUMNS

Place = tuple[int, int]
"""Row and column of a sum: the numbers of its factors, of A and of B."""


def column_order(*, serpentine: bool) -> list[Place]:
    """Return the products column by column: each from the top, or every other one upwards."""
    return [
        (_ROWS - 1 - step if serpentine and column % 2 else step, column)
        for column in range(_COLUMNS)
        for step in range(_ROWS)
    ]


def _unshared(order: list[Place]) -> list[Place]:
    """Return the products that read both factors: the first, and those that share none."""
    return [order[0], *(b for a, b in pairwise(order) if a[0] != b[0] and a[1] != b[1])]


def product_order(title: str, *, serpentine: bool) -> Output:
    """Draw the way through the thread tile, and mark products that read both factors.

    The title stands above it. Needs no record.
    """
    order = column_order(serpentine=serpentine)
    both = _unshared(order)
    says = f"**{len(both)}** of {len(order)} products read both factors"
    turns = ", up every other one" if serpentine else ", each from the top"
    described = f"The way through {len(order)} products, column by column{turns}."
    return panel(title, _grid(order, both), _TOP + _ROWS * _HIGH + 4, described, says)


def _grid(order: list[Place], both: list[Place]) -> Iterator[str]:
    across, down = _COLUMNS * _WIDE, _ROWS * _HIGH
    for at in range(_ROWS):
        yield words(_LEFT / 2, _TOP + (at + 0.5) * _HIGH + 4, f"a{at}", anchor="middle")
    for at in range(_COLUMNS):
        name = f"b{at}" if at == 0 else str(at)
        yield words(_LEFT + (at + 0.5) * _WIDE, _TOP - 7, name, anchor="middle", size=LETTERS - 1)
    yield box(_LEFT, _TOP, across, down, "register", PALE / 2)
    walk = "L".join(
        f"{_LEFT + (column + 0.5) * _WIDE:g} {_TOP + (row + 0.5) * _HIGH:g}"
        for row, column in order
    )
    yield stroke(f"M{walk}", "register", thick=1.5)
    for row, column in both:
        x, y = _LEFT + column * _WIDE, _TOP + row * _HIGH
        yield rectangle(x + 3, y + 3, _WIDE - 6, _HIGH - 6, "register")
