"""The step-through: its data, and the reader's hands on it."""

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from walk_samples import late_fault, misaligned, outside, register_cache, sliding_window, toy, wrong
from widget_page import Opener

from sgemm_lab.errors import LabError
from sgemm_lab.widgets import Steps

State = Callable[[Page, str], Any]


@pytest.fixture
def page(show: Opener) -> Page:
    return show(Steps(sliding_window()))


def told(page: Page) -> str:
    return page.locator(".lab-said").inner_text()


def go(page: Page, step: int) -> None:
    page.get_by_role("slider", name="Step").fill(str(step))


def lit(page: Page, kind: str) -> list[str]:
    return page.locator(f".lab-cell.lab-{kind}:not(.lab-register)").all_text_contents()


def tile(page: Page, name: str) -> list[str]:
    """What the cells of a shared array show, row by row."""
    return page.locator(f'.lab-cell[data-array="{name}"]').all_text_contents()


# In Python.


def test_a_launch_that_fails_opens_where_it_fails() -> None:
    assert Steps(misaligned()).step == len(Steps(misaligned()).steps) > 0
    assert Steps(misaligned(), step=0).step == 0
    assert Steps(sliding_window()).step == 0


def test_it_says_what_the_launch_does() -> None:
    widget = Steps(sliding_window())
    assert "4×8 times 8×4, block 0, in 33 steps and 8 barriers" in widget.alt
    assert "32 elements from global memory and 64 from shared memory" in widget.alt
    assert "shared" not in Steps(toy("naive", 2, 2, 2)).alt
    assert "with no barrier between" in Steps(wrong("missing_first_barrier")).alt


def test_the_still_picture_shows_the_first_window_or_the_present_step() -> None:
    still = Steps(sliding_window()).still()
    assert still.count(">A[1,1]<") == 2  # in A and in the tile
    assert still.count(">A[0,2]<") == 1
    assert "step 4" in still
    assert Steps(sliding_window(), step=10).still().count(">A[0,2]<") == 2
    assert ">C[1,1]<" in Steps(sliding_window(), step=33).still()


def test_the_table_lists_every_step() -> None:
    table = Steps(sliding_window()).table()
    assert table.count("<tr>") == 34
    assert "<td>4</td><td>write</td><td>As[0,0], As[0,1], As[1,0], As[1,1]</td>" in table


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("step", 34, "There is no step 34: it goes from 0 to 33"),
        ("block", 4, "There is no block 4: it goes from 0 to 3"),
        ("thread", -1, "There is no thread -1: it goes from 0 to 3"),
        ("who", "me", "who is 'me'. Write one of 'thread', 'warp', 'block'"),
        ("cells", "both", "cells is 'both'"),
    ],
)
def test_broken_state_is_refused(name: str, value: Any, sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        Steps(sliding_window(), **{name: value})
    widget = Steps(sliding_window())
    with pytest.raises(LabError, match=sentence):
        setattr(widget, name, value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"size": [4, 4, 100]}, "4×4×100 is too large .* take 4×4×12"),
        ({"a": [1.0] * 32}, "A and B must hold different numbers"),
        ({"a": [1.0]}, "A must have 4×8 and B 8×4 elements"),
        ({"blocks": [[]]}, "has no steps"),
    ],
)
def test_broken_data_are_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        Steps({**sliding_window(), **change})  # type: ignore[typeddict-item]


def test_data_that_are_no_walk_are_refused() -> None:
    with pytest.raises(LabError, match="needs the data of walk"):
        Steps([])  # type: ignore[arg-type]
    with pytest.raises(LabError, match="lacks 'kernel'"):
        Steps({})  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [("values", [], "lists of different lengths"), ("array", 9, "names array 9")],
)
def test_broken_steps_are_refused(key: str, value: Any, sentence: str) -> None:
    broken: Any = copy.deepcopy(sliding_window())
    broken["blocks"][0][0][key] = value
    with pytest.raises(LabError, match=sentence):
        Steps(broken)


# In the browser.


