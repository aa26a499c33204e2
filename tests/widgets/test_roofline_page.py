"""The roofline under mouse, finger and keyboard."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page
from widget_page import Opener, State, overlapping_texts
from widget_samples import GPUS, POINTS, point

from sgemm_lab import lab
from sgemm_lab.widgets import Roofline

NAIVE = "naive, measured"
H200_POINTS = [point for point in POINTS if point["gpu"] == "h200"]


@pytest.fixture
def page(show: Opener) -> Page:
    return show(Roofline(GPUS, POINTS, level="dram"))


def readout(page: Page) -> str:
    return page.locator(".lab-verdict").inner_text()


def centre(page: Page, name: str) -> tuple[float, float]:
    box = page.locator(f'.lab-point[data-name="{name}"] path').bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_point_stands_where_its_numbers_say(page: Page) -> None:
    """Decades are equally wide, so two ticks give the scale."""
    ticks = {
        text: page.locator("text.lab-tick[text-anchor=middle]")
        .get_by_text(text, exact=True)
        .bounding_box()
        for text in ("1", "100")
    }
    one, hundred = (box["x"] + box["width"] / 2 for box in ticks.values() if box)
    x, _ = centre(page, NAIVE)  # 24 FLOP/B
    assert x == pytest.approx(one + (hundred - one) / 2 * 1.3802, abs=1)


def test_the_mouse_reads_a_point(page: Page) -> None:
    page.mouse.move(*centre(page, NAIVE))
    text = readout(page)
    for words in ("naive", "DRAM", "24 FLOP/B", "6,250 GFLOP/s", "9.8 % of the roof", "63,700"):
        assert words in text
    assert "Caches serve most requests." in text
    assert page.locator('.lab-point.lab-active[data-kernel="naive"]').count() == 2
    page.mouse.move(5, 5)
    assert readout(page).startswith("DRAM of NVIDIA H200 is the lower roof up to")


def test_it_opens_with_the_level_that_binds_and_shows_the_others_one_by_one(
    show: Opener, state: State
) -> None:
    widget = Roofline(GPUS, H200_POINTS)
    assert widget.level == "shared"
    page = show(widget)
    assert page.get_by_role("radio", name="Shared memory").is_checked()
    assert page.locator(".lab-point").count() == 2
    roofs = {roof.get_attribute("data-level") for roof in page.locator(".lab-roof").all()}
    assert roofs == {"shared", "peak"}
    page.get_by_role("radio", name="L2").check(force=True)
    assert state(page, "level") == "l2"
    assert page.locator(".lab-point").count() == 2


ROOFLINES = [
    lambda: lab.roofline("naive_rows", "naive"),
    lambda: lab.roofline("double_buffer", "column_order"),
    lambda: lab.roofline("naive", "tiled", "double_buffer"),
    lambda: lab.roofline("tiled", "tiled:TILE=16", "sliding_window", "float4"),
]


@pytest.mark.parametrize("make", ROOFLINES)
@pytest.mark.parametrize("width", [390, 712])
def test_every_roof_and_every_point_of_the_book_has_its_name(
    show: Opener, make: Callable[[], Roofline], width: int
) -> None:
    page = show(make(), viewport={"width": width, "height": 900})
    for level in page.get_by_role("radio").all():
        level.check(force=True)
        points = page.locator(".lab-point").count()
        assert points
        assert page.locator(".lab-name").count() == points
        roofs = page.locator(".lab-roof").count()
        labels = page.locator(".lab-layer-labels .lab-label:not(.lab-name)").all_text_contents()
        assert len([text for text in labels if not text.startswith("ridge")]) == roofs
        assert overlapping_texts(page) == []


def test_the_keyboard_walks_the_points(page: Page, state: State) -> None:
    page.get_by_label("GPU").focus()
    page.keyboard.press("Tab")
    assert state(page, "selected") == "naive_rows, predicted"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert state(page, "selected") == "naive_rows, measured"
    assert "505 GFLOP/s" in readout(page)
    assert page.locator(".lab-verdict").get_attribute("aria-live") == "polite"
    ring = page.locator(".lab-point:focus .lab-ring")
    assert ring.evaluate("(node) => getComputedStyle(node).strokeWidth") == "3px"
    page.keyboard.press("End")
    assert state(page, "selected") == "tiled_32, measured"
    page.keyboard.press("ArrowRight")
    assert state(page, "selected") == "tiled_32, measured"
    page.keyboard.press("Home")
    assert state(page, "selected") == "naive_rows, predicted"
    page.keyboard.press("Escape")
    assert state(page, "selected") == ""
    assert readout(page).startswith("DRAM of NVIDIA H200 is the lower roof up to")


def test_the_point_stays_selected_at_another_level_and_on_another_gpu(
    page: Page, state: State
) -> None:
    page.mouse.click(*centre(page, "tiled_32, measured"))
    page.mouse.move(5, 5)
    assert "9,100 GFLOP/s" in readout(page)
    page.get_by_role("radio", name="Shared memory").check(force=True)
    assert "0.25 FLOP/B · 9,100 GFLOP/s" in readout(page)
    page.select_option("select", "a100")
    page.get_by_role("radio", name="DRAM").check(force=True)
    assert "2,900 GFLOP/s" in readout(page)
    assert state(page, "selected") == "tiled_32, measured"


def test_a_level_without_counted_bytes_says_why_it_is_empty(show: Opener) -> None:
    alone = [point("k", "shared", 0.3, 8000, "measured"), point("k", "dram", 1, 4000, "predicted")]
    page = show(Roofline(GPUS, alone, gpu="h200", level="dram"))
    assert "moves were not counted. L1 and shared memory need no counters." in readout(page)
    page = show(Roofline(GPUS, alone, gpu="h200", level="shared"))
    assert "not counted" not in readout(page)


@pytest.mark.chromium_only("a finger")
def test_a_finger_reads_a_point_and_the_words_stay(show: Opener, state: State) -> None:
    page = show(
        Roofline(GPUS, POINTS, level="dram"), has_touch=True, viewport={"width": 390, "height": 844}
    )
    page.locator(".lab-chart").scroll_into_view_if_needed()
    page.touchscreen.tap(*centre(page, NAIVE))
    assert "6,250 GFLOP/s" in readout(page)
    assert state(page, "selected") == NAIVE


def test_of_two_widths_close_together_it_is_drawn_to_the_last(page: Page) -> None:
    """The second comes after the first was heard of, and before it is drawn."""
    page.evaluate("""() => new Promise((done) => {
      const root = document.querySelector(".sgemm-lab");
      new ResizeObserver(() => {
        if (root.style.width !== "600px") return;
        root.style.width = "380px";
        setTimeout(done, 300);
      }).observe(root);
      root.style.width = "600px";
    })""")
    width = page.evaluate("document.querySelector('.lab-chart').viewBox.baseVal.width")
    assert width < 380
