"""The model: predictions for simple plans, and cost formulas."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.multi_gpu.layouts import cannon, make_plan, rows
from sgemm_lab.multi_gpu.model import Link, seconds

RATE = 1e12
FAST, SLOW = Link(0.0, math.inf), Link(1e-3, 1e6)


def test_two_gpus_by_rows_in_series() -> None:
    plan = rows((1000, 1000, 1000), 2)
    link = Link(1e-5, 1e10)
    product, transfer = 2 * 500 * 500 * 1000 / 1e12, 1e-5 + 4 * 1000 * 500 / 1e10
    assert seconds(plan, link, RATE, overlap=False) == pytest.approx(2 * product + transfer)
    assert seconds(plan, link, RATE) == pytest.approx(max(product, transfer) + product)


def test_two_tiles_of_a_round_share_a_link() -> None:
    plan = cannon((100, 100, 100), 4)
    tile = 4 * 50 * 50
    link = Link(1e-6, 1e9)
    products = 2 * 2 * 50**3 / 1e12
    moved = seconds(plan, link, RATE, overlap=False) - products
    assert moved == pytest.approx(1e-6 + 2 * tile / 1e9)


@st.composite
def drawn(draw: st.DrawFn) -> tuple[str, int, int, tuple[int, int, int]]:
    layout = draw(st.sampled_from(["rows", "summa", "cannon"]))
    gpus = draw(st.sampled_from([1, 4, 9]) if layout == "cannon" else st.integers(1, 9))
    return layout, gpus, draw(st.tuples(*(st.integers(1, 60) for _ in range(3))))


@given(drawn(), st.floats(0, 1e-4), st.floats(1e6, 1e12))
@settings(deadline=None)
def test_overlap_is_bounded_by_its_parts(
    case: tuple[str, int, int, tuple[int, int, int]], alpha: float, pace: float
) -> None:
    layout, gpus, size = case
    plan, link = make_plan(layout, size, gpus), Link(alpha, pace)
    overlapped = seconds(plan, link, RATE)
    busiest = max(
        sum(2 * math.prod(s.size) / RATE for s in share.products) for share in plan.shares
    )
    assert busiest * (1 - 1e-9) <= overlapped
    assert overlapped <= seconds(plan, link, RATE, overlap=False) * (1 + 1e-9)


@pytest.mark.parametrize("layout", ["rows", "cannon"])
def test_infinitely_fast_links_cost_nothing(layout: str) -> None:
    plan = make_plan(layout, (72, 72, 72), 9)
    assert seconds(plan, FAST, RATE) == pytest.approx(2 * 72**3 / RATE / 9)


def test_fitting_recovers_a_link() -> None:
    link = Link(9e-6, 290e9)
    times = [(count, link.seconds(count)) for count in (2**12, 2**20, 2**26, 2**30)]
    found = Link.fit(times)
    assert found.alpha == pytest.approx(link.alpha)
    assert found.bytes_per_second == pytest.approx(link.bytes_per_second)


def test_zero_bytes_take_no_time() -> None:
    assert Link(1.0, 1.0).seconds(0) == 0
    assert seconds(rows((5, 5, 5), 1), SLOW, RATE) == pytest.approx(250 / RATE)
