"""The order in which a thread multiplies its tile, and which factor two products in a row share."""

from collections.abc import Iterator
from itertools import pairwise

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import drawing, outline, panel, rectangle, stroke, words
from sgemm_lab.lab.pictures.matrices import PALE

_SIDE = 8
"""Rows and columns of the thread tile that is drawn."""
_CELL, _LEFT, _TOP, _HALF = 18, 24, 46, 172
_SHOWN = 3 * _SIDE
"""Products that are drawn: three columns show the turns."""

Place = tuple[int, int]
"""Row and column of a sum: the numbers of its factors, of A and of B."""


def column_order(*, serpentine: bool) -> list[Place]:
    """Return the products column by column: each from the top, or every other one upwards."""
    return [
        (_SIDE - 1 - step if serpentine and column % 2 else step, column)
        for column in range(_SIDE)
        for step in range(_SIDE)
    ]


def unshared(order: list[Place]) -> int:
    """Count the products that share no factor with the one before; the first has none before."""
    return sum(a[0] != b[0] and a[1] != b[1] for a, b in pairwise(order))


def product_steps() -> dict[str, Output]:
    """Draw the first products of both orders side by side, one frame for each, for ``frames``."""
    return {f"{step + 1} of {_SHOWN}": _step(step) for step in range(_SHOWN)}


def _step(step: int) -> Output:
    parts: list[str] = []
    said, lost = [], []
    for half, (name, serpentine) in enumerate((("from the top", False), ("serpentine", True))):
        order = column_order(serpentine=serpentine)
        parts += _grid(half * _HALF, name, order[: step + 1])
        said.append(f"{name}: {_factors(order[: step + 1])}.")
        lost.append(unshared(order[: step + 1]))
    described = f"Product {step + 1}. {' '.join(said)}"
    says = (
        f"Products so far that share no factor with the one before: **{lost[0]}** from the top, "
        f"**{lost[1]}** in serpentine order"
    )
    height = _TOP + _SIDE * _CELL + 24
    return panel(f"Product {step + 1}", drawing(parts, height, described), described, says)


def _factors(order: list[Place]) -> str:
    """Say which factors of the last product are read, and which is kept from the one before."""
    a, b = order[-1]
    before = order[-2] if len(order) > 1 else (-1, -1)
    kept = f"keeps a{a}, reads b{b}" if a == before[0] else f"reads a{a} and b{b}"
    return f"keeps b{b}, reads a{a}" if b == before[1] else kept


def _grid(x: float, name: str, order: list[Place]) -> Iterator[str]:
    a, b = order[-1]
    before = order[-2] if len(order) > 1 else (-1, -1)
    left, size = x + _LEFT, _SIDE * _CELL
    yield words(left, 12, name, bold=True)
    for at in range(_SIDE):
        for own, kept, place in (
            (at == b, b == before[1], (left + at * _CELL, _TOP - 20)),
            (at == a, a == before[0], (x, _TOP + at * _CELL)),
        ):
            if own:
                yield rectangle(*place, _CELL, _CELL, "register", 1 if kept else 0)
                yield outline(*place, _CELL, _CELL, "register")
        hues = ["bg" if now else "fg" for now in (at == b == before[1], at == a == before[0])]
        yield words(left + (at + 0.5) * _CELL, _TOP - 8, f"b{at}", anchor="middle", hue=hues[0])
        yield words(x + _CELL / 2, _TOP + at * _CELL + 13, f"a{at}", anchor="middle", hue=hues[1])
    yield rectangle(left, _TOP, size, size, "register", PALE / 2)
    yield outline(left, _TOP, size, size, "register")
    walk = "L".join(
        f"{left + (column + 0.5) * _CELL:g} {_TOP + (row + 0.5) * _CELL:g}" for row, column in order
    )
    yield stroke(f"M{walk}", "register", thick=2)
    yield rectangle(left + b * _CELL + 2, _TOP + a * _CELL + 2, _CELL - 4, _CELL - 4, "register")
    yield words(left, _TOP + size + 18, _factors(order))
