"""The step-through: its data, and the reader's hands on it."""

import re

import pytest
from playwright.sync_api import Page, expect
from trace_samples import misaligned, outside, sliding_window, toy, wrong
from widget_page import Opener, State

from sgemm_lab.widgets import Steps


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


def test_a_step_lights_line_and_elements(page: Page) -> None:
    page.evaluate("window.model.set('who', 'block')")
    step = page.get_by_role("button", name="One step on")
    step.click()
    assert told(page) == "4 threads, (0, 0) to (1, 1), read 4 elements of A from global memory."
    assert lit(page, "read") == ["0,0", "0,1", "1,0", "1,1"]
    line = page.locator(".lab-code [aria-current=step]")
    expect(line).to_contain_text("As[ty][l + tx] = row < M")
    view = page.locator(".lab-code").bounding_box()
    place = line.bounding_box()
    assert view
    assert place
    assert view["y"] <= place["y"] <= view["y"] + view["height"] - place["height"]
    step.click()
    assert told(page) == "4 threads, (0, 0) to (1, 1), write 4 elements of As to shared memory."
    assert lit(page, "write") == ["A[0,0]", "A[0,1]", "A[1,0]", "A[1,1]"]
    assert page.locator(".lab-copy").count() == 4
    page.get_by_role("button", name="One step back").click()
    assert tile(page, "As") == [""] * 4
    assert page.locator(".lab-copy").count() == 0


def test_barriers_are_stops(page: Page, state: State) -> None:
    forward = page.get_by_role("button", name="On to the next barrier")
    back = page.get_by_role("button", name="Back to the last barrier")
    for expected in (5, 11, 15):
        forward.click()
        assert state(page, "step") == expected
    page.get_by_role("button", name="One step on").click()
    back.click()
    assert state(page, "step") == 15
    back.click()
    assert state(page, "step") == 11


def more(page: Page) -> None:
    page.get_by_text("More: the whole block").click()


def test_one_thread_and_its_registers(page: Page) -> None:
    more(page)
    page.get_by_role("slider", name="Thread").fill("3")
    go(page, 4)
    assert told(page) == "Thread (1, 1) writes B[1,1] to Bs[1][1]."
    assert lit(page, "write") == ["B[1,1]"]
    assert len(lit(page, "other")) == 3
    go(page, 6)
    assert registers(page, "reg") == {"A-0": "A[1,0]", "B-0": "B[0,1]"}
    assert sums(page) == [""]
    go(page, 41)
    assert told(page).endswith("Thread (1, 1) writes C[1,1] to global memory.")
    page.locator('[data-owner="2"]').click()
    expect(page.locator(".lab-title.lab-register")).to_contain_text("thread (0, 1)")


def registers(page: Page, kind: str) -> dict[str, str]:
    """What registers hold, by name: operands ("reg") or what is in flight ("fly")."""
    cells = page.locator(f'[data-register^="{kind}-"]').all()
    return {
        (cell.get_attribute("data-register") or "").removeprefix(f"{kind}-"): cell.text_content()
        or ""
        for cell in cells
    }


def sums(page: Page) -> list[str]:
    return page.locator('[data-register^="acc-"]').all_text_contents()


def product(page: Page) -> list[str]:
    return page.locator(".lab-sum").all_text_contents()


def test_a_product_lands_in_its_sum(page: Page) -> None:
    go(page, 6)
    assert product(page) == ["", ""]
    page.get_by_role("button", name="One step on").click()
    assert told(page) == "Thread (0, 0) adds a product to its sum."
    a, b = sliding_window()["a"], sliding_window()["b"]
    first = a[0] * b[0]
    assert product(page) == [
        "acc += A[0,0] × B[0,0]",
        f"acc = 0 + {a[0]:.0f} × {b[0]:.0f} = {first:.0f}",
    ]
    assert page.locator(".lab-cell.lab-register.lab-write").count() == 2  # in C and in acc
    assert sums(page) == ["1/8"]
    expect(page.locator(".lab-code [aria-current=step]")).to_contain_text("acc += As[ty][k]")
    go(page, 10)
    assert product(page)[1] == (
        f"acc = {first:.0f} + {a[1]:.0f} × {b[4]:.0f} = {first + a[1] * b[4]:.0f}"
    )


