"""Links to what a reader has in view: predictions, exercises, panels, pictures with settings."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sites import Site
from turns import TAKES_TURNS

pytestmark = [pytest.mark.browser, TAKES_TURNS]

PAGE = "chapters/first.html"


def linked(page: Page, inside: str) -> str:
    """Press the link of something, and return the address that the page then has."""
    before = page.url
    page.locator(inside).get_by_role("button", name="Copy link").first.click()
    page.wait_for_function("(before) => location.href !== before", arg=before)
    return page.url


def test_a_prediction_and_an_exercise_have_links_to_their_places(
    specimen: Site, contexts: Any
) -> None:
    page = contexts().goto(specimen, PAGE).page
    for kind in ("prediction", "exercise"):
        anchor = page.locator(f'[data-lab="{kind}"]').first.get_attribute("id")
        assert linked(page, f"#{anchor}").endswith(f"#{anchor}")


def test_a_link_to_a_picture_brings_its_settings(specimen: Site, contexts: Any) -> None:
    sender = contexts().goto(specimen, PAGE).page
    sliders = ".lab-widget-live input[type=range]"
    sender.locator(sliders).last.fill("5")
    address = linked(sender, ".lab-widget >> nth=-1")
    assert "#picture=2:" in address

    reader = contexts(viewport={"width": 390, "height": 800}).page
    reader.goto(address)
    expect(reader.locator(sliders).last).to_have_value("5")
    expect(reader.locator(sliders).last).to_be_in_viewport()
    expect(reader.locator(sliders).first).to_have_value("0")
