"""Strassen's seven products, a frame each: the quadrants in its factors, and those it goes to."""

from collections.abc import Iterator, Mapping, Sequence

from sgemm_lab.gemm.strassen.winograd import PRODUCTS, QUADRANTS, terms
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import frames, outline, panel, rectangle, words
from sgemm_lab.widgets import Frames

_CELL, _APART = 51, 16
"""Side of a quadrant, and between squares, in px."""
_PALE = 0.18


def seven_products() -> Frames:
    """Slide through the products of quadrants that make C, in the order in which they are made."""
    names = [one.name for one in PRODUCTS]
    return frames(
        "Product",
        {f"{one}, {at + 1} of {len(names)}": _frame(names, at) for at, one in enumerate(names)},
    )


def _frame(names: Sequence[str], at: int) -> Output:
    product = PRODUCTS[at]
    sums = {f"C{place}": dict(terms(f"C{place}")) for place in QUADRANTS}
    into = {place: of[product.name] for place, of in sums.items() if product.name in of}
    made = {
        place: [f"{_sign(of[name])}{name}" for name in names[: at + 1] if name in of]
        for place, of in sums.items()
    }
    signs = {**dict(terms(product.left)), **dict(terms(product.right)), **into}
    step = 2 * _CELL + _APART
    parts = [part for i, m in enumerate("ABC") for part in _square(m, i * step, signs, made)]
    parts += [
        words(i * step - _APART / 2, _CELL + 6, sign, anchor="middle", size=18)
        for i, sign in ((1, "·"), (2, "→"))
    ]
    factors = [_sum(terms(name)) for name in (product.left, product.right)]
    formula = " · ".join(f"({f})" if " " in f else f for f in factors)
    plus = [place for place, sign in into.items() if sign > 0]
    minus = [place for place, sign in into.items() if sign < 0]
    where = [f"added to the {_quadrants(plus)}"] if plus else []
    where += [f"taken from the {_quadrants(minus)}"] if minus else []
    done = [place for place in into if len(made[place]) == len(sums[place])]
    ends = f" {_and(done)} {'is' if len(done) == 1 else 'are'} complete." if done else ""
    described = "Its quadrants of A and B, and those of C, with their signs."
    return panel(
        product.name,
        parts,
        2 * _CELL + 2,
        described,
        f"**{product.name} = {formula}** is {' and '.join(where)}.{ends}",
    )


def _square(
    matrix: str, left: float, signs: Mapping[str, int], made: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Draw a matrix as four quadrants; those of C with the products that are in them so far."""
    for place in QUADRANTS:
        name = f"{matrix}{place}"
        x, y = left + 1 + _CELL * (int(place[1]) - 1), 1 + _CELL * (int(place[0]) - 1)
        sign = signs.get(name, 0)
        if sign:
            yield rectangle(x, y, _CELL, _CELL, "l2" if sign > 0 else "shared", _PALE)
        yield outline(x, y, _CELL, _CELL)
        yield words(x + 3, y + 13, name, hue="muted", size=12)
        if matrix == "C":
            for i, part in enumerate(made[name]):
                at = x + 1 + 24 * (i % 2), y + 29 + 14 * (i // 2)
                yield words(*at, part, size=12, bold=bool(sign) and i == len(made[name]) - 1)
        elif sign:
            yield words(x + _CELL / 2, y + 37, _sign(sign), anchor="middle", size=24, bold=True)


def _sign(sign: int) -> str:
    return "+" if sign > 0 else "−"


def _sum(parts: Sequence[tuple[str, int]]) -> str:
    """Write A21 + A22 − A11."""
    (first, sign), *rest = parts
    return ("−" if sign < 0 else "") + first + "".join(f" {_sign(s)} {name}" for name, s in rest)


def _quadrants(names: Sequence[str]) -> str:
    return f"quadrant{'s' if len(names) > 1 else ''} {_and(names)}"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
