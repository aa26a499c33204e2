"""The timeline of K tiles: its data, and the reader's hands on it."""

from typing import Any

from playwright.sync_api import Page, expect
from widget_page import Opener, State

from sgemm_lab.widgets import Timeline


def timeline(**settings: Any) -> Timeline:
    return Timeline(**{"latency": 600, "load": 200, "compute": 500, "windows": 3, **settings})


def verdict(page: Page) -> str:
    return page.locator(".lab-verdict").inner_text()


def test_with_one_buffer_copying_and_multiplying_take_turns(show: Opener) -> None:
    page = show(timeline())
    assert page.locator(".lab-work").all_text_contents() == ["0", "1", "2"]
    gaps = page.locator(".lab-gap").evaluate_all("(all) => all.map((g) => g.getAttribute('d'))")
    assert len(gaps) == 3
    assert all(gaps)
    assert "3,900 clocks, 38 % of them multiplying." in verdict(page)


def test_loading_ahead_fills_the_gaps_and_a_second_buffer_saves_a_barrier(
    show: Opener, state: State
) -> None:
    page = show(timeline(latency=200, load=100, store=50))
    gaps, barriers = page.locator(".lab-gap[d^=M]"), page.locator(".lab-barrier")
    page.get_by_role("slider", name="How the block loads").focus()
    page.keyboard.press("ArrowRight")
    assert (state(page, "stages"), state(page, "ahead")) == (1, True)
    assert "1,950 clocks" in verdict(page)
    assert (gaps.count(), barriers.count()) == (3, 5)  # a store between two products
    page.keyboard.press("ArrowRight")
    assert state(page, "stages") == 2
    expect(page.get_by_text("load, then multiply", exact=True)).to_be_visible()
    assert "1,850 clocks" in verdict(page)
    assert (gaps.count(), barriers.count()) == (1, 3)
    waits = page.locator(".lab-waits rect").evaluate_all(
        "(all) => all.map((r) => r.width.baseVal.value)"
    )
    assert [wide > 0 for wide in waits] == [False, True, True]  # the first is multiplied at once
