"""The seven products: their words in Python, and the reader's steps in the page."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from product_samples import PRODUCTS
from widget_page import Opener

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.widgets import SevenProducts

State = Callable[[Page, str], Any]


def test_the_book_shows_the_plan_that_it_runs() -> None:
    assert lab.seven_products().products == SevenProducts(PRODUCTS).products


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"left": []}, "P1 needs quadrants of A under 'left'"),
        ({"right": [("A11", 1)]}, "P1 needs quadrants of B under 'right'"),
        ({"into": [("C11", 2)]}, "P1 needs quadrants of C under 'into'"),
    ],
)
def test_what_is_no_product_is_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        SevenProducts([{**PRODUCTS[0], **change}])  # type: ignore[typeddict-item]
    with pytest.raises(LabError, match="at least one product"):
        SevenProducts([])
    with pytest.raises(LabError, match=r"step is 8\. It is a whole number from 1 to 7"):
        SevenProducts(PRODUCTS, step=8)


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
    expect(c12.locator(".lab-part")).to_have_text(["+P1", "+P6"])
    expect(c12.locator(".lab-new")).to_have_text("+P6")
    expect(page.locator(".lab-verdict")).to_contain_text("P6 = (A21 + A22 − A11)")
    page.get_by_role("slider", name="Product").fill("6")
    assert state(page, "step") == 7
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.get_by_role("slider", name="Product").press("ArrowLeft")
    assert state(page, "step") == 6
    expect(c12.locator(".lab-part")).to_have_text(["+P1", "+P6", "+P5", "+P3"])