def test_what_is_in_flight_has_its_rooms(show: Opener) -> None:
    page = show(Steps(toy("double_buffer:BM=64,BN=64,BK=4", 4, 4, 12)))
    names = page.locator(".lab-name").all_text_contents()
    assert names[:2] == ["a", "b"]
    assert set(names) == {"a", "b", "acc[i][j]", "fragB[j]", *(f"fragA[{i}]" for i in range(4))}
    go(page, 2)
    fetched = ["0,0", "0,1", "0,2", "0,3"]
    assert list(registers(page, "fly").values()) == fetched * 2
    page.get_by_role("button", name="On to the next barrier").click()
    expect(page.locator(".lab-place")).to_contain_text("Multiply K tile 0, copy K tile 1.")
    for _ in range(2):
        page.get_by_role("button", name="One step on").click()
    # They are under way all the while that the K tile is multiplied, and gone after the stores.
    assert "acc" in product(page)[0] or registers(page, "reg")["A-0"] == "0,0"
    assert list(registers(page, "fly").values()) == [
        *("0,4", "0,5", "0,6", "0,7"),
        *("4,0", "4,1", "4,2", "4,3"),
    ]
    page.get_by_role("button", name="On to the next barrier").click()
    assert list(registers(page, "fly").values()) == ["0,8", "0,9", "0,10", "0,11", *[""] * 4]
    page.get_by_role("button", name="One step back").click()
    leaving = page.locator(".lab-flight.lab-read")
    assert leaving.all_text_contents() == ["4,0", "4,1", "4,2", "4,3"]
    # The strip says how long, twice; the lines of the copies begin at the registers.
    assert page.get_by_text("in flight", exact=True).count() == 2
    begins = page.locator(".lab-copy").first.get_attribute("d") or ""
    side = float(leaving.first.locator("rect").get_attribute("width") or 0)
    corner = re.findall(r"[\d.]+", leaving.first.get_attribute("transform") or "")
    below = [float(corner[0]), float(corner[1]) + side]
    assert [float(one) for one in re.findall(r"[\d.]+", begins)[:2]] == pytest.approx(below)


def test_buttons_code_and_picture_fit_on_a_screen_of_900_px(show: Opener) -> None:
    page = show(Steps(toy("tiled:TILE=2", 4, 4, 4)))
    top, picture = (page.locator(part).bounding_box() for part in (".lab-bar", ".lab-chart"))
    assert top
    assert picture
    assert picture["y"] + picture["height"] - top["y"] < 800


def leave_out(page: Page, line: int) -> None:
    page.get_by_role("radio", name=f"line {line}").check()


def test_without_the_first_barrier_a_thread_reads_too_early(show: Opener, state: State) -> None:
    page = show(Steps(toy("tiled:TILE=2", 4, 4, 4)))
    leave_out(page, 31)
    expect(page.locator(".lab-left-out")).to_contain_text("__syncthreads();")
    danger = page.locator(".lab-danger")
    expect(danger).to_contain_text(
        "Too early: thread (0, 1) has not written B[1,0] to Bs[1][0] yet. Thread (0, 0) finds"
    )
    assert page.locator('.lab-wrong[data-array="Bs"]').all_text_contents() == ["?"]
    assert (
        page.locator(".lab-order")
        .inner_text()
        .startswith(
            "Without the barrier of line 31, one thread after the other runs on to its next"
        )
    )
    page.get_by_role("button", name="One step on").click()
    while state(page, "thread") == 0:
        page.get_by_role("button", name="One step on").click()
    expect(page.locator(".lab-said")).to_contain_text("Thread (1, 0) ")
    expect(page.locator(".lab-said")).not_to_contain_text("does nothing")
    page.get_by_role("slider", name="Step").press("End")
    expect(danger).to_contain_text("of the block's 4 elements of C are wrong.")
    page.get_by_role("radio", name="none").check()
    assert state(page, "left_out") == 0
    assert page.locator(".lab-wrong, .lab-racing").count() == 0


def test_play_pause_and_again(page: Page, state: State) -> None:
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    assert state(page, "step") == 1
    page.clock.run_for(1500)
    assert state(page, "step") == 3
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    assert state(page, "step") == 3
    go(page, 40)
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(3000)
    assert state(page, "step") == 41
    expect(page.get_by_role("button", name="One step on")).to_be_disabled()
    page.get_by_role("button", name="Play").click()
    assert state(page, "step") == 1


def test_a_read_without_a_barrier_glows(show: Opener) -> None:
    page = show(Steps(wrong("missing_first_barrier"), who="block"))
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
    assert lit(page, "fault") == [f"{row},{k}" for row in (1, 3) for k in range(4)]
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
    more(page)
    page.get_by_role("slider", name="Block").fill("0")
    go(page, 21)  # this block gets to its end; the other one fails
    expect(page.locator(".lab-danger")).to_contain_text("of block (0, 1)")
    assert page.locator(".lab-fault-frame").count() == 0
