"""Tiles on GPUs, round by round, and the reader's hands on it."""

import gpu_samples
from playwright.sync_api import expect
from widget_page import Opener

from sgemm_lab.widgets import GpuTiles


def test_bytes_of_a_link_add_up() -> None:
    widget = GpuTiles(gpu_samples.PLANS, plan=1)
    assert widget.carried()[1, 0] == 4 * 300 * 300
    widget.round = 5  # beyond the last: the last is shown
    assert widget.shown == 2
    assert widget.carried()[1, 0] == 2 * 4 * 300 * 300
    assert "<td>0.72</td><td>no</td>" in widget.table()


def test_stepping_says_what_travels_and_what_a_byte_is_worth(show: Opener) -> None:
    page = show(GpuTiles(gpu_samples.PLANS))
    verdict = page.locator(".lab-verdict p")
    page.get_by_role("combobox", name="Plan").select_option(gpu_samples.PLANS[1]["label"])
    expect(verdict.first).to_have_text(
        "Round 1 of 3: 9 GPUs multiply. Meanwhile 18 tiles travel for later rounds, at most 0.72 "
        "MB into one GPU."
    )
    expect(verdict.last).to_contain_text("113 FLOP for each of these bytes")  # N/8 of 900, rounded
    for _ in range(2):
        page.get_by_role("slider", name="Round").press("ArrowRight")
    expect(verdict.first).to_contain_text(
        "9 GPUs multiply what is there. There are no more transfers"
    )
