"""The ring of stages: whose they are at which moment, and the reader's hands on it."""

from flight_samples import RING
from playwright.sync_api import expect
from widget_page import Opener

from sgemm_lab.widgets import BarrierRing


def test_a_stage_changes_hands_when_a_barrier_completes(show: Opener) -> None:
    page = show(BarrierRing(RING, time=0))
    told, on = page.locator(".lab-told"), page.get_by_role("slider", name="Time")
    stage = page.locator(".lab-stage")
    expect(told).to_have_text(
        "At 0 clocks: producers copy K tiles 0 to 3; multiplying warps wait until filled[0] "
        "shows 0."
    )
    bits = page.locator("svg .lab-bit")
    expect(bits).to_have_text(["1"] * 8)  # of new barriers
    expect(page.locator(".lab-awaited")).to_have_count(1)
    expect(stage.first).to_have_class("lab-stage lab-copied")
    on.press("ArrowRight")  # K tile 0 is there
    expect(stage.first).to_have_class("lab-stage lab-multiplied")
    expect(told).to_contain_text("multiplying warps multiply K tile 0 from stage 0")
    for _ in range(3):
        on.press("ArrowRight")  # so are the three behind it
    expect(told).to_contain_text("producers wait until emptied[0] shows 0")
    expect(bits).to_have_text(["1", "0"] * 4)  # emptied, filled: all stages are full
    on.press("ArrowRight")  # K tile 0 is multiplied: its stage goes back
    expect(told).to_contain_text("producers copy K tile 4 into stage 0")
    expect(bits).to_have_text(["0", "0", *["1", "0"] * 3])
    expect(stage.first).to_have_class("lab-stage lab-copied")
    expect(stage.nth(1)).to_have_class("lab-stage lab-multiplied")
    expect(stage.nth(2)).to_have_class("lab-stage lab-ready")
