"""The model: predictions for simple plans, and cost formulas."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.multi_gpu.layouts import cannon, make_plan, rows
from sgemm_lab.multi_gpu.model import Link, at_rate, on_paper, seconds

RATE = at_rate(1e12)
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
    busiest = max(sum(RATE(s.size, s.adds) for s in share.products) for share in plan.shares)
    assert busiest * (1 - 1e-9) <= overlapped
    assert overlapped <= seconds(plan, link, RATE, overlap=False) * (1 + 1e-9)


@pytest.mark.parametrize("layout", ["rows", "cannon"])
def test_infinitely_fast_links_cost_nothing(layout: str) -> None:
    plan = make_plan(layout, (72, 72, 72), 9)
    assert seconds(plan, FAST, RATE) == pytest.approx(RATE((72, 72, 72), False) / 9)


def test_fitting_recovers_a_link() -> None:
    link = Link(9e-6, 290e9)
    times = [(count, link.seconds(count)) for count in (2**12, 2**20, 2**26, 2**30)]
    found = Link.fit(times)
    assert found.alpha == pytest.approx(link.alpha)
    assert found.bytes_per_second == pytest.approx(link.bytes_per_second)


def test_zero_bytes_take_no_time() -> None:
    assert Link(1.0, 1.0).seconds(0) == 0
    assert seconds(rows((5, 5, 5), 1), SLOW, at_rate(1e12, start=1.0)) == pytest.approx(1.0)


def test_copies_pay_only_where_the_link_is_the_limit() -> None:
    link = Link(20e-6, 50e9)
    small, large = (
        [on_paper(n, 1024, copies, link, 51e12)[1] for copies in (1, 4)] for n in (65536, 131072)
    )
    assert small[1] > 1.4 * small[0]
    assert large[1] < large[0]


def test_formulas_and_plans_agree() -> None:
    n, gpus, link = 4096, 16, Link(5e-6, 1e11)
    half = Link(link.alpha / 2, link.bytes_per_second)
    taken, _ = on_paper(n, gpus, 1, half, 1e13)
    by_plan = seconds(cannon((n, n, n), gpus), link, at_rate(1e13))
    assert taken == pytest.approx(by_plan, rel=1e-6)


def test_an_ideal_machine_is_fully_used() -> None:
    assert on_paper(10_000, 100, 1, Link(0.0, 1e300), 1e12)[1] == pytest.approx(1.0)
