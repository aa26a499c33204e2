"""The built book, and a book with every element of a chapter, each served; and pages."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext
from sites import BUILT, ROOT, Site, Visit, build, build_specimen, once, served


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if os.environ.get(BUILT) != "built":
        once(tmp_path_factory, "book", lambda _: build(ROOT))
    with served(ROOT / "_build" / "html") as site:
        yield site


@pytest.fixture(scope="session")
def specimen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    out = once(tmp_path_factory, "specimen", build_specimen)
    with served(out / "_build" / "html") as site:
        yield site


@pytest.fixture
def contexts(reading: Callable[..., BrowserContext]) -> Any:
    """Return a function that opens a fresh page: desktop, light and still unless told otherwise."""

    def visit(**options: Any) -> Visit:
        settings = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
        return Visit(reading(**{**settings, **options}).new_page())

    return visit