def test_it_begins_before_the_first_step(page: Page) -> None:
    assert told(page).startswith("Nothing has happened yet.")
    assert page.locator(".lab-cell.lab-dram").count() == 32 + 32 + 16
    assert tile(page, "As") == tile(page, "Bs") == [""] * 4
    assert page.locator(".lab-wall").count() == 8
    assert page.locator(".lab-bar-step").count() == 33
    expect(page.get_by_role("button", name="One step back")).to_be_disabled()


def test_a_step_lights_line_and_elements(page: Page) -> None:
    step = page.get_by_role("button", name="One step on")
    step.click()
    assert told(page) == "4 threads, (0, 0) to (1, 1), read 4 elements of A from global memory."
    assert lit(page, "read") == ["A[0,0]", "A[0,1]", "A[1,0]", "A[1,1]"]
    line = page.locator(".lab-code [aria-current=step]")
    expect(line).to_contain_text("As[ty][l + tx] = row < M")
    view = page.locator(".lab-code").bounding_box()
    place = line.bounding_box()
    assert view
    assert place
    assert view["y"] <= place["y"] <= view["y"] + view["height"] - place["height"]
    expect(page.locator(".lab-told .lab-line")).to_contain_text("As[ty][l + tx] = row < M")
    step.click()
    assert told(page) == "4 threads, (0, 0) to (1, 1), write 4 elements of As to shared memory."
    assert lit(page, "write") == ["A[0,0]", "A[0,1]", "A[1,0]", "A[1,1]"]
    assert page.locator(".lab-copy").count() == 4
    page.get_by_role("button", name="One step back").click()
    assert tile(page, "As") == [""] * 4
    assert page.locator(".lab-copy").count() == 0


def test_four_windows_slide_over_k(page: Page, state: State) -> None:
    names = page.locator("select option").all_text_contents()
    both = [f"{do} window {window}" for window in range(4) for do in ("Copy", "Multiply")]
    assert names == [*both, "Store C"]
    for window in range(4):
        page.get_by_label("Go to").select_option(f"Multiply window {window}")
        k = 2 * window
        assert tile(page, "As") == [f"A[{i},{k + j}]" for i in range(2) for j in range(2)]
        assert tile(page, "Bs") == [f"B[{k + i},{j}]" for i in range(2) for j in range(2)]
        assert told(page).startswith("All threads have met at the barrier.")
    page.get_by_label("Go to").select_option("Store C")
    assert state(page, "step") == 33
    done = page.locator(".lab-cell.lab-done").all_text_contents()
    assert done == ["C[0,0]", "C[0,1]", "C[1,0]", "C[1,1]"]


def test_barriers_are_stops(page: Page, state: State) -> None:
    forward = page.get_by_role("button", name="On to the next barrier")
    back = page.get_by_role("button", name="Back to the last barrier")
    for expected in (5, 9, 13):
        forward.click()
        assert state(page, "step") == expected
    page.get_by_role("button", name="One step on").click()
    back.click()
    assert state(page, "step") == 13
    back.click()
    assert state(page, "step") == 9
    expect(page.get_by_label("Go to")).to_have_value("9")


def test_one_thread_and_its_registers(page: Page) -> None:
    page.get_by_role("radio", name="one thread").check()
    page.get_by_role("slider", name="Thread").fill("3")
    go(page, 4)
    assert told(page) == "Thread (1, 1) writes B[1,1] to Bs[1][1]."
    assert lit(page, "write") == ["B[1,1]"]
    assert len(lit(page, "other")) == 3
    go(page, 6)
    registers = page.locator(".lab-cell.lab-register.lab-full").all_text_contents()
    assert registers == ["A[1,0]", "B[0,1]"]
    assert page.locator(".lab-cell.lab-mine").all_text_contents() == ["1/8"]
    go(page, 33)
    assert told(page).endswith("Thread (1, 1) writes C[1,1] to global memory.")
    page.locator('[data-owner="2"]').click()
    expect(page.locator(".lab-title.lab-register")).to_contain_text("thread (0, 1)")


def test_one_warp_of_two(show: Opener) -> None:
    page = show(Steps(toy("tiled:TILE=8", 8, 8, 8), thread=40, who="warp", step=1))
    assert told(page) == "32 threads, (0, 4) to (7, 7), read 32 elements of A from global memory."
    assert len(lit(page, "read")) == len(lit(page, "other")) == 32
    assert lit(page, "read")[0] in ("A[4,0]", "4,0")


