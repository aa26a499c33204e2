"""The occupancy calculator: its model in JavaScript, and the page under mouse and keyboard."""

import pytest
from occupancy_samples import example
from playwright.sync_api import Page, expect
from widget_page import Opener, State


@pytest.fixture
def page(show: Opener) -> Page:
    return show(example())


def conclusion(page: Page) -> str:
    return page.locator(".lab-verdict strong").inner_text()


def room(page: Page) -> dict[str, str]:
    rows = page.locator(".lab-room").all()
    return {
        row.get_attribute("data-name") or "": row.locator(".lab-many").inner_text() for row in rows
    }


def test_the_example_is_said_and_drawn(page: Page) -> None:
    assert conclusion(page) == (
        "4 blocks fit on an SM: 1,024 threads in 32 of 64 warp slots. Occupancy is 50 %."
    )
    assert room(page) == {
        "blocks": "room for 32 blocks",
        "warps": "room for 8 blocks",
        "registers": "room for 8 blocks",
        "shared": "limit: room for 4 blocks",
    }
    slots = page.locator(".lab-slot").all_text_contents()
    assert slots == [str(1 + slot // 8) if slot < 32 else "" for slot in range(64)]
    assert page.locator(".lab-dark").count() == 16
    expect(page.locator(".lab-slots")).to_have_attribute(
        "aria-label", "32 of 64 warp slots are taken, by 4 blocks of 8 warps."
    )


@pytest.mark.parametrize(
    ("name", "key", "value", "says"),
    [
        ("Threads per block", "ArrowRight", 288, "4 blocks fit on an SM: 1,152 threads in 36 of"),
        ("Threads per block", "End", 1024, "2 blocks fit on an SM: 2,048 threads in 64 of"),
        ("Registers per thread", "End", 255, "1 block fits on an SM: 256 threads in 8 of"),
        ("Shared KB per block", "ArrowLeft", 31 * 1024, "5 blocks fit"),
    ],
)
def test_the_keyboard_moves_every_number(
    page: Page, state: State, name: str, key: str, value: int, says: str
) -> None:
    slider = page.get_by_role("slider", name=name)
    slider.focus()
    page.keyboard.press(key)
    assert value in [state(page, name) for name in ("threads", "registers", "shared")]
    assert page.evaluate("window.model.saves") == 1
    expect(page.locator(".lab-verdict strong")).to_contain_text(says)
    expect(slider).to_be_focused()


def test_idle_lanes_of_the_last_warp_are_said(page: Page) -> None:
    page.evaluate("window.model.set('threads', 250)")
    expect(page.locator(".lab-verdict")).to_contain_text(
        "The last warp of a block uses 26 of its 32 lanes."
    )
    expect(page.locator(".lab-slider").first).to_contain_text("250")


def test_a_launch_that_cannot_run_is_said_in_a_sentence(page: Page, state: State) -> None:
    page.evaluate("window.model.set('shared', 102400)")
    page.get_by_label("GPU").select_option("t4")
    verdict = page.locator(".lab-verdict")
    expect(verdict).to_contain_text(
        "No block can run.A block may have 0 to 65,536 bytes of shared memory here, not 102,400."
    )
    assert verdict.get_attribute("role") == "status"
    assert room(page) == {
        "blocks": "", "warps": "", "registers": "", "shared": "limit: room for 0 blocks",
    }  # fmt: skip
    assert page.locator(".lab-taken").count() == 0
    assert state(page, "shared") == 102_400
