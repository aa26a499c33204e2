"""The ring of stages: whose they are at which moment, and the reader's hands on it."""

from flight_samples import RING
from playwright.sync_api import expect
from widget_page import Opener

from sgemm_lab.widgets import BarrierRing


def test_a_stage_changes_hands_when_a_barrier_completes(show: Opener) -> None:
    page = show(BarrierRing(RING, time=0))
    told, on = page.locator(".lab-told"), page.get_by_role("slider", name="Step")
    stage = page.locator(".lab-stage")
    expect(told).to_have_text(
        "Producers wait for emptied[0] to copy K tile 4; "
        "consumers wait for filled[0] to read K tile 0."
    )
    names = page.locator("svg .lab-barrier", has_text="[")
    expect(names.first).to_have_text("▲ emptied[0] wait")
    expect(names.nth(1)).to_have_text("▼ filled[0] wait")
    expect(names.last).to_have_text("▼ filled[3]")
    expect(page.locator(".lab-awaited")).to_have_count(2)
    expect(stage.first).to_have_class("lab-stage lab-copied")
    on.press("ArrowRight")  # K tile 0 is there
    expect(stage.first).to_have_class("lab-stage lab-multiplied")
    expect(told).to_contain_text("consumers multiply K tile 0")
    for _ in range(3):
        on.press("ArrowRight")  # so are the three behind it
    expect(told).to_contain_text("Producers wait for emptied[0]")
    expect(names.nth(1)).to_have_text("▼ filled[0]")
    expect(stage.last).to_have_class("lab-stage lab-ready")
    on.press("ArrowRight")  # K tile 0 is multiplied: its stage goes back
    expect(told).to_contain_text("Producers wait for emptied[1]")
    expect(names.first).to_have_text("▲ emptied[0]")
    expect(stage.first).to_have_class("lab-stage lab-copied")
    expect(stage.nth(1)).to_have_class("lab-stage lab-multiplied")
    expect(stage.nth(2)).to_have_class("lab-stage lab-ready")
    on.press("End")
    expect(told).to_contain_text("All K tiles are multiplied")
