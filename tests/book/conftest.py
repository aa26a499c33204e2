"""The built book, and a book with every element of a chapter, each served; and pages."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, BrowserContext
from sites import ROOT, SPECIMEN, Site, Visit, build, served, specimen_config


@pytest.fixture(scope="session")
def book() -> Iterator[Site]:
    build(ROOT)
    with served(ROOT / "_build" / "html") as site:
        yield site


@pytest.fixture(scope="session")
def specimen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    out = tmp_path_factory.mktemp("specimen")
    (out / "_config.yml").write_text(yaml.safe_dump(specimen_config()))
    build(SPECIMEN, "--config", str(out / "_config.yml"), "--path-output", str(out))
    with served(out / "_build" / "html") as site:
        yield site


@pytest.fixture
def contexts(chromium: Browser) -> Iterator[Any]:
    """Return a function that opens a fresh page: desktop and light unless told otherwise."""
    opened: list[BrowserContext] = []

    def visit(**options: Any) -> Visit:
        settings = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
        context = chromium.new_context(**{**settings, **options})
        opened.append(context)
        return Visit(context.new_page())

    yield visit
    for context in opened:
        context.close()
