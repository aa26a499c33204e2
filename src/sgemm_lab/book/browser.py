"""Where a Chromium is that can draw pages without a window: the system's, or Playwright's own."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sgemm_lab.errors import LabError, MissingToolError

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

START_SECONDS = 120
"""How long a browser may take to start."""
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
        LabError: the browser does not start, ends, or waits too long for a page.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
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
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=program, args=FLAGS, timeout=START_SECONDS * 1000
            )
            yield chromium
            chromium.close()
    except Error as error:
        raise LabError(
            f"The browser {program} failed: {error.message.partition(chr(10))[0]} "
            "Other work may be using this machine. Run the command again when it is idle."
        ) from error


def _playwrights_own() -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path
