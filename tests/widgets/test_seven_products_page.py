"""The seven products: their words in Python, and the reader's steps in the page."""

from playwright.sync_api import expect
from product_samples import PRODUCTS
from widget_page import Opener, State

from sgemm_lab import lab
from sgemm_lab.widgets import SevenProducts


def test_the_book_shows_the_plan_that_it_runs() -> None:
    assert lab.seven_products().products == SevenProducts(PRODUCTS).products


def test_the_reader_steps_through_them(show: Opener, state: State) -> None:
    page = show(SevenProducts(PRODUCTS))
    a21 = page.get_by_role("group", name="Quadrants of A").locator(".lab-quadrant").nth(2)
    c12 = page.get_by_role("group", name="Quadrants of C").locator(".lab-quadrant").nth(1)
    expect(c12.locator(".lab-part")).to_have_text(["+P1"])
    expect(page.get_by_role("button", name="Back")).to_be_disabled()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    assert state(page, "step") == 3
    assert a21.get_attribute("data-sign") == "1"
    expect(c12.locator(".lab-part")).to_have_text(["+P1", "+P3"])
    expect(c12.locator(".lab-new")).to_have_text("+P3")
    expect(page.locator(".lab-verdict")).to_contain_text("P3 = (A21 + A22 − A11)")
    page.get_by_role("slider", name="Product").fill("6")
    assert state(page, "step") == 7
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.get_by_role("slider", name="Product").press("ArrowLeft")
    assert state(page, "step") == 6
    expect(c12.locator(".lab-part")).to_have_text(["+P1", "+P3", "+P5", "+P6"])
