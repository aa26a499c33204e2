"""Strassen's seven products: which terms each adds to a quadrant of C, and what is left of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sgemm_lab.gemm.strassen.winograd import PRODUCTS, QUADRANTS, terms
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import frames, outline, panel, rectangle, words
from sgemm_lab.widgets import Frames

_SMALL, _LARGE, _ROW = 12, 29, 54
"""Sides of a term in a product and in their sum, and the height of a product's row, in px."""
_PALE = 0.3
_FACTORS = {one.name: (terms(one.left), terms(one.right)) for one in PRODUCTS}


def seven_products() -> Frames:
    """Slide through the quadrants of C: the products that each is the sum of."""
    return frames("Quadrant of C", {f"C{at}": _frame(f"C{at}") for at in QUADRANTS}, frame=1)


def _frame(name: str) -> Output:
    added, parts, total = terms(name), [], Counter[tuple[str, str]]()
    for i, one in enumerate(PRODUCTS):
        left, right = _FACTORS[one.name]
        sign, y = dict(added).get(one.name, 0), i * _ROW
        found = {(a[1:], b[1:]): sign * s * t for a, s in left for b, t in right if sign}
        hue = "fg" if sign else "muted"
        if sign:
            parts.append(words(0, y + 28, _sign(sign), bold=True))
        parts.append(words(14, y + 28, one.name, hue=hue, bold=bool(sign)))
        parts += _terms(38, y, _SMALL, found)
        parts.append(words(102, y + 28, _product(one.name), hue=hue))
        total.update(found)
    x, y = 80, 7 * _ROW + 24
    parts.append(words(0, y + 2 * _LARGE + 4, f"{name} =", bold=True))
    for i, at in enumerate(QUADRANTS):
        middle = (i + 0.5) * _LARGE
        parts.append(words(x + middle, y - 6, f"B{at}", anchor="middle"))
        parts.append(words(x - 4, y + middle + 4, f"A{at}", anchor="end"))
    parts += _terms(x, y, _LARGE, total)
    kept = " + ".join(f"A{a} · B{b}" for (a, b), count in total.items() if count)
    return panel(
        f"{name} = {_sum(added)}",
        parts,
        y + 4 * _LARGE + 2,
        f"The terms of {_sum(added)}, and their sum {kept}.",
        f"What is left is **{kept}**.",
    )


def _terms(
    left: float, top: float, side: float, found: Mapping[tuple[str, str], int]
) -> Iterator[str]:
    """Draw terms, a row for each quadrant of A and a column for each of B; 0 where they cancel."""
    for i, a in enumerate(QUADRANTS):
        for j, b in enumerate(QUADRANTS):
            x, y, sign = left + 1 + j * side, top + 1 + i * side, found.get((a, b))
            if sign:
                yield rectangle(x, y, side, side, "l2" if sign > 0 else "shared", _PALE)
            yield outline(x, y, side, side)
            if sign is not None:
                text, hue = (_sign(sign), "fg") if sign else ("0", "muted")
                yield words(x + side / 2, y + side / 2 + 4, text, hue=hue, anchor="middle")


def _sign(sign: int) -> str:
    return "+" if sign > 0 else "−"


def _product(name: str) -> str:
    """Write (A21 + A22 − A11) · B22."""
    factors = [_sum(one) for one in _FACTORS[name]]
    return " · ".join(f"({one})" if " " in one else one for one in factors)


def _sum(parts: Sequence[tuple[str, int]]) -> str:
    """Write A21 + A22 − A11."""
    (first, sign), *rest = parts
    return ("−" if sign < 0 else "") + first + "".join(f" {_sign(s)} {name}" for name, s in rest)
