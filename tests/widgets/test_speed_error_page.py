"""Speed over error: what the reader switches moves the marks to where Python says they stand."""

from typing import Any

import pytest
from error_samples import PLACES, WAYS
from playwright.sync_api import Locator, Page, expect
from widget_page import Opener, State

from sgemm_lab.widgets import SpeedError


def widget(**state: Any) -> SpeedError:
    return SpeedError(WAYS, **PLACES, **state)


def mark(page: Page, title: str) -> Locator:
    return page.locator(f'.lab-way[data-name="{title}"]')


def place(page: Page, title: str) -> tuple[float, float]:
    """The middle of a mark, once it has come to rest."""
    page.wait_for_function(
        """() => document.querySelector("#widget").getAnimations({ subtree: true }).length === 0"""
    )
    box = mark(page, title).locator("path").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def titles(page: Page) -> list[str]:
    return [str(one.get_attribute("data-name")) for one in page.locator(".lab-way").all()]


def test_what_python_says_is_shown_stands_on_the_picture(show: Opener, state: State) -> None:
    page, here = show(widget()), widget()
    for inputs, k, size, every in (
        ("half", 256, "4096³", False), ("large", 4096, "4096³", True),
        ("cancelling", 256, "16384³", True), ("half", 0, "16384³", False),
    ):  # fmt: skip
        page.get_by_label("Inputs").select_option(inputs)
        page.get_by_role("radio", name=str(k) if k else "as timed", exact=True).check()
        page.get_by_role("radio", name=size, exact=True).check()
        if state(page, "every") is not every:
            page.get_by_role("button", name="all kernels").click()
        here.inputs, here.k, here.size, here.every = inputs, k, size, every
        assert titles(page) == [way["title"] for way in here.shown]


def test_those_left_of_the_line_are_no_worse_than_cublas(show: Opener) -> None:
    page, here = show(widget(k=4096, every=True)), widget(k=4096, every=True)
    library = place(page, "cuBLAS FP32")[0]
    line = page.locator(".lab-library-line path").bounding_box()
    assert line is not None
    assert line["x"] + line["width"] / 2 == pytest.approx(library, abs=1)
    for way in here.shown:
        if not way["library"]:
            assert (place(page, way["title"])[0] < library) is (way["errors"][0][1] < 6e-7)


def test_a_switch_of_inputs_moves_what_errs_otherwise_and_nothing_else(show: Opener) -> None:
    page = show(widget(k=4096))
    before = {title: place(page, title) for title in titles(page)}
    page.get_by_label("Inputs").select_option("large")
    lost = {"cuBLAS FP16", "wgmma_fp16"}
    for title, (x, y) in before.items():
        now = place(page, title)
        assert now[1] == pytest.approx(y, abs=0.5)
        assert (now[0] > x + 20) is (title in lost)
        assert mark(page, title).get_attribute("aria-label") == (
            f"{title}, lost values" if title in lost else title
        )
    expect(page.get_by_text("lost values")).to_be_visible()
    expect(page.locator(".lab-verdict")).to_contain_text("2 ways lose values")


def test_a_mark_tells_its_numbers_to_keys_and_pointer(show: Opener, state: State) -> None:
    page = show(widget(k=4096))
    told = page.locator(".lab-verdict")
    page.locator(".lab-way[tabindex='0']").focus()
    page.keyboard.press("End")
    assert state(page, "selected") == "Strassen, level 2"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert state(page, "selected") == "cuBLAS TF32"
    expect(told).to_contain_text("cuBLAS TF32 · products in TF32 · 400 TFLOP/s at 4096³.")
    expect(told).to_contain_text("Its error is 2.5·10⁻⁴, 420 times that of cuBLAS in FP32.")
    x, y = place(page, "wgmma_3xfp16")
    page.mouse.move(x + 6, y - 6)
    expect(told).to_contain_text("0.4 times that of cuBLAS")
    expect(page.locator(".lab-current")).to_have_attribute("data-name", "wgmma_3xfp16")
    page.mouse.move(x + 6, y + 300)
    page.keyboard.press("Escape")
    expect(told).to_contain_text("wgmma_3xfp16 is the fastest")
