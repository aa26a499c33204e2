"""The bank painter: its data, its model in two languages, and the reader's hands on it."""

from collections import Counter

import pytest
from playwright.sync_api import Page, expect
from request_samples import LOAD_BS, SHARED
from widget_page import Opener, State

from sgemm_lab.widgets import Banks


@pytest.fixture
def page(show: Opener) -> Page:
    return show(Banks(SHARED))


def said(page: Page) -> str:
    return page.locator("svg.lab-chart").get_attribute("aria-label") or ""


def test_a_word_that_two_quarter_warps_want_comes_twice_and_the_words_say_why(show: Opener) -> None:
    """Lanes 16 to 31 read what lanes 0 to 15 read, but not in the same quarter-warp."""
    halves = Banks([{**LOAD_BS, "addresses": [4096 + 16 * (lane % 16) for lane in range(32)]}])
    assert len(halves.wavefronts) == 4
    words = said(show(halves))
    assert "No bank is asked for two different words" in words
    assert "in its own turn" in words
    assert "in its own turn" not in said(show(Banks(stride=0)))


def choose(page: Page, stride: str) -> None:
    page.get_by_role("radio", name=stride, exact=True).check(force=True)


def queue(page: Page) -> dict[int, int]:
    """How many words wait at the same x, by the number of such places."""
    places = page.locator(".lab-chart .lab-token:not(.lab-served)").evaluate_all(
        "(all) => all.map((t) => t.style.transform.match(/-?[\\d.]+/)[0])"
    )
    return dict(Counter(Counter(places).values()))


@pytest.mark.parametrize(
    ("stride", "places"),
    [("1", {1: 32}), ("2", {2: 16}), ("3", {1: 32}), ("32", {32: 1}), ("33", {1: 32})],
)
def test_lanes_queue_at_their_banks(page: Page, stride: str, places: dict[int, int]) -> None:
    choose(page, stride)
    assert queue(page) == places
    rows = max(places)
    expect(page.locator(".lab-verdict")).to_contain_text(
        f"{rows} rows: {rows} clocks." if rows > 1 else "One row: 1 clock."
    )


def test_a_clock_serves_one_row(page: Page, state: State) -> None:
    choose(page, "2")
    slider = page.get_by_role("slider", name="Clock")
    assert slider.get_attribute("aria-valuetext") == "0 of 2"
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert state(page, "wavefront") == 1
    served = page.locator(".lab-chart .lab-served")
    assert served.all_text_contents() == [str(lane) for lane in range(16)]
    assert queue(page) == {1: 16}
    expect(page.locator(".lab-verdict")).to_contain_text("16 of 32 banks work. 1 to go.")
    page.keyboard.press("ArrowRight")
    assert served.all_text_contents() == [str(lane) for lane in range(16, 32)]
    expect(page.locator(".lab-verdict")).to_contain_text("Done.")


def test_a_float4_takes_four_banks_and_four_clocks(page: Page) -> None:
    choose(page, "float4")
    assert queue(page) == {4: 8}
    page.get_by_role("slider", name="Clock").fill("1")
    wide, bank = (
        page.locator(f".lab-chart {part}").first.bounding_box()
        for part in (".lab-served rect", ".lab-bank")
    )
    assert wide
    assert bank
    assert wide["width"] == pytest.approx(4 * bank["width"], rel=0.05)
    expect(page.locator(".lab-verdict")).to_contain_text("32 of 32 banks work")


def test_nothing_plays_out_of_sight(page: Page, state: State) -> None:
    choose(page, "32")
    page.evaluate("document.body.style.paddingBottom = '200vh'")
    page.get_by_role("button", name="Play").click()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.get_by_role("button", name="Play")).to_be_attached()
    stopped = state(page, "wavefront")
    page.wait_for_timeout(600)
    assert state(page, "wavefront") == stopped < 32
