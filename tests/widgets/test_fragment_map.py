"""The fragment map: who holds what, in Python and in the page."""

import re

from fragment_samples import TF32
from playwright.sync_api import expect
from widget_page import Opener, State

from sgemm_lab.widgets import FragmentMap


def lanes_in(text: str) -> set[int]:
    """The lanes of a list such as "0–3, 16"."""
    runs = [run.split("–") for run in text.split(", ")]
    return {lane for run in runs for lane in range(int(run[0]), int(run[-1]) + 1)}


def test_no_lane_could_make_one_of_its_sums_alone(show: Opener) -> None:
    widget = FragmentMap(TF32)
    page = show(widget)
    say = """async (lane) => {
        window.model.set("lane", lane);
        await new Promise((done) => setTimeout(done));
        return document.querySelector(".lab-verdict").textContent;
    }"""
    for lane in range(32):
        needed = re.search("what lanes ([–, 0-9]+) hold", page.evaluate(say, lane))
        assert needed is not None
        holders = set()
        for row, column in widget.places("C", lane):
            of_row = {holder[0] for holder in widget.fragments["A"][row]}
            of_column = {held[column][0] for held in widget.fragments["B"]}
            assert len(of_row) == len(of_column) == 4
            assert of_row != {lane} or lane not in of_column
            holders |= of_row | of_column
        assert lanes_in(needed[1]) == holders


def test_a_click_on_an_element_shows_its_lane_and_what_its_sums_need(
    show: Opener, state: State
) -> None:
    page = show(FragmentMap(TF32))
    page.locator(".lab-chart [data-lane]").nth(9 * 8 + 6).click()  # row 9, column 6 of A
    assert state(page, "lane") == 6
    mine = page.locator(".lab-lane-name.lab-mine").all_text_contents()
    assert mine == ["a0", "a2", "a1", "a3", "b0", "b1", "c0", "c1", "c2", "c3"]
    # Two rows of A and two columns of B, eight elements each, six of which it holds.
    expect(page.locator(".lab-element.lab-needed")).to_have_count(4 * 8 - 4)
