"""The timeline: its model in JavaScript, its data, and the reader's hands on it."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from widget_page import Opener

from sgemm_lab.widgets import Timeline
from sgemm_lab.widgets.timeline import TimedKernel

State = Callable[[Page, str], Any]

SPLIT: TimedKernel = {
    "label": "split",
    "latency": 280,
    "load": 250,
    "compute": 1024,
    "windows": 4,
    "stages": 1,
    "blocks": 2,
    "measured": 3600,
    "note": "NVIDIA H200",
}
DOUBLE: TimedKernel = {**SPLIT, "label": "double_buffer", "stages": 2, "measured": 3200}


def serial(**settings: Any) -> Timeline:
    return Timeline(**{"latency": 600, "load": 200, "compute": 500, "windows": 3, **settings})


def fact(page: Page, name: str) -> str:
    return page.locator(f".lab-facts div:has(dt:text-is('{name}')) dd").inner_text()


def told(page: Page) -> str:
    return page.locator(".lab-told").inner_text()


# In Python.


def test_it_says_what_bounds_it() -> None:
    widget = Timeline([SPLIT, DOUBLE])
    assert widget.alt == (
        "4 windows with 1 buffer take 9,562 clocks on 2 blocks. The arithmetic runs 86% of that "
        "time; waiting for loads decides: 2 buffers would hide it. Measured, split takes "
        "1.55 times the model's time per window."
    )
    widget.stages = 2
    assert "arithmetic decides" in widget.alt
    assert "double_buffer" in widget.alt
    widget.load = 2000
    assert "the memory pipe decides" in widget.alt
    assert "Measured" not in widget.alt


# In the browser.


def test_a_window_waits_comes_in_and_is_multiplied(show: Opener) -> None:
    page = show(serial())
    for name in ("latency", "held", "load", "work", "gap"):
        assert page.locator(f".lab-chart .lab-{name}").count() == 3
    assert page.locator(".lab-work").all_text_contents() == ["0", "1", "2"]
    assert fact(page, "Total") == "3,900 clocks"
    assert fact(page, "Arithmetic runs") == "38 %"
    assert fact(page, "Speed-up over serial") == "1×"
    assert fact(page, "Barriers per window") == "2"
    assert "1,300 clocks per window" in page.locator(".lab-verdict").inner_text()
    assert "3 buffers would hide the wait" in page.locator(".lab-verdict").inner_text()


def test_more_buffers_shorten_it(show: Opener, state: State) -> None:
    page = show(serial())
    expect(page.get_by_text("serial ends")).to_have_count(0)
    page.get_by_role("radio", name="2").first.check()
    assert state(page, "stages") == 2
    assert fact(page, "Barriers per window") == "1"
    assert fact(page, "Buffers per block") == "2"
    assert page.get_by_text("serial ends").is_visible()
    assert page.locator(".lab-gap").count() == 2
    page.get_by_role("radio", name="3").first.check()
    assert "Arithmetic decides here" in page.locator(".lab-verdict").inner_text()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Latency, clocks", ("latency", 5, 200)),
        ("Load, clocks", ("load", 50, 2000)),
        ("Multiply, clocks", ("compute", 1, 64)),
        ("Windows of K", ("windows", 7, 8)),
    ],
)
def test_every_slider_counts(
    show: Opener, state: State, name: str, value: tuple[str, int, int]
) -> None:
    page = show(serial(latency=640, compute=512))
    before = fact(page, "Total")
    key, position, expected = value
    page.get_by_role("slider", name=name).fill(str(position))
    assert state(page, key) == expected
    assert fact(page, "Total") != before


def test_more_blocks_share_the_arithmetic(show: Opener, state: State) -> None:
    page = show(serial(compute=1000))
    expect(page.get_by_text("Blocks share the arithmetic")).to_be_hidden()
    page.get_by_role("group", name="Blocks on the SM").get_by_role("radio", name="2").check()
    assert state(page, "blocks") == 2
    expect(page.get_by_text("Blocks share the arithmetic")).to_be_visible()
    boxes = page.locator(".lab-work rect")
    heights = {round(float(box.get_attribute("height") or 0)) for box in boxes.all()}
    assert heights == {34, 17}
    assert page.locator(".lab-block-name").all_text_contents() == ["Block 0", "Block 1"]


def test_the_cursor_tells_what_happens(show: Opener, state: State) -> None:
    page = show(serial(stages=2))
    assert told(page) == "At 0 clocks: waits for window 0; windows 0 to 1 are asked for."
    later = page.get_by_role("button", name="On to the next event")
    for expected in (600, 800, 1000, 1300):
        later.click()
        assert state(page, "time") == expected
    assert told(page) == (
        "At 1,300 clocks: window 1 is multiplied from buffer 1; window 2 is asked for."
    )
    assert page.locator(".lab-now").count() == 2
    page.get_by_role("button", name="Back to the last event").click()
    assert told(page).startswith("At 1,000 clocks: window 0 is multiplied from buffer 0.")
    page.get_by_role("slider", name="Time").fill("240")
    assert told(page) == "At 2,600 clocks: all is done."
    expect(later).to_be_disabled()


def test_the_pointer_scrubs(show: Opener, state: State) -> None:
    page = show(serial())
    box = page.locator(".lab-chart").bounding_box()
    assert box
    middle = box["x"] + 66 + (box["width"] - 76) / 2
    page.mouse.move(middle, box["y"] + 40)
    assert state(page, "time") == 0
    page.mouse.down()
    assert state(page, "time") == pytest.approx(1950, abs=8)
    page.mouse.move(box["x"] + 5, box["y"] + 40)
    assert state(page, "time") == 0
    page.mouse.up()
    page.mouse.move(middle, box["y"] + 40)
    assert state(page, "time") == 0


def test_measured_kernels_are_starts(show: Opener, state: State) -> None:
    page = show(Timeline([SPLIT, DOUBLE]))
    split, double = (page.get_by_role("button", name=n) for n in ("split", "double_buffer"))
    expect(split).to_have_attribute("aria-pressed", "true")
    verdict = page.locator(".lab-verdict")
    expect(verdict).to_contain_text("split takes 3,600 clocks per window of each block, 1.55 times")
    assert page.locator(".lab-measured-bar").count() == 1
    double.click()
    assert state(page, "stages") == 2
    expect(verdict).to_contain_text("double_buffer takes 3,200 clocks")
    page.get_by_role("slider", name="Windows of K").fill("6")
    expect(verdict).to_contain_text("double_buffer takes 3,200 clocks")
    page.get_by_role("slider", name="Load, clocks").fill("3")
    expect(verdict).not_to_contain_text("takes 3,200")
    assert page.locator(".lab-measured-bar").count() == 0
    expect(double).to_have_attribute("aria-pressed", "false")
    split.click()
    assert [state(page, name) for name in ("load", "windows", "stages")] == [250, 4, 1]


def test_edges(show: Opener) -> None:
    page = show(serial(windows=1, stages=4))
    verdict = page.locator(".lab-verdict")
    expect(verdict).to_contain_text("There is one window only")
    assert fact(page, "Speed-up over serial") == "1×"
    page = show(serial(compute=0, stages=2))
    assert fact(page, "Arithmetic runs") == "0 %"
    assert page.locator(".lab-work, .lab-gap").count() == 0
    page = show(serial(latency=0, load=0, compute=0))
    expect(page.locator(".lab-verdict")).to_contain_text("Nothing takes any time")
    assert told(page) == "At 0 clocks: all is done."


def test_the_keyboard_does_it_all(show: Opener, state: State) -> None:
    page = show(Timeline([SPLIT, DOUBLE]))
    page.get_by_role("button", name="split").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert state(page, "stages") == 2
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert state(page, "stages") == 3
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    assert state(page, "blocks") == 1
    page.keyboard.press("Tab")  # at time 0 there is no way back: the slider is next
    page.keyboard.press("ArrowRight")
    assert state(page, "time") > 0
    page.keyboard.press("Tab")
    before = state(page, "time")
    page.keyboard.press("Space")
    assert state(page, "time") > before
    for name in ("latency", "load", "compute", "windows"):
        page.keyboard.press("Tab")
        before = state(page, name)
        page.keyboard.press("ArrowRight")
        assert state(page, name) > before
