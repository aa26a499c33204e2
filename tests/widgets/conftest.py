"""Widgets without a kernel, in a browser."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import widget_page
from playwright.sync_api import Browser, Page
from widget_page import Opener

import browser
from sgemm_lab.widgets import LabWidget

MOST_KEPT = 6
"""Blank pages that wait for a test. Each has a process of its own."""
_LIKE_NEW = """() => [
  /native code/.test(Date), innerWidth, innerHeight,
  matchMedia("(prefers-color-scheme: dark)").matches,
  matchMedia("(prefers-reduced-motion: reduce)").matches,
]"""
"""What a test may have set for good: the clock, the size, the colours and motion asked for."""


class Pages:
    """Pages that go from test to test, for a new one takes as long as most tests.

    Each test gets a document of its own. A page that does not look like new is not lent again.
    """

    def __init__(self, reader: Browser) -> None:
        self._reader = reader
        self._kept: list[tuple[str, Page, object]] = []

    def lend(self, options: dict[str, Any]) -> tuple[str, Page, object]:
        """Return a blank page with these settings, behind their text, before what it looks like."""
        asked = browser.still(self._reader, **options)
        key = json.dumps(asked, sort_keys=True)
        for place, (its, _, _) in enumerate(self._kept):
            if its == key:
                return self._kept.pop(place)
        page = self._reader.new_context(**asked).new_page()
        return key, page, page.evaluate(_LIKE_NEW)

    def give_back(self, key: str, page: Page, like_new: object) -> None:
        """Take a page back."""
        if page.is_closed() or page.evaluate(_LIKE_NEW) != like_new:
            page.context.close()
            return
        page.mouse.move(0, 0)
        page.goto("about:blank")
        self._kept.append((key, page, like_new))
        for _, oldest, _ in self._kept[:-MOST_KEPT]:
            oldest.context.close()
        del self._kept[:-MOST_KEPT]


@pytest.fixture(scope="session")
def pages(reader: Browser) -> Pages:
    return Pages(reader)


@pytest.fixture
def show(pages: Pages) -> Iterator[Opener]:
    """Return a function that opens a widget; at the end no page may have complained."""
    complaints: list[str] = []
    lent: list[tuple[str, Page, object]] = []
    hear: dict[str, Callable[[Any], None]] = {
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "request": lambda request: complaints.append(f"request {request.url}"),
    }

    def opener(widget: LabWidget, theme: str | None = "light", **options: Any) -> Page:
        lent.append(pages.lend({"viewport": {"width": 800, "height": 900}, **options}))
        page = lent[-1][1]
        page.set_default_timeout(5000)
        for event, heard in hear.items():
            page.on(event, heard)  # type: ignore[call-overload]
        page.set_content(widget_page.page(widget, theme))
        page.wait_for_function("window.ready")
        return page

    yield opener
    for key, page, like_new in lent:
        for event, heard in hear.items():
            page.remove_listener(event, heard)
        pages.give_back(key, page, like_new)
    assert [text for text in complaints if not text.startswith("request blob:")] == []


@pytest.fixture
def state() -> Callable[[Page, str], Any]:
    """Return a function that reads one key of the page's model."""
    return lambda page, name: page.evaluate(f"window.model.get('{name}')")
