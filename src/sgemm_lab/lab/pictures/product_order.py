"""The order in which a thread multiplies its tile, and which factor two products in a row share."""

from collections.abc import Iterator
from itertools import pairwise

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    LETTERS,
    PALE,
    PANEL_WIDTH,
    beside,
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
_SHOWN = 3 * _ROWS
"""Products that are drawn: three columns show the turns."""

Place = tuple[int, int]
"""Row and column of a sum: the numbers of its factors, of A and of B."""


def column_order(*, serpentine: bool) -> list[Place]:
    """Return the products column by column: each from the top, or every other one upwards."""
    return [
        (_ROWS - 1 - step if serpentine and column % 2 else step, column)
        for column in range(_COLUMNS)
        for step in range(_ROWS)
    ]


def unshared(order: list[Place]) -> int:
    """Count the products that read both factors: the first, and those that share none."""
    return 1 + sum(a[0] != b[0] and a[1] != b[1] for a, b in pairwise(order))


def product_steps() -> dict[str, Output]:
    """Draw the first products of both orders side by side, one frame for each, for ``frames``."""
    return {f"{step + 1} of {_SHOWN}": _step(step) for step in range(_SHOWN)}


def _step(step: int) -> Output:
    return beside(
        *(
            _order(name, column_order(serpentine=serpentine)[: step + 1])
            for name, serpentine in (("Each column from the top", False), ("Serpentine", True))
        )
    )


def _order(name: str, order: list[Place]) -> Output:
    described = f"Product {len(order)}: {_factors(order)}."
    says = f"Products that read both factors: **{unshared(order)}**"
    return panel(name, _grid(order), _TOP + _ROWS * _HIGH + 24, described, says)


def _factors(order: list[Place]) -> str:
    """Say which factors of the last product are read, and which is kept from the one before."""
    a, b = order[-1]
    before = order[-2] if len(order) > 1 else (-1, -1)
    kept = f"keeps a{a}, reads b{b}" if a == before[0] else f"reads a{a} and b{b}"
    return f"keeps b{b}, reads a{a}" if b == before[1] else kept


def _grid(order: list[Place]) -> Iterator[str]:
    a, b = order[-1]
    before = order[-2] if len(order) > 1 else (-1, -1)
    across, down = _COLUMNS * _WIDE, _ROWS * _HIGH
    rows = [(f"a{at}", 0, _TOP + at * _HIGH, _LEFT - 4, _HIGH) for at in range(_ROWS)]
    columns = [
        (f"b{at}" if at == b else str(at), _LEFT + at * _WIDE, _TOP - 20, _WIDE, 18)
        for at in range(_COLUMNS)
    ]
    for places, now, was in ((columns, b, before[1]), (rows, a, before[0])):
        for at, (name, left, above, wide, high) in enumerate(places):
            if at == now:
                yield box(left, above, wide, high, "register", 1 if was == now else 0)
            hue = "bg" if at == now == was else "fg"
            y = above + high / 2 + 4
            yield words(left + wide / 2, y, name, anchor="middle", hue=hue, size=LETTERS - 1)
    yield box(_LEFT, _TOP, across, down, "register", PALE / 2)
    walk = "L".join(
        f"{_LEFT + (column + 0.5) * _WIDE:g} {_TOP + (row + 0.5) * _HIGH:g}"
        for row, column in order
    )
    yield stroke(f"M{walk}", "register", thick=2)
    x, y = _LEFT + b * _WIDE, _TOP + a * _HIGH
    yield rectangle(x + 3, y + 3, _WIDE - 6, _HIGH - 6, "register")
    yield words(_LEFT, _TOP + down + 18, _factors(order))
