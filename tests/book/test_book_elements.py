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
    buttons = visit.page.locator(".lab-widget-live button")
    assert buttons.all_inner_texts() == ["pressed 0 times", "pressed 0 times", "pressed 40 times"]
    buttons.nth(0).click()
    assert buttons.all_inner_texts() == ["pressed 1 times", "pressed 1 times", "pressed 40 times"]
    assert (visit.console, visit.outside) == ([], [])


def test_broken_widget_leaves_its_picture_and_says_so(specimen: Site, contexts: Any) -> None:
    visit = contexts().goto(specimen, "chapters/broken.html")
    widget = visit.page.locator(".lab-widget")
    assert widget.locator(".lab-widget-still").inner_text() == "A still picture."
    assert not widget.locator(".lab-widget-live").is_visible()
    assert any("could not be drawn" in said for said in visit.console)


def test_ids_stay_unique_though_a_picture_stands_twice(specimen: Site, contexts: Any) -> None:
    page = contexts().goto(specimen, PAGE).page
    twice = page.evaluate(
        "[...document.querySelectorAll('.bd-article [id]')].map(node => node.id)"
        ".filter((id, place, all) => all.indexOf(id) !== place)"
    )
    assert twice == []


def test_wide_formula_scrolls_from_its_beginning(specimen: Site, contexts: Any) -> None:
    page = contexts(**PHONE).goto(specimen, PAGE).page
    place = page.evaluate(
        "[...document.querySelectorAll('div.math')].map(box => ({wide: box.scrollWidth >"
        " box.clientWidth, start: box.querySelector('math').getBoundingClientRect().left"
        " - box.getBoundingClientRect().left, focus: box.tabIndex}))"
    )
    assert [box["wide"] for box in place] == [False, True]
    assert place[1]["start"] >= -1
    assert place[1]["focus"] == 0
