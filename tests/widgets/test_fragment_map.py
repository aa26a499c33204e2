"""The fragment map: who holds what, in Python and in the page, by mouse, finger and keyboard."""

import re

from fragment_samples import TF32
from playwright.sync_api import Page, expect
from widget_page import Opener, State

from sgemm_lab.widgets import FragmentMap

MARKED = """(look) => [...document.querySelectorAll(`#widget .lab-element.${look}`)].length"""


def centre(page: Page, place: int) -> tuple[float, float]:
    """The middle of an element, counted in the order A, B, C, on the screen."""
    box = page.locator(".lab-element").nth(place).bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


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


def test_the_mouse_shows_who_holds_an_element_and_a_click_keeps_it(
    show: Opener, state: State
) -> None:
    page = show(FragmentMap(TF32))
    page.mouse.move(*centre(page, 128 + 64 + 3 * 8 + 5))
    expect(page.locator(".lab-verdict")).to_contain_text("lane 14 holds it, in register c1")
    expect(page.locator(".lab-pointed")).to_have_count(1)
    assert state(page, "lane") == 5
    page.mouse.move(2, 2)
    expect(page.locator(".lab-verdict")).to_contain_text("Lane 5 holds")
    page.mouse.click(*centre(page, 9 * 8 + 5))
    assert (state(page, "element"), state(page, "lane")) == ("A9,5", 5)
    page.mouse.move(2, 2)
    expect(page.locator(".lab-verdict")).to_contain_text("Row 9, column 5 of A: lane 5 holds it")


def test_arrow_keys_walk_from_a_and_b_into_c(show: Opener, state: State) -> None:
    page = show(FragmentMap(TF32))
    matrices = page.get_by_role("application")
    matrices.focus()
    walked = []
    for key in ("Right", "Left", "Left", "Left", "Left", "Right", "Right", "Right", "Up", "Up"):
        matrices.press(f"Arrow{key}")
        walked.append(state(page, "element"))
    assert walked == [
        "C1,2", "C1,1", "C1,0", "A1,7", "A1,6", "A1,7", "C1,0", "C1,1", "C0,1", "B7,1"
    ]  # fmt: skip
    assert state(page, "lane") == 7
    for key, end in (("Left", "B7,0"), ("Left", "B7,0"), ("Down", "C0,0"), ("Left", "A0,7"),
                     ("Up", "A0,7")):  # fmt: skip
        matrices.press(f"Arrow{key}")
        assert state(page, "element") == end
    matrices.press("Escape")
    assert state(page, "element") == ""
    expect(page.locator(".lab-verdict")).to_contain_text("Choose a lane")


def test_one_button_steps_through_the_products_of_a_sum(show: Opener, state: State) -> None:
    page = show(FragmentMap(TF32))
    page.get_by_role("button", name="Multiply, step by step").click()
    assert page.evaluate(MARKED, "lab-now") == 3
    assert page.evaluate(MARKED, "lab-mine") == 0
    for _ in range(7):
        page.get_by_role("button", name="Next product").click()
    assert state(page, "step") == 8
    assert page.evaluate(MARKED, "lab-done") == 14
    expect(page.locator(".lab-verdict")).to_contain_text("Lanes 4–7 had the row of A")
    page.get_by_role("button", name="Back to the lane").click()
    assert page.evaluate(MARKED, "lab-mine") == 10
