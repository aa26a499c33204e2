"""A drawing that moves: the slider shows one frame, and what it shows in words."""

import pytest
from frame_samples import FRAMES, window
from playwright.sync_api import Page, expect
from widget_page import Opener

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.lab.pictures.matrices import reading
from sgemm_lab.widgets import Frames


@pytest.fixture
def page(show: Opener) -> Page:
    return show(Frames(FRAMES, "k", frame=1))


def test_the_slider_shows_one_frame(page: Page) -> None:
    shown = page.locator(".lab-frame.lab-shown")
    expect(shown).to_have_text("The square is at 1.")
    page.get_by_role("slider", name="k").fill("2")
    expect(shown).to_have_text("The square is at 2.")
    expect(page.locator(".lab-frame:visible")).to_have_count(1)


def test_the_window_of_chapter_3_moves_along_k() -> None:
    kernel = load_kernel("sliding_window:TILE=2,BK=2")
    for k in range(8):
        found = reading(kernel, (4, 4, 8), "block", step=k)
        start = k // 2 * 2
        assert found.used == {"A": {(0, k), (1, k)}, "B": {(k, 0), (k, 1)}}
        assert found.fetched["A"] == {(row, start + i) for row in (0, 1) for i in (0, 1)}
        assert found.past("A") == {(row, i) for row in (0, 1) for i in range(start)}
        assert found.past("B") == {(i, column) for column in (0, 1) for i in range(start)}
    assert len(window().frames) == 8
