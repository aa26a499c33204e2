"""Every page of the book, in a browser that reaches nothing but the page's own site."""

import gzip
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from sites import ROOT, Site

# The book is built once, for all tests that look at it.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("book")]

CHAPTERS = [f"chapters/{path.stem}.html" for path in sorted((ROOT / "chapters").glob("*.md"))]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
ALREADY_PACKED = (".woff", ".woff2", ".png")


def problems(page: Any) -> list[str]:
    """Return what axe-core has to say about the whole page, the theme's parts included."""
    found = Axe().run(page)
    return [
        f"{violation['id']}: {node['target']} {node.get('failureSummary', '')}"
        for violation in found.response["violations"]
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_no_page_asks_for_anything_outside_or_complains(
    book: Site, contexts: Any, scheme: str
) -> None:
    assert set(CHAPTERS) <= set(book.pages)
    for name in book.pages:
        visit = contexts().goto(book, name, scheme, until="networkidle")
        assert visit.outside == [], name
        assert visit.console == [], name


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter_with_all_its_widgets_weighs_less_than_700_kilobytes(
    book: Site, contexts: Any, chapter: str
) -> None:
    visit = contexts().goto(book, chapter)
    weight = 0
    for response in visit.responses:
        if response.url.startswith(("blob:", "data:")):
            continue
        body = response.body()
        packed = response.url.partition("?")[0].endswith(ALREADY_PACKED)
        weight += len(body) if packed else len(gzip.compress(body))
    assert 50_000 < weight < 700_000


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_widget_is_alive_and_still_in_print(book: Site, contexts: Any, chapter: str) -> None:
    page = contexts().goto(book, chapter).page
    widgets = page.locator(".lab-widget").all()
    for widget in widgets:
        assert widget.locator(".lab-widget-live > *").first.is_visible()
        assert not widget.locator(".lab-widget-still").is_visible()
    page.emulate_media(media="print")
    for widget in widgets:
        assert widget.locator(".lab-widget-still svg").is_visible()
        assert not widget.locator(".lab-widget-live").is_visible()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_pictures_stand_in_for_widgets_without_scripts(
    book: Site, contexts: Any, chapter: str
) -> None:
    page = contexts(java_script_enabled=False).page
    page.goto(book.url(chapter))
    for widget in page.locator(".lab-widget").all():
        assert widget.locator(".lab-widget-still svg").is_visible()


# Both devices and both colours; the other two pairs hold no rule that these do not.
@pytest.mark.parametrize("chapter", CHAPTERS)
@pytest.mark.parametrize(("device", "colours"), [("desktop", "light"), ("phone", "dark")])
def test_chapter_is_accessible_and_fits(
    book: Site, contexts: Any, chapter: str, colours: str, device: str
) -> None:
    options = PHONE if device == "phone" else {}
    page = (
        contexts(color_scheme=colours, reduced_motion="reduce", **options).goto(book, chapter).page
    )
    assert problems(page) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
