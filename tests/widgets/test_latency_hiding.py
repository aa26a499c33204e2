"""Warps and warp groups that take turns: the idle clocks that more of them fill."""

import pytest
from latency_hiding_samples import CASES, GROUPS
from playwright.sync_api import Page, expect
from widget_page import Opener

from sgemm_lab import lab
from sgemm_lab.lab.latency_hiding import UNROLLED
from sgemm_lab.widgets import LatencyHiding


@pytest.fixture
def page(show: Opener) -> Page:
    return show(LatencyHiding(CASES))


def test_a_second_one_fills_the_gap_of_the_first(show: Opener) -> None:
    one, two = (
        show(LatencyHiding(GROUPS, kind="warp group", workers=many)).locator(".lab-verdict")
        for many in (1, 2)
    )
    expect(one).to_contain_text("The tensor cores are idle 43 % of the time: a warp group cannot")
    expect(two).to_contain_text("as drawn, the tensor cores are never idle.")


def test_the_book_shows_the_latencies_of_its_card_and_the_wavefronts_of_naive() -> None:
    widget, card = lab.latency_hiding(), lab.card()
    assert [case["wait"] for case in widget.cases] == [
        round(card.latency[level]) for level in ("l1", "l2", "dram")
    ]
    assert {case["most"] for case in widget.cases} == {64}
    assert widget.cases[0]["work"] == 2 * UNROLLED


def test_the_slider_fills_the_idle_clocks(page: Page) -> None:
    verdict = page.locator(".lab-verdict")
    slider = page.get_by_role("slider", name="Warps on the SM")
    for chosen, many, words in (
        (0, 16, "never idle"),
        (1, 3, "idle 80 % of the time. With 15 warps"),
        (2, 16, "idle 56 % of the time. It takes 36 warps to hide 700 clocks, and there is room "
                "for 16"),
    ):  # fmt: skip
        page.get_by_role("radio", name=CASES[chosen]["name"]).check(force=True)
        slider.fill(str(many - 1))
        expect(verdict).to_contain_text(words)
    assert page.locator(".lab-gap").count() > 0
    assert "<td>20 %</td>" in LatencyHiding(CASES).table()
    page.get_by_role("radio", name="L1").check(force=True)
    expect(page.locator(".lab-gap")).to_have_count(0)
