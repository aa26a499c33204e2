"""The ladder: its data, and the reader's hands on it."""

import re
from typing import Any

import pytest
from ladder_samples import H200, NOTE, STEPS, T4, ladder, result, results
from playwright.sync_api import Page, expect
from widget_page import Opener, State

from browser import PHONE
from sgemm_lab.widgets import Ladder
from sgemm_lab.widgets.ladder import LIBRARY, Step


def bar(page: Page, kernel: str) -> Any:
    return page.locator(f'.lab-kernel[data-name="{kernel}"]')


def width(page: Page, kernel: str) -> float:
    return float(bar(page, kernel).locator(".lab-speed").get_attribute("width") or 0)


def told(page: Page) -> str:
    return page.get_by_role("status").first.inner_text()


@pytest.fixture
def page(show: Opener) -> Page:
    return show(ladder())


def test_bars_are_as_long_as_the_kernels_are_fast(page: Page) -> None:
    assert page.locator(".lab-kernel").count() == 17
    assert width(page, "double") / width(page, LIBRARY) == pytest.approx(0.8, abs=0.001)
    assert bar(page, "naive").locator(".lab-value").text_content() == "0.8 %"
    assert bar(page, "strip").locator(".lab-value").text_content() == "not measured at this size"
    assert width(page, "strip") == 0
    low, high = (
        float(value)
        for value in re.findall(
            r"M([\d.]+) [\d.]+V", bar(page, "double").locator(".lab-all").get_attribute("d") or ""
        )
    )
    assert (high - low) / width(page, "double") == pytest.approx(0.02, abs=0.001)
    half = bar(page, "double").locator(".lab-half").get_attribute("width")
    assert float(half or 0) / width(page, "double") == pytest.approx(0.01, abs=0.001)


def test_a_long_bar_of_another_arithmetic_breaks_off(show: Opener) -> None:
    steps: list[Step] = [
        *STEPS,
        {"name": "tf32", "title": "TF32", "arithmetic": "Both multiply in TF32."},
    ]
    fast = result("tf32", min=190_000, p25=195_000, median=200_000, p75=201_000, max=202_000)
    page = show(Ladder(steps, [H200, T4], [*results(), fast], size=(4096, 4096, 4096)))
    # The others fill the width: the samples of cuBLAS, the fastest, reach to its end.
    assert width(page, LIBRARY) / width(page, "tf32") == pytest.approx(1 / 1.01, abs=0.001)
    assert bar(page, "tf32").locator(".lab-value").text_content() == "400 %"
    assert (bar(page, "tf32").locator(".lab-all").get_attribute("d") or "").count("l5") == 2
    assert "l5" not in (bar(page, "double").locator(".lab-all").get_attribute("d") or "")


def test_other_shapes_are_chosen_from_a_list(page: Page, state: State) -> None:
    shapes = page.get_by_label("Other shapes")
    assert shapes.locator("option").all_text_contents() == [
        "none, a square", "1×4096×4096", "64×9×7",
    ]  # fmt: skip
    shapes.select_option(label="64×9×7")
    assert state(page, "size") == [64, 9, 7]
    assert told(page).startswith("At 64×9×7")
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "not now")
    shapes.select_option(label="none, a square")
    assert state(page, "size") == [4096, 4096, 4096]


def test_variants_come_on_request(page: Page, state: State) -> None:
    chip = page.get_by_role("button", name="all kernels")
    assert chip.get_attribute("aria-pressed") == "false"
    chip.click()
    assert state(page, "variants") is True
    expect(page.locator(".lab-kernel")).to_have_count(18)
    order = page.locator(".lab-kernel").evaluate_all("(all) => all.map((n) => n.dataset.name)")
    assert order[:3] == ["naive", "tiled", "tiled:TILE=16"]
    chip.click()
    expect(page.locator(".lab-kernel")).to_have_count(17)


def test_the_mouse_reads_a_bar(page: Page) -> None:
    bar(page, "tiled").hover()
    for words in (
        "Tiled · 8,000 GFLOP/s · 16 % of cuBLAS, 50,000 in the same run",
        "Median of 35 samples: all from 7,920 to 8,080, the middle half from 7,960 to 8,040.",
        NOTE,
    ):
        assert words in told(page)
    assert page.locator(".lab-current").count() == 1
    page.mouse.move(2, 2)
    assert told(page).startswith("At 4096³")


def test_on_a_page_of_the_book_a_bar_opens_its_chapter(page: Page) -> None:
    bar(page, "tiled").click()
    assert "See chapter 2, Tiling." in told(page)
    assert page.get_by_role("status").first.locator("a").count() == 0
    assert page.evaluate("location.hash") == ""
    page.evaluate("document.querySelector('#widget').className = 'lab-widget'")
    bar(page, "tiled").click()
    assert page.evaluate("location.hash") == "#tiled"
    bar(page, "naive").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#naive"
    bar(page, "strip").click()
    assert page.evaluate("location.hash") == "#naive"


@pytest.mark.chromium_only("a finger")
def test_a_finger_reads_first_and_opens_then(show: Opener) -> None:
    page = show(ladder(), **PHONE)
    page.evaluate("document.querySelector('#widget').className = 'lab-widget'")
    bar(page, "tiled").tap()
    assert "Tiled · 8,000 GFLOP/s" in told(page)
    assert page.evaluate("location.hash") == ""
    bar(page, "tiled").tap()
    assert page.evaluate("location.hash") == "#tiled"
