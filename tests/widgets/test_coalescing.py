"""The coalescing painter: its data, its model in two languages, and the reader's hands on it."""

import pytest
from playwright.sync_api import Page, expect
from request_samples import GLOBAL
from widget_page import Opener, State

from sgemm_lab.widgets import Coalescing


@pytest.fixture
def page(show: Opener) -> Page:
    return show(Coalescing(GLOBAL))


def verdict(page: Page) -> str:
    return page.locator(".lab-verdict").inner_text()


def facts(page: Page) -> dict[str, str]:
    return {
        row.locator("dt").inner_text(): row.locator("dd").inner_text()
        for row in page.locator(".lab-facts > div").all()
    }


@pytest.mark.parametrize(
    ("chosen", "sectors", "wavefronts", "words"),
    [
        (0, 32, 32, "8 times fewer"),
        (1, 1, 1, "All 32 lanes ask for the same 4 bytes: one sector serves them all,"),
        (2, 4, 1, "Every byte that moves is used"),
        (3, 4, 1, "Every byte that moves is used"),
    ],
)
def test_it_says_what_moves(
    page: Page, chosen: int, sectors: int, wavefronts: int, words: str
) -> None:
    widget = Coalescing(GLOBAL, chosen=chosen)
    page.select_option("select", str(chosen))
    assert words in verdict(page)
    assert facts(page)["Wavefronts"] == f"{wavefronts}"
    assert facts(page)["Sectors needed / moved"].endswith(f" / {sectors}")
    assert widget.request is not None
    assert f"{widget.request['label']}: {sectors} sector" in widget.table()


def test_it_draws_the_request_chosen(page: Page) -> None:
    assert facts(page) == {"Wavefronts": "32", "Sectors needed / moved": "4 / 32"}
    assert "12.5 % of the bytes that move are used" in verdict(page)
    assert page.locator(".lab-token").count() == 7
    assert page.locator(".lab-sector.lab-moved").count() == 7
    assert page.locator(".lab-break").count() == 6
    expect(page.get_by_text("… and 25 more lines, 1 sector of each")).to_be_visible()
    expect(page.locator(".lab-line")).to_contain_text("22acc += A[size_t(row) * K + k]")


def test_the_sliders_start_from_the_request_shown(page: Page, state: State) -> None:
    stride = page.get_by_role("slider", name="Stride")
    assert stride.get_attribute("aria-valuetext") == "64 floats"
    page.get_by_role("slider", name="Offset").fill("1")
    assert [state(page, name) for name in ("chosen", "stride", "offset", "bits")] == [-1, 64, 1, 32]
    assert page.locator("select").input_value() == "-1"
    expect(page.locator(".lab-line")).to_have_text("const float v = x[64 * lane + 1];")
    assert "32 sectors" in verdict(page)


def test_each_control_changes_what_it_should(page: Page, state: State) -> None:
    page.select_option("select", "2")
    page.get_by_role("slider", name="Offset").fill("4")
    assert facts(page)["Sectors needed / moved"] == "4 / 5"
    page.get_by_role("slider", name="Stride").fill("2")
    assert facts(page)["Sectors needed / moved"] == "4 / 9"
    page.get_by_role("radio", name="128 bit").check()
    assert state(page, "bits") == 128
    assert facts(page)["Sectors needed / moved"] == "16 / 32"
    assert "32 lanes ask for 512 bytes" in verdict(page)
    expect(page.locator(".lab-line")).to_contain_text("(x)[2 * lane + 4]")
    assert page.evaluate("window.model.saves") == 4
