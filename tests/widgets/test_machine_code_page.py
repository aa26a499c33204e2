"""Machine code: the words and data in Python, and the reader's hands on it."""

from collections.abc import Callable
from typing import Any

import pytest
from code_samples import CLEAN, CODES, MIXED
from playwright.sync_api import Page, expect
from widget_page import Opener

from sgemm_lab.widgets import MachineCode
from sgemm_lab.widgets.machine_code import estimate

State = Callable[[Page, str], Any]

TURN = (
    "A turn of mixed has 10 instructions, and 4 of them multiply. Register banks add 2 clocks. "
    "That leaves about 33.3 % of the FP32 peak."
)


def facts(page: Page) -> list[str]:
    return page.locator(".lab-facts dd:visible").all_inner_texts()


# In Python.


def test_it_says_what_a_turn_is_made_of() -> None:
    assert MachineCode([MIXED]).alt == TURN
    both = MachineCode(CODES)
    assert (both.left, both.right) == ("mixed", "clean")
    assert both.alt.startswith(TURN + " A turn of clean has 10 instructions")
    assert estimate(CLEAN) == 0.9


# In the browser.


def test_the_ribbon_has_a_cell_for_every_instruction(show: Opener) -> None:
    page = show(MachineCode(CODES, right=""))
    cells = page.evaluate(
        """() => [...document.querySelectorAll(".lab-ribbon path[class^=lab-i-]")]
             .map((path) => [path, path.getAttribute("d").split("M").length - 1])
             .map(([path, cells]) => [path.getAttribute("class"), cells])"""
    )
    assert dict(cells) == {
        "lab-i-shared": 1,
        "lab-i-branch": 2,
        "lab-i-global lab-i-pale": 1,
        "lab-i-multiply": 4,
        "lab-i-store": 1,
        "lab-i-barrier": 1,
        "lab-i-other": 1,
        "lab-i-wait": 2,
    }
    assert facts(page) == ["40 %", "1.50", "33.3 %"]
    expect(page.locator(".lab-verdict")).to_have_text(TURN)


def test_two_kernels_stand_side_by_side_where_there_is_room(show: Opener, state: State) -> None:
    page = show(MachineCode(CODES))
    assert facts(page) == ["40 %", "1.50", "33.3 %", "90 %", "1.00", "90 %"]
    tops = [box.bounding_box()["y"] for box in page.locator(".lab-ribbon").all()]  # type: ignore[index]
    assert tops[0] == tops[1]
    page.locator("select").last.select_option("none")
    assert state(page, "right") == ""
    assert page.locator(".lab-ribbon:visible").count() == 1
    assert page.locator(".lab-verdict p").count() == 1
    page = show(MachineCode(CODES), viewport={"width": 390, "height": 900})
    tops = [box.bounding_box()["y"] for box in page.locator(".lab-ribbon").all()]  # type: ignore[index]
    assert tops[1] > tops[0] + 100


def test_an_instruction_tells_what_it_fetches(show: Opener, state: State) -> None:
    page = show(MachineCode([MIXED]))
    told = page.locator(".lab-told").first
    expect(told).to_have_text("LDS.128 R8, [R20]: load from shared memory.")
    page.get_by_role("slider").first.fill("2")
    expect(told).to_contain_text("global memory, not in every turn.")
    page.get_by_role("button", name="Next wait").first.click()
    assert state(page, "left_at") == 3
    expect(told).to_have_text(
        "FFMA R1, R2, R3, R1: multiply-add. It fetches R2 from the even bank, "
        "R1 and R3 from the odd bank: 2 clocks."
    )
    page.get_by_role("slider").first.fill("4")
    expect(told).to_contain_text(
        "It fetches R2 from the even bank, R5 from the odd bank; R3 is still there: 1 clock."
    )
    for expected in (5, 3):  # on, and from the last to the first again
        page.get_by_role("button", name="Next wait").first.click()
        assert state(page, "left_at") == expected


def test_a_click_frames_an_instruction(show: Opener, state: State) -> None:
    page = show(MachineCode([CODES[2]]))
    box = page.locator(".lab-ribbon").first.bounding_box()
    assert box
    columns = int(box["width"] // 7)
    page.mouse.click(box["x"] + 7 * 3 + 2, box["y"] + 11 * 2 + 4)
    assert state(page, "left_at") == 2 * columns + 3
    frame = page.locator(".lab-frame").first.bounding_box()
    assert frame
    middle = frame["x"] + frame["width"] / 2
    assert middle == pytest.approx(box["x"] + 7 * 3 + 3, abs=1)


def test_more_has_the_stalls_and_the_listing(show: Opener) -> None:
    page = show(MachineCode(CODES))
    expect(page.locator(".lab-listing").first).to_be_hidden()
    page.get_by_text("More: why warps wait").click()
    left, right = page.locator(".lab-listing").all()
    expect(left).to_contain_text("FFMA")  # written when it is opened
    lines = left.inner_text().splitlines()
    assert len(lines) == 11
    assert lines[2].strip() == "3? LDG.E R60, desc[UR8][R72.64]"
    assert lines[3].strip() == "4  FFMA R1, R2, R3, R1   2 clocks"
    assert "FFMA R5" in right.inner_text()
    expect(page.locator(".lab-stalls").first).to_have_text("shared memory1.50global memory0.25")
    expect(page.locator(".lab-why").first).to_contain_text("NVIDIA H200, 4096³")
    expect(page.locator(".lab-why").last).to_contain_text("no record has the GPU's own counts")
    page.locator("select").first.select_option("clean")
    expect(left).not_to_contain_text("LDG")


def test_the_keyboard_does_it_all(show: Opener, state: State) -> None:
    page = show(MachineCode(CODES))
    page.locator("select").first.focus()
    page.keyboard.press("ArrowDown")
    assert state(page, "left") == "clean"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert state(page, "left_at") == 1
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert state(page, "left_at") == 3
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert state(page, "right") == "long"
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert state(page, "right_at") == 1199
