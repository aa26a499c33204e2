"""Where a Chromium is that can draw pages without a window: the system's, or Playwright's own."""

import os
import shutil
from pathlib import Path

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


def _playwrights_own() -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path
