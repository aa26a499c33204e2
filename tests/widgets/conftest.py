"""Pages that hold one widget without a kernel behind it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import widget_page
from playwright.sync_api import BrowserContext, Page
from widget_page import Opener

from sgemm_lab.widgets import LabWidget


@pytest.fixture
def show(reading: Callable[..., BrowserContext]) -> Iterator[Opener]:
    """Return a function that opens a widget; at the end no page may have complained."""
    complaints: list[str] = []

    def opener(widget: LabWidget, theme: str | None = "light", **options: Any) -> Page:
        settings: dict[str, Any] = {"viewport": {"width": 800, "height": 900}}
        page = reading(**{**settings, **options}).new_page()
        page.set_default_timeout(5000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(f"request {request.url}"))
        page.set_content(widget_page.page(widget, theme))
        page.wait_for_function("window.ready")
        return page

    yield opener
    assert [text for text in complaints if not text.startswith("request blob:")] == []


@pytest.fixture
def state() -> Callable[[Page, str], Any]:
    """Return a function that reads one key of the page's model."""
    return lambda page, name: page.evaluate(f"window.model.get('{name}')")
