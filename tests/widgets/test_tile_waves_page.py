"""Tiles on SMs: the words and data in Python, and the reader's hands on it."""

from typing import Any

from playwright.sync_api import Page, expect
from tile_samples import CHIPS, KERNELS
from widget_page import Opener, State

from sgemm_lab.widgets import TileWaves


def waves(**settings: Any) -> TileWaves:
    return TileWaves(CHIPS, KERNELS, **settings)


def fact(page: Page, name: str) -> str:
    return page.locator(f".lab-facts div:has(dt:text-is('{name}')) dd").inner_text()


def test_the_size_moves_everything(show: Opener, state: State) -> None:
    page = show(waves())
    assert fact(page, "Tiles") == "32 × 16 = 512"
    assert (fact(page, "Busiest SM"), fact(page, "SM time used")) == ("4 tiles", "97 %")
    expect(page.get_by_text("16 idle")).to_be_visible()
    before = page.locator(".lab-here").get_attribute("cx")
    page.get_by_role("slider", name="M = N = K").fill("32")
    assert state(page, "size") == 2112
    assert (fact(page, "Busiest SM"), fact(page, "SM time used")) == ("2 tiles", "58 %")
    expect(page.locator(".lab-verdict")).to_contain_text("a last one of 21 tiles. In it 111 SM")
    assert page.locator(".lab-here").get_attribute("cx") != before


def test_measured_speeds_stand_beside_the_curve(show: Opener) -> None:
    page = show(waves())
    assert page.locator(".lab-speed").count() == 6
    expect(page.locator(".lab-key").last).to_have_text(
        "whole tiles; squares: large, measuredeven split of K (Stream-K); diamonds: even, measured"
    )
    expect(page.locator(".lab-marks")).to_contain_text("(NVIDIA H200, 2026-11-21)")
    assert page.locator("select").first.locator("option").all_inner_texts() == [
        "128 × 256",
        "64 × 64",
    ]
    page.locator("select").first.select_option("small")
    assert page.locator(".lab-speed").count() == 0
    expect(page.locator(".lab-marks")).not_to_contain_text("Measured")
    assert fact(page, "Tiles") == "64 × 64 = 4,096"
