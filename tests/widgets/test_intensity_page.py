"""The intensity widget under mouse and keyboard."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from widget_page import Opener
from widget_samples import CONSTANTS, GPUS

from sgemm_lab.widgets import Intensity

State = Callable[[Page, str], Any]


@pytest.fixture
def page(show: Opener) -> Page:
    return show(Intensity(CONSTANTS, GPUS))


def values(page: Page) -> dict[str, str]:
    return {
        row.locator("dt").inner_text(): row.locator("strong").inner_text()
        for row in page.locator(".lab-number").all()
    }


def slide(page: Page, name: str, index: int) -> None:
    page.get_by_role("slider", name=name).fill(str(index))


def test_it_says_what_the_tile_reuses_and_takes(page: Page) -> None:
    assert values(page) == {
        "Reuse of global memory": "16",
        "Reuse of shared memory": "1",
        "Shared memory per block": "4,096",
        "Threads per block": "256",
        "Sums per thread": "16",
        "Bound": "33,454",
    }
    verdict = page.locator(".lab-verdict").inner_text()
    assert "Shared memory bounds this tile on NVIDIA H200: 1 FLOP/B × 33,454 GB/s" in verdict


# What each slider changes, from BM = BN = 64, BK = 8, TM = TN = 4.
CHANGES = {
    "BM": (1, {"Reuse of global memory": "10.7", "Shared memory per block": "3,072"}),
    "BN": (3, {"Reuse of global memory": "21.3", "Threads per block": "512"}),
    "BK": (3, {"Shared memory per block": "16,384", "Reuse of global memory": "16"}),
    "TM": (3, {"Reuse of shared memory": "1.33", "Sums per thread": "32"}),
    "TN": (0, {"Reuse of shared memory": "0.4", "Threads per block": "1,024"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_slider_changes_what_it_should(page: Page, state: State, name: str) -> None:
    index, expected = CHANGES[name]
    slide(page, name, index)
    shown = values(page)
    assert {key: shown[key] for key in expected} == expected
    constant = next(entry for entry in state(page, "constants") if entry["name"] == name)
    assert constant["value"] == constant["choices"][index]
    assert page.evaluate("window.model.saves") == 1
    page.get_by_role("button", name="Reset").click()
    assert values(page)["Bound"] == "33,454"


def test_the_gpu_changes_roof_and_limits(page: Page) -> None:
    page.select_option("select", "t4")
    assert values(page)["Bound"] == "5,120"
    assert "DRAM bounds this tile on Tesla T4" in page.locator(".lab-verdict").inner_text()
    assert page.locator(".lab-spot").count() == 1


def test_the_drawing_is_to_scale(page: Page) -> None:
    def size(name: str) -> tuple[float, float]:
        box = page.locator(f"rect.{name}").last
        return tuple(float(box.get_attribute(key) or 0) for key in ("width", "height"))  # type: ignore[return-value]

    slide(page, "BM", 3)  # 128
    slide(page, "TN", 3)  # 8
    block, thread, strip = size("lab-block"), size("lab-thread"), size("lab-strip")
    assert block[1] / block[0] == pytest.approx(2)
    assert block[0] / thread[0] == pytest.approx(8)
    assert block[1] / thread[1] == pytest.approx(32)
    assert strip == (pytest.approx(block[0]), pytest.approx(block[0] / 8))


def test_the_mark_lands_on_its_roof(page: Page) -> None:
    mark = page.locator(".lab-spot.lab-shared path").bounding_box()
    bound = page.locator(".lab-bound").bounding_box()
    assert mark
    assert bound
    assert mark["y"] + mark["height"] / 2 == pytest.approx(bound["y"] + bound["height"] / 2, abs=1)
    page.wait_for_timeout(250)
    before = page.locator(".lab-spot.lab-shared").get_attribute("style")
    slide(page, "TM", 4)
    assert page.locator(".lab-spot.lab-shared").get_attribute("style") != before


def test_an_impossible_tile_is_said_in_a_sentence(page: Page) -> None:
    slide(page, "TM", 0)
    slide(page, "TN", 0)
    verdict = page.locator(".lab-verdict")
    expect(verdict).to_contain_text("This tile does not fit. The block would have 4,096 threads.")
    assert verdict.get_attribute("role") == "status"
    assert values(page)["Bound"] == "none"
    assert "more than 1,024" in page.locator(".lab-numbers").inner_text()


def verdict(page: Page) -> str:
    return page.locator(".lab-verdict").inner_text()


def test_it_says_what_each_roof_leaves_and_what_to_change(page: Page) -> None:
    assert "53 % of the FP32 peak; DRAM alone would leave 67,040." in verdict(page)
    assert "▲ A larger TM or TN raises it: the thread tile needs 1.9 FLOP/B" in verdict(page)
    marked = page.locator(".lab-slider", has_text="▲")
    assert marked.locator("code").all_inner_texts() == ["TM", "TN"]
    tm = page.get_by_role("slider", name="TM")
    assert tm.get_attribute("aria-valuetext") == "TM = 4, larger raises the bound"
    slide(page, "TM", 3)
    slide(page, "TN", 3)
    assert "only arithmetic bounds this tile" in verdict(page)
    assert "shared memory alone would leave 66,908" in verdict(page)
    assert marked.count() == 0
    page.select_option("select", "t4")
    assert "DRAM bounds this tile on Tesla T4" in verdict(page)
    assert marked.locator("code").all_inner_texts() == ["BM", "BN"]


def test_a_slider_at_its_end_raises_nothing(show: Opener) -> None:
    page = show(Intensity([{"name": "TILE", "value": 32, "choices": [8, 16, 32]}], GPUS))
    assert "Shared memory bounds this tile" in verdict(page)
    assert "No slider raises it from here: the thread tile needs 1.9 FLOP/B" in verdict(page)
    assert "so a kernel can pass this bound" in verdict(page)


def test_the_mark_does_not_give_the_answer_away(show: Opener) -> None:
    page = show(Intensity(CONSTANTS, GPUS, predict=True))
    assert page.get_by_text("▲").count() == 0
    page.get_by_label("Your guess").fill("12000")
    page.keyboard.press("Enter")
    expect(page.locator(".lab-slider", has_text="▲")).to_have_count(2)


def test_a_guess_comes_first(show: Opener, state: State) -> None:
    page = show(Intensity(CONSTANTS, GPUS, predict=True))
    shown = values(page)
    assert shown["Bound"] == shown["Reuse of global memory"] == "?"
    assert shown["Threads per block"] == "256"
    assert page.locator(".lab-spot").count() == 0
    assert "33,454 GFLOP" not in page.locator("#widget").inner_text()

    page.get_by_role("button", name="Commit and reveal").click()
    expect(page.get_by_role("alert")).to_have_text("Type a number of GFLOP/s above zero first.")
    assert state(page, "revealed") is False

    page.get_by_label("Your guess").fill("12000")
    page.keyboard.press("Enter")
    assert state(page, "guess") == 12000
    assert state(page, "revealed") is True
    verdict = page.locator(".lab-verdict")
    expect(verdict).to_contain_text("You said 12,000 GFLOP/s; the bound is 33,454, 2.8 times your")
    assert page.locator(".lab-guessed").count() == 1
    expect(page.get_by_text("your guess 12,000")).to_be_visible()

    page.get_by_role("button", name="Guess again").click()
    assert state(page, "guess") is None
    assert values(page)["Bound"] == "?"
    assert page.get_by_label("Your guess").input_value() == ""
