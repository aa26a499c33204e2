"""The frames of Strassen's seven products: what they say, and what has come together in C."""

from sgemm_lab import lab


def test_each_product_is_said_and_every_quadrant_is_complete_once() -> None:
    found = lab.seven_products().frames
    assert [frame["name"] for frame in found] == [f"P{n}, {n} of 7" for n in range(1, 8)]
    assert found[2]["says"].endswith(
        "P3 = (A21 + A22 − A11) · (B22 − B12 + B11) is added to the quadrants C12, C21 and C22."
    )
    assert found[6]["says"].endswith(" is taken from the quadrant C21. C21 is complete.")
    complete = [frame["says"].split(". ")[-1] for frame in found if "complete" in frame["says"]]
    assert complete == [
        "C11 is complete.", "C22 is complete.", "C12 is complete.", "C21 is complete.",
    ]  # fmt: skip


def test_products_stay_in_c() -> None:
    last = lab.seven_products().frames[-1]["html"]
    assert last.count("+P1<") == 4
    assert last.count("−P7<") == 1