def test_values_add_up_to_the_product(page: Page) -> None:
    page.get_by_role("radio", name="values").check()
    go(page, 6)
    a, b = sliding_window()["a"], sliding_window()["b"]
    owned = page.locator("[data-owner]")
    first = [f"{a[8 * i] * b[j]:.0f}" for i in range(2) for j in range(2)]
    assert owned.all_text_contents() == first
    go(page, 33)
    assert owned.first.text_content() == f"{sum(a[k] * b[4 * k] for k in range(8)):.0f}"


def test_another_block_has_other_elements(page: Page) -> None:
    page.get_by_role("slider", name="Block").fill("1")
    go(page, 3)
    assert lit(page, "read") == ["B[0,2]", "B[0,3]", "B[1,2]", "B[1,3]"]
    assert page.locator(".lab-cell.lab-foreign").count() == 12


def test_an_outer_product_in_registers(show: Opener) -> None:
    page = show(Steps(register_cache()))
    page.get_by_label("Go to").select_option("Store C")
    page.get_by_role("button", name="One step back").click()
    held = page.locator(".lab-cell.lab-register.lab-full").all_text_contents()
    assert held == ["0,7", "1,7", "2,7", "3,7", "7,0", "7,1", "7,2", "7,3"]
    sums = page.locator(".lab-cell.lab-register.lab-held")
    assert sums.all_text_contents() == ["8/8"] * 32  # in C and in the registers
    expect(page.get_by_role("slider", name="Thread")).to_be_hidden()  # there is but one


def test_the_ribbon_goes_where_it_is_clicked(page: Page, state: State) -> None:
    box = page.locator(".lab-ribbon").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 10.5 / 33, box["y"] + 10)
    assert state(page, "step") == 11
    assert page.locator(".lab-bar-step.lab-here").count() == 1


def test_play_pause_and_again(page: Page, state: State) -> None:
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    assert state(page, "step") == 1
    page.clock.run_for(1500)
    assert state(page, "step") == 3
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    assert state(page, "step") == 3
    go(page, 32)
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(3000)
    assert state(page, "step") == 33
    expect(page.get_by_role("button", name="One step on")).to_be_disabled()
    page.get_by_role("button", name="Play").click()
    assert state(page, "step") == 1


def test_the_keyboard_does_it_all(page: Page, state: State) -> None:
    page.get_by_role("button", name="Play").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert state(page, "step") == 2
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert state(page, "step") == 5
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert state(page, "step") == 9
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert state(page, "step") == 10
    page.keyboard.press("Tab")  # the source, which scrolls
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    assert state(page, "who") == "warp"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert state(page, "cells") == "values"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert state(page, "thread") == 1
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert state(page, "block") == 1


def test_a_read_without_a_barrier_glows(show: Opener) -> None:
    page = show(Steps(wrong("missing_first_barrier")))
    assert page.locator(".lab-bar-step.lab-racing").count() == 8
    go(page, 5)
    assert page.locator(".lab-danger-cell").count() == 2
    danger = page.locator(".lab-danger")
    expect(danger).to_have_text(
        re.compile(r"No barrier stands between this read of [AB]s\[0\]\[0\] and the write of")
    )
    go(page, 4)
    assert page.locator(".lab-danger-cell").count() == 0
    expect(danger).to_have_text("")


def test_a_correct_kernel_never_glows(show: Opener) -> None:
    for walk in (sliding_window(), toy("double_buffer:BM=64,BN=64,BK=4", 8, 8, 12)):
        page = show(Steps(walk))
        assert page.locator(".lab-bar-step").count() > 30
        assert page.locator(".lab-racing").count() == 0


def test_a_failing_access_ends_the_walk_in_red(show: Opener) -> None:
    data = misaligned()
    widget = Steps(data, step=1)
    page = show(widget)
    assert widget.table().count("<tr>") == 2
    assert (
        "<td>read, fails</td><td>A[1,0], A[1,1], A[1,2], A[1,3] and 4 more</td>" in widget.table()
    )
    assert told(page) == "Here the launch fails: no block gets any further."
    assert data["problems"] == [page.locator(".lab-danger").inner_text()]
    assert "reads 16 bytes at once from A[1][0]" in data["problems"][0]
    assert lit(page, "fault") == [f"A[{row},{k}]" for row in (1, 3) for k in range(4)]
    assert page.locator(".lab-bar-step.lab-fault").count() == 1
    assert page.locator(".lab-fault-frame").count() == 1
    expect(page.get_by_text("the launch fails", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="One step on")).to_be_disabled()
    assert page.locator("[data-owner]").count() == 16  # each element has its thread all the same


