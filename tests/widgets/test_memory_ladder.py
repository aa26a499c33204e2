"""The memory ladder: its data, and the reader's hands on it."""

from typing import Any

import pytest
from ladder_samples import NOTE, memory
from playwright.sync_api import Page
from widget_page import Opener


def level(page: Page, name: str) -> Any:
    return page.locator(f'.lab-level[data-name="{name}"]')


def told(page: Page) -> str:
    return page.locator(".lab-verdict").inner_text()


@pytest.fixture
def page(show: Opener) -> Page:
    return show(memory())


def test_marks_stand_on_a_log_scale(page: Page) -> None:
    def at(name: str) -> float:
        box = level(page, name).locator(".lab-spot").bounding_box()
        assert box
        return float(box["x"] + box["width"] / 2)

    decade = at("latency l2") - at("latency l1")
    assert at("latency dram") - at("latency l2") == pytest.approx(decade * 0.426, abs=0.5)
    assert at("bandwidth shared") > at("bandwidth l1") > at("bandwidth l2")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("latency register", ["4 cycles, 2 ns", "125 multiply-adds per clock"]),
        ("latency register", ["500 must be under way", "one each of 16 warps"]),
        ("latency dram", ["800 cycles, 400 ns", "the SM could do 100,000 multiply-adds"]),
        ("bandwidth dram", ["4,000 GB/s, 20 bytes per clock and SM", "5 floats per clock"]),
        ("bandwidth dram", ["SM does 125 multiply-adds", "each float must be used in 25 of them"]),
        ("bandwidth copy", ["Half of these bytes are read, half are written."]),
    ],
)
def test_a_row_tells_what_its_number_means(page: Page, name: str, words: list[str]) -> None:
    level(page, name).hover()
    for word in words:
        assert word in told(page)
    assert NOTE in told(page)
