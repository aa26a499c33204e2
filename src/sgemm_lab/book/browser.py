"""Where a Chromium is that can draw pages without a window: the system's, or Playwright's own."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sgemm_lab.errors import MissingToolError

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
"""Programs to look for. Chromium without its windows, the first, takes half the time for a page."""

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find() -> str | None:
    """Return the program of a browser already there: the system's, else Playwright's own."""
    named = os.environ.get("SGEMM_LAB_BROWSER")
    candidates = [named] if named else [*map(shutil.which, NAMES), _playwrights_own()]
    return next((program for program in candidates if program and Path(program).exists()), None)


@contextmanager
def opened() -> Iterator["Browser"]:
    """Start a browser without a window.

    Raises:
        MissingToolError: Playwright or a browser is not here.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MissingToolError(
            "Playwright is not installed, which drives the browser. 'make test', 'make pdf' and "
            "'make picture' install it."
        ) from None
    program = find()
    if program is None:
        raise MissingToolError(
            "No Chromium was found. Install Chromium or Chrome, or name its program in "
            "SGEMM_LAB_BROWSER."
        )
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


def _playwrights_own() -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path
