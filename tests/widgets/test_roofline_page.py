"""The roofline under mouse, finger and keyboard."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from widget_page import Opener
from widget_samples import GPUS, POINTS, point

from sgemm_lab.widgets import Roofline

State = Callable[[Page, str], Any]


# Each way in which a kernel can stand under the roofs.
CASES = [
    *POINTS,
    point("l2_bound", "l2", 1, 3000, "measured"),
    point("cached", "dram", 0.25, 6250, "measured"),
    point("cached_in_part", "dram", 0.25, 6250, "measured"),
    point("cached_in_part", "shared", 0.25, 6250, "measured"),
    point("planned", "dram", 4, 16_760, "predicted"),
    point("planned_large", "dram", 32, 63_700, "predicted"),
    point("half_up", "shared", 0.3076923076923077, 8143, "measured"),
]


@pytest.fixture
def page(show: Opener) -> Page:
    return show(Roofline(GPUS, POINTS))


def readout(page: Page) -> str:
    return page.locator(".lab-readout:not(.lab-measure)").inner_text()


def centre(page: Page, index: int) -> tuple[float, float]:
    box = page.locator(f'.lab-point[data-index="{index}"] path').bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_it_draws_roofs_points_and_what_joins_them(page: Page) -> None:
    assert page.locator(".lab-point").count() == 12
    assert page.locator('.lab-roof[data-level="dram"]').count() == 2
    assert page.locator('.lab-roof[data-level="peak"]').count() == 2
    assert page.locator(".lab-ridge").count() == 3
    assert page.locator(".lab-join").count() == 4
    assert page.locator(".lab-arrow").count() == 4
    names = page.locator(".lab-name").all_text_contents()
    assert sorted(names) == ["naive", "naive rows", "tiled 16", "tiled 32"]
    expect(page.get_by_text("DRAM 4,190 GB/s")).to_be_visible()
    expect(page.get_by_text("ridge 15.2")).to_be_visible()


def test_measured_roofs_are_solid_and_data_sheets_dashed(page: Page) -> None:
    dashes = {
        measured: page.locator(
            f'.lab-roof[data-level="dram"][data-measured="{measured}"]'
        ).evaluate("(node) => getComputedStyle(node).strokeDasharray")
        for measured in ("true", "false")
    }
    assert dashes["true"] == "none"
    assert dashes["false"] != "none"


def test_a_point_stands_where_its_numbers_say(page: Page) -> None:
    """Decades are equally wide, so two ticks give the scale."""
    ticks = {
        text: page.locator("text.lab-tick[text-anchor=middle]")
        .get_by_text(text, exact=True)
        .bounding_box()
        for text in ("1", "100")
    }
    one, hundred = (box["x"] + box["width"] / 2 for box in ticks.values() if box)
    x, _ = centre(page, 4)  # 24 FLOP/B
    assert x == pytest.approx(one + (hundred - one) / 2 * 1.3802, abs=1)


def test_the_mouse_reads_a_point(page: Page) -> None:
    page.mouse.move(*centre(page, 4))
    text = readout(page)
    for words in ("naive", "DRAM", "24 FLOP/B", "6,250 GFLOP/s", "9.8 % of the roof", "63,700"):
        assert words in text
    assert "Caches serve most requests." in text
    assert page.locator('.lab-point.lab-active[data-kernel="naive"]').count() == 3
    page.mouse.move(5, 5)
    assert readout(page).startswith("At ")


def test_the_mouse_reads_the_roofs(page: Page) -> None:
    chart = page.locator(".lab-chart").bounding_box()
    tick = page.locator("text.lab-tick").get_by_text("10", exact=True).bounding_box()
    assert chart
    assert tick
    page.mouse.move(tick["x"] + tick["width"] / 2, chart["y"] + chart["height"] - 70)
    text = readout(page)
    assert "FLOP/B the roof of NVIDIA H200 is" in text
    assert "Shared memory 63,700 GFLOP/s (FP32 peak)" in text
    dram = float(text.split("DRAM ")[1].split(" GFLOP")[0].replace(",", ""))
    assert dram == pytest.approx(41_900, rel=0.02)
    assert page.locator(".lab-cross").count() == 1
    assert page.locator(".lab-dot").count() == 3


def test_choosing_a_gpu_moves_roofs_and_hides_other_points(page: Page, state: State) -> None:
    before = page.locator('.lab-roof[data-level="dram"]').first.get_attribute("d")
    page.select_option("select", "a100")
    assert state(page, "gpu") == "a100"
    assert page.locator(".lab-point").count() == 2
    assert page.locator('.lab-roof[data-level="dram"]').first.get_attribute("d") != before
    page.select_option("select", "t4")
    assert page.locator(".lab-point").count() == 0
    assert "320 GFLOP/s" in page.locator(".lab-handle").get_attribute("aria-valuetext") or ""
    assert page.evaluate("window.model.saves") == 2


def test_levels_switch_off_and_on(page: Page, state: State) -> None:
    chip = page.get_by_role("button", name="Shared memory")
    assert chip.get_attribute("aria-pressed") == "true"
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    assert state(page, "hidden_levels") == ["shared"]
    assert page.locator('.lab-roof[data-level="shared"]').count() == 0
    assert page.locator(".lab-point").count() == 10
    chip.click()
    assert state(page, "hidden_levels") == []
    assert page.locator(".lab-point").count() == 12


def test_kernels_switch_off(page: Page, state: State) -> None:
    page.get_by_role("button", name="naive", exact=True).click()
    assert state(page, "hidden_kernels") == ["naive"]
    assert page.locator('[data-kernel="naive"]').count() == 0
    assert page.locator('.lab-point[data-kernel="naive_rows"]').count() == 3


def test_the_path_leads_from_kernel_to_kernel(page: Page, state: State) -> None:
    path = page.get_by_label("Path at")
    assert path.locator("option").all_inner_texts() == ["none", "DRAM", "L2", "Shared memory"]
    path.select_option("dram")
    assert state(page, "path") == "dram"
    assert page.locator(".lab-step").count() == 3
    assert page.locator(".lab-point").count() == 4
    assert page.locator(":is(.lab-join, .lab-arrow)").count() == 0
    assert page.locator('.lab-roof[data-level="l2"]').count() == 0
    expect(page.get_by_role("button", name="L2")).to_be_hidden()
    page.locator('.lab-point[data-kernel="naive"]').focus()
    assert "From naive rows to here: 12.4 times the speed at 21.8 times the FLOP/B" in readout(page)
    page.get_by_role("button", name="naive", exact=True).click()
    assert page.locator(".lab-step").count() == 2
    path.select_option("")
    assert page.locator(".lab-step").count() == 0
    expect(page.get_by_role("button", name="L2")).to_be_visible()


def test_a_gpu_without_two_points_has_no_path(page: Page) -> None:
    page.get_by_label("Path at").select_option("dram")
    page.select_option("select >> nth=0", "t4")
    expect(page.get_by_label("Path at")).to_be_hidden()
    assert page.locator(".lab-step").count() == 0


def test_it_says_what_must_change(page: Page) -> None:
    page.locator('.lab-point[data-index="8"]').focus()
    text = readout(page)
    assert "The lowest roof over this kernel is shared memory, 8,364 GFLOP/s (2 wavefronts" in text
    assert "it reaches 96 % of that. The next is the FP32 peak at 63,700" in text
    assert "it takes 7.62 times fewer wavefronts per multiply-add." in text


def test_the_words_follow_the_gpu(page: Page, state: State) -> None:
    page.locator('.lab-point[data-index="10"]').focus()
    assert "shared memory, 8,364 GFLOP/s" in readout(page)
    page.select_option("select >> nth=0", "a100")
    assert state(page, "selected") == 13
    assert "tiled 32 · measured" in readout(page)
    assert "lower than the FP32 peak, 19,500 GFLOP/s. It reaches 15 % of it" in readout(page)


def test_the_registers_have_the_flat_roof(page: Page) -> None:
    assert "Registers 63,700 GFLOP/s (FP32 peak, operands in registers)" in readout(page)


def test_python_and_javascript_say_the_same(show: Opener) -> None:
    widget = Roofline(GPUS, CASES)
    page = show(widget)
    for gpu in GPUS:
        widget.gpu = gpu["id"]
        page.evaluate("(id) => window.model.set('gpu', id)", gpu["id"])
        for node in page.locator(".lab-point").all():
            node.focus()
            assert widget.words(node.get_attribute("data-kernel") or "") in readout(page)


def test_the_keyboard_walks_the_points(page: Page, state: State) -> None:
    page.get_by_label("Path at").focus()
    page.keyboard.press("Tab")
    assert state(page, "selected") == 0
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert state(page, "selected") == 1
    assert "505 GFLOP/s" in readout(page)
    live = page.locator(".lab-readout:not(.lab-measure)")
    assert live.get_attribute("aria-live") == "polite"
    ring = page.locator(".lab-point:focus .lab-ring")
    assert ring.evaluate("(node) => getComputedStyle(node).strokeWidth") == "3px"
    page.keyboard.press("End")
    assert state(page, "selected") == 11
    page.keyboard.press("ArrowRight")
    assert state(page, "selected") == 11
    page.keyboard.press("Home")
    assert state(page, "selected") == 0
    page.keyboard.press("Escape")
    assert state(page, "selected") == -1


def test_enter_opens_the_page_of_a_kernel(page: Page) -> None:
    page.locator('.lab-point[data-index="10"]').focus()
    assert "Read about tiled 32" in readout(page)
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#tiled-32"


def test_the_probe_is_a_slider(page: Page) -> None:
    probe = page.get_by_role("slider")
    probe.focus()
    assert probe.get_attribute("aria-valuenow") == "1"
    page.keyboard.press("PageUp")
    assert probe.get_attribute("aria-valuenow") == "2"
    assert "DRAM 8,380 GFLOP/s" in (probe.get_attribute("aria-valuetext") or "")
    assert readout(page).startswith("At 2 FLOP/B")
    page.keyboard.press("ArrowLeft")
    assert float(probe.get_attribute("aria-valuenow") or 0) == pytest.approx(1.78, abs=0.01)
    page.keyboard.press("Home")
    assert probe.get_attribute("aria-valuenow") == probe.get_attribute("aria-valuemin")


def test_a_finger_reads_a_point_and_the_words_stay(show: Opener, state: State) -> None:
    page = show(Roofline(GPUS, POINTS), has_touch=True, viewport={"width": 390, "height": 844})
    page.locator(".lab-chart").scroll_into_view_if_needed()
    page.touchscreen.tap(*centre(page, 4))
    assert "6,250 GFLOP/s" in readout(page)
    assert state(page, "selected") == 4


def test_nothing_below_the_widget_moves(page: Page) -> None:
    height = "document.querySelector('#widget').offsetHeight"
    before = page.evaluate(height)
    for index in range(12):
        page.locator(f'.lab-point[data-index="{index}"]').focus()
        assert page.evaluate(height) == before


def test_python_can_change_what_is_shown(page: Page) -> None:
    page.evaluate("window.model.set('selected', 4)")
    assert "6,250 GFLOP/s" in readout(page)
    page.evaluate("window.model.set('points', [])")
    page.evaluate("window.model.set('hidden_levels', ['dram', 'l2', 'shared'])")
    assert page.locator(".lab-point").count() == 0
    assert page.locator(".lab-roof").count() == 2


def test_texts_of_data_are_texts(show: Opener) -> None:
    note = "<img src=x onerror=alert(1)>"
    page = show(Roofline(GPUS, [point("k", "dram", 1, 1000, "measured", note=note, label=note)]))
    page.locator(".lab-point").focus()
    assert note in readout(page)
    assert page.locator("#widget img").count() == 0


def test_it_redraws_to_the_width_it_gets(page: Page) -> None:
    page.set_viewport_size({"width": 420, "height": 900})
    page.wait_for_function("document.querySelector('.lab-chart').viewBox.baseVal.width < 400")
    expect(page.locator(".lab-chart")).to_be_visible()
