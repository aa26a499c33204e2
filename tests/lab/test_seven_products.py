"""The frames of Strassen's seven products: which terms they add, and what is left."""

import re

from sgemm_lab import lab


def test_what_is_left_of_the_products_is_the_definition() -> None:
    found = lab.seven_products().frames
    assert [frame["name"] for frame in found] == ["C11", "C12", "C21", "C22"]
    for frame in found:
        row, column = frame["name"][1:]
        left = {f"A{row}{k} · B{k}{column}" for k in "12"}
        said = re.search(r"What is left is (.+?)\.$", frame["says"])
        assert said is not None
        assert set(said[1].split(" + ")) == left
        assert "(A21 + A22 − A11) · (B22 − B12 + B11)" in frame["html"]


def test_terms_that_cancel_are_drawn_as_zeros() -> None:
    c12 = lab.seven_products().frames[1]["html"]
    assert c12.count(">0<") == 10 - 2  # ten different terms, two of which are left
