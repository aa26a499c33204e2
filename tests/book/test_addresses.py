"""Addresses without a page: former ones lead to today's page, others to one that leads on."""

from typing import Any

import pytest
from sites import LOST, REDIRECTS, Site
from turns import TAKES_TURNS

pytestmark = TAKES_TURNS


@pytest.mark.browser
def test_a_former_address_leads_to_todays_page(book: Site, contexts: Any) -> None:
    assert REDIRECTS
    for former, now in REDIRECTS.items():
        assert now in (book.folder / f"{former}.html").read_text(encoding="utf-8")
        assert (book.folder / "chapters" / now).is_file()
    former, now = next(iter(REDIRECTS.items()))
    page = contexts().page
    page.goto(book.url(f"{former}.html#exercises"))
    page.wait_for_url(book.url(f"chapters/{now}#exercises"))


@pytest.mark.browser
@pytest.mark.parametrize("unknown", ["none.html", "chapters/none/none.html"])
def test_an_unknown_address_shows_a_page_that_leads_on(
    book: Site, contexts: Any, unknown: str
) -> None:
    page = contexts().page
    lost = (book.folder / LOST).read_text(encoding="utf-8")
    page.route(
        book.url(unknown),
        lambda route: route.fulfill(status=404, body=lost, content_type="text/html"),
    )
    missing: list[str] = []
    page.on("requestfailed", lambda request: missing.append(request.url))
    page.on("response", lambda one: missing.append(one.url) if one.status != 200 else None)
    page.goto(book.url(unknown))
    assert page.get_by_role("heading", name="Page not found").is_visible()
    assert missing == [book.url(unknown)]
    page.get_by_role("link", name="start page").click()
    page.wait_for_url(book.url("chapters/00_start.html"))