def test_an_access_outside_shows_the_array(show: Opener, state: State) -> None:
    page = show(Steps(outside()))
    assert state(page, "block") == 2  # the first that fails
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".lab-danger")).to_contain_text("reads element 12 of A, which has 3 × 4")
    assert page.locator(".lab-cell.lab-fault").count() == 0
    assert page.locator(".lab-fault-frame, .lab-fault-cross").count() == 2
    page.get_by_role("slider", name="Block").fill("0")
    go(page, 17)  # this block gets to its end; the other one fails
    expect(page.locator(".lab-danger")).to_contain_text("of block (0, 1)")
    assert page.locator(".lab-fault-frame").count() == 0


def test_registers_have_the_names_of_the_source(show: Opener) -> None:
    page = show(Steps(register_cache()))
    expect(page.get_by_text("fragA down, fragB across, acc inside")).to_be_visible()
    page = show(Steps(sliding_window()))
    expect(page.get_by_text("sum in a register: acc")).to_be_visible()
    expect(page.get_by_text("the launch fails", exact=True)).to_have_count(0)


def test_who_did_it_is_said(show: Opener) -> None:
    data = toy("split:BM=64,BN=64,BK=4", 8, 8, 8)
    page = show(Steps(data, step=8))
    assert "Threads (0, 0), (1, 0), (8, 0) and (9, 0) read 8 elements of As" in told(page)
    page = show(Steps(register_cache(), step=1))
    assert told(page) == "Thread (0, 0) reads 1 element of A from global memory."


def test_what_is_wrong_is_said_at_the_end(show: Opener) -> None:
    data = wrong("missing_second_barrier")
    page = show(Steps(data, step=len(data["blocks"][0])))
    assert data["problems"][0] in page.locator(".lab-danger").inner_text()


def test_double_buffers_are_stacked(show: Opener) -> None:
    page = show(Steps(toy("double_buffer:BM=64,BN=64,BK=4", 8, 8, 12)))
    assert page.locator("select option").all_text_contents() == [
        "Copy window 0",
        "Multiply window 0, copy window 1",
        "Multiply window 1, copy window 2",
        "Multiply window 2",
        "Store C",
    ]
    expect(page.get_by_text("As[2][4][68]")).to_be_visible()
    assert page.locator(".lab-plane").count() == 2
    page.get_by_role("radio", name="one thread").check()
    page.get_by_label("Go to").select_option("Multiply window 1, copy window 2")
    for _ in range(2):
        page.get_by_role("button", name="One step on").click()
    assert "As[1][0][0]" in told(page)


@pytest.mark.parametrize("width", [390, 800])
def test_nothing_moves_while_stepping(show: Opener, width: int) -> None:
    for walk in (sliding_window(), wrong("missing_first_barrier"), late_fault()):
        page = show(Steps(walk), viewport={"width": width, "height": 900})
        height = "document.querySelector('#widget').offsetHeight"
        before = page.evaluate(height)
        for step in range(0, len(walk["blocks"][0]) + 1, 2):
            page.evaluate("(step) => window.model.set('step', step)", step)
            assert page.evaluate(height) == before


@pytest.mark.parametrize(
    ("k", "width", "named"), [(8, 390, True), (12, 390, False), (12, 800, True)]
)
def test_all_elements_of_a_and_b_show_their_names_or_none_does(
    show: Opener, k: int, width: int, named: bool
) -> None:
    walk = toy("double_buffer:BM=64,BN=64,BK=4", 8, 8, k)
    page = show(Steps(walk), viewport={"width": width, "height": 900})
    cells = page.locator(".lab-cell.lab-dram:not([data-owner], .lab-foreign)")
    texts = cells.all_text_contents()
    assert len(texts) == 2 * 8 * k
    assert [bool(text) for text in texts] == [named] * len(texts)
