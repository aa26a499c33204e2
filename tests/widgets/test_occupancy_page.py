"""The occupancy calculator: its model in JavaScript, and the page under mouse and keyboard."""

import pytest
from occupancy_samples import example
from playwright.sync_api import Locator, Page, expect
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


def numbers(page: Page, state: State) -> tuple[int, int, int]:
    threads, registers, shared = (state(page, name) for name in ("threads", "registers", "shared"))
    return threads, registers, shared


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
        ("Threads per block", "ArrowDown", 224, "4 blocks fit on an SM: 896 threads in 28 of"),
        ("Threads per block", "End", 1024, "2 blocks fit on an SM: 2,048 threads in 64 of"),
        ("Registers per thread", "ArrowUp", 33, "4 blocks fit"),
        ("Registers per thread", "End", 255, "1 block fits on an SM: 256 threads in 8 of"),
        ("Shared KB per block", "ArrowLeft", 31 * 1024, "5 blocks fit"),
        ("Shared KB per block", "Home", 0, "8 blocks fit"),
    ],
)
def test_the_keyboard_moves_every_number(
    page: Page, state: State, name: str, key: str, value: int, says: str
) -> None:
    slider = page.get_by_role("slider", name=name)
    slider.focus()
    page.keyboard.press(key)
    assert value in numbers(page, state)
    assert page.evaluate("window.model.saves") == 1
    expect(page.locator(".lab-verdict strong")).to_contain_text(says)
    expect(slider).to_be_focused()


def enter(field: Locator, typed: str) -> None:
    """Type as a reader does: a browser may not tell of a change that no key made."""
    field.fill("")
    field.press_sequentially(typed)
    field.press("Enter")


def test_a_field_takes_any_number_and_holds_it_in_bounds(page: Page, state: State) -> None:
    field = page.get_by_role("spinbutton", name="Threads per block")
    for typed, taken in (("100", 100), ("5000", 1024), ("-3", 1), ("", 1)):
        enter(field, typed)
        assert state(page, "threads") == taken
        assert field.input_value() == str(taken)
    shared = page.get_by_role("spinbutton", name="Shared KB per block")
    enter(shared, "16.25")
    assert state(page, "shared") == 16_640
    enter(field, "250")
    expect(page.locator(".lab-verdict")).to_contain_text(
        "The last warp of a block uses 26 of its 32 lanes."
    )


def test_a_drag_along_a_curve_sets_the_number(page: Page, state: State) -> None:
    box = page.locator("[data-name=threads] .lab-what-if").bounding_box()
    mark = page.locator("[data-name=threads] .lab-here").bounding_box()
    assert box
    assert mark
    height = box["y"] + box["height"] / 2
    page.mouse.move(mark["x"] + mark["width"] / 2, height)
    page.mouse.down()
    assert state(page, "threads") == 256
    page.mouse.move(box["x"] + box["width"] - 12, height, steps=4)
    assert state(page, "threads") == 1024
    page.mouse.up()
    page.mouse.move(box["x"] + 60, height)
    assert state(page, "threads") == 1024
    expect(page.get_by_role("slider", name="Threads per block")).to_be_focused()
    page.mouse.click(box["x"], height)
    assert state(page, "threads") == 1


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
