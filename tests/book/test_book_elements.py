"""Every element that a chapter may have, on a page of its own."""

from typing import Any

import pytest
from sites import Site

from browser import PHONE

pytestmark = pytest.mark.browser

PAGE = "chapters/first.html"


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_widgets_count_without_a_kernel_and_views_share_their_model(
    specimen: Site, contexts: Any, scheme: str
) -> None:
    visit = contexts().goto(specimen, PAGE, scheme)
    sliders = visit.page.locator(".lab-widget-live input[type=range]")
    assert [one.input_value() for one in sliders.all()] == ["0", "0", "3"]
    sliders.first.fill("1")
    assert [one.input_value() for one in sliders.all()] == ["1", "1", "3"]
    assert (visit.console, visit.outside) == ([], [])


def test_ids_stay_unique_though_a_picture_stands_twice(specimen: Site, contexts: Any) -> None:
    page = contexts().goto(specimen, PAGE).page
    twice = page.evaluate(
        "[...document.querySelectorAll('.bd-article [id]')].map(node => node.id)"
        ".filter((id, place, all) => all.indexOf(id) !== place)"
    )
    assert twice == []


def test_wide_formula_scrolls_from_its_beginning(specimen: Site, contexts: Any) -> None:
    page = contexts(**PHONE).goto(specimen, PAGE).page
    page.locator("div.math").last.scroll_into_view_if_needed()
    page.locator("div.math[tabindex]").wait_for()
    place = page.evaluate(
        "[...document.querySelectorAll('div.math')].map(box => ({wide: box.scrollWidth >"
        " box.clientWidth, start: box.querySelector('math').getBoundingClientRect().left"
        " - box.getBoundingClientRect().left}))"
    )
    assert [box["wide"] for box in place] == [False, True]
    assert place[1]["start"] >= -1
