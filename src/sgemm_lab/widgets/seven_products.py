"""Strassen's seven products, one after the other: what they are made of, and where they go."""

from collections.abc import Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.widgets.base import LabWidget, html_table

Signed = tuple[str, int]
"""A quadrant, such as "A21", and 1 or -1."""


class SignedProduct(TypedDict):
    """A product of sums of quadrants."""

    name: str
    left: list[Signed]  # quadrants of A, in the order in which they are added
    right: list[Signed]  # quadrants of B
    into: list[Signed]  # quadrants of C that it is added to, or taken from


class SevenProducts(LabWidget):
    """The products of quadrants that make C, step by step.

    Args:
        products: in the order in which they are made, see :class:`SignedProduct`.
        step: the product to begin with, from 1.
    """

    ROOM = "calc(100vw + 121px)"  # the squares are as wide as the page

    products: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    step = traitlets.Int(1, min=1).tag(sync=True)

    def __init__(self, products: Sequence[SignedProduct], **state: Any) -> None:
        described = [{**one, "words": _words(products, at)} for at, one in enumerate(products)]
        super().__init__(products=described, **state)

    def table(self) -> str:
        """Return all products as an HTML table."""
        rows = [
            [one["name"], _sum(one["left"]), _sum(one["right"]), _sum(one["into"])]
            for one in self.products
        ]
        heads = ["Product", "Of A", "Of B", "Into"]
        return html_table("The products, in the order in which they are made", heads, rows)


def _sign(sign: int) -> str:
    return "+" if sign > 0 else "−"


def _sum(terms: Sequence[Signed]) -> str:
    """Write A21 + A22 − A11."""
    (first, sign), *rest = terms
    return ("−" if sign < 0 else "") + first + "".join(f" {_sign(s)} {name}" for name, s in rest)


def _words(products: Sequence[SignedProduct], at: int) -> str:
    one = products[at]
    factors = [_sum(terms) for terms in (one["left"], one["right"])]
    product = " · ".join(f"({f})" if " " in f else f for f in factors)
    plus = [place for place, sign in one["into"] if sign > 0]
    minus = [place for place, sign in one["into"] if sign < 0]
    where = [f"added to the {_quadrants(plus)}"] if plus else []
    where += [f"taken from the {_quadrants(minus)}"] if minus else []
    later = {place for rest in products[at + 1 :] for place, _ in rest["into"]}
    done = [place for place, _ in one["into"] if place not in later]
    ends = f" {_and(done)} {'is' if len(done) == 1 else 'are'} complete." if done else ""
    return f"{one['name']} = {product}. It is {' and '.join(where)}.{ends}"


def _quadrants(names: list[str]) -> str:
    return f"quadrant{'s' if len(names) > 1 else ''} {_and(names)}"


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
