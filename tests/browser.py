"""Find the browsers of the tests, or get them. Run as a script, it makes sure that they are there.

Chromium runs all tests that read pages; Firefox those that ``--in firefox`` chooses. WebKit opens
every page in ``make whole``, and comes with ``--webkit`` alone.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgemm_lab.book.browser import FLAGS, find

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = [
    "FIREFOX_SETTINGS", "FLAGS", "PHONE", "STILL", "find", "find_firefox", "find_webkit",
    "still",
]  # fmt: skip

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
"""Settings of a page on a phone."""
STILL = {"reduced_motion": "reduce"}
"""Settings of a page that does not move: to draw what moves takes a fifth of Chromium's time. Tests
of motion ask for it."""
FIREFOX_NAMES = ("firefox-esr", "firefox")
FIREFOX_SETTINGS = {"ui.prefersReducedMotion": 1, "ui.useOverlayScrollbars": 1}
"""No motion, and scroll bars that take no room, as on a phone."""
UNSPOKEN = ("is_mobile", "color_scheme", "reduced_motion")
"""Settings of a page that WebDriver BiDi, by which Firefox is driven, can't give."""


def find_firefox() -> str | None:
    """Return the program of a Firefox: what SGEMM_LAB_FIREFOX names, else the system's."""
    named = os.environ.get("SGEMM_LAB_FIREFOX")
    candidates = [named] if named else [*map(shutil.which, FIREFOX_NAMES)]
    return next((program for program in candidates if program and Path(program).exists()), None)


def find_webkit() -> tuple[Path, Path] | None:
    """Return the driver of WebKitGTK and the browser that it drives, as Debian has them."""
    driver = shutil.which("WebKitWebDriver")
    shells = sorted(Path("/usr/lib").glob("*/webkit2gtk-4*/MiniBrowser"))
    return (Path(driver), shells[-1]) if driver and shells else None


def still(reader: "Browser", **options: Any) -> dict[str, Any]:
    """Return the settings of a page that stands still, and others, as far as a browser has them."""
    asked = {**STILL, **options}
    if reader.browser_type.name != "firefox":
        return asked
    return {name: value for name, value in asked.items() if name not in UNSPOKEN}


def install_package(names: tuple[str, ...], found: Callable[[], object]) -> None:
    """Ask the system's package manager for the first of some packages that brings a browser."""
    if not shutil.which("apt-get"):
        return
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*prefix, "apt-get", "update"], check=False)
    for name in names:
        if found() is None:
            subprocess.run([*prefix, "apt-get", "install", "-y", name], check=False)


def install() -> None:
    """Get Playwright's own Chromium; where that fails, the system's package."""
    print("No Chromium found. Asking Playwright for one.", flush=True)
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if find() is None:
        print("Playwright had none to give. Asking the system's package manager.", flush=True)
        install_package(("chromium-headless-shell", "chromium"), find)


def main() -> int:
    if find() is None:
        install()
    if find_firefox() is None:
        print("No Firefox found. Asking the system's package manager.", flush=True)
        install_package(FIREFOX_NAMES, find_firefox)
    wanted = {
        "Chromium": (find(), "Install Chromium or Chrome", "SGEMM_LAB_BROWSER"),
        "Firefox": (find_firefox(), "Install Firefox", "SGEMM_LAB_FIREFOX"),
    }
    for name, (program, what_to_do, variable) in wanted.items():
        if program is None:
            print(
                f"The tests read the book in {name}, and it could not be installed. {what_to_do}, "
                f"or name its program in {variable}.",
                file=sys.stderr,
            )
            return 1
        print(f"{name} for the tests: {program}")
    return webkit() if "--webkit" in sys.argv else 0


def webkit() -> int:
    """Make sure that WebKitGTK is there, and a screen for it."""
    if not os.environ.get("DISPLAY"):
        install_package(("xvfb",), lambda: shutil.which("Xvfb"))
    install_package(("webkit2gtk-driver",), find_webkit)
    if find_webkit() is None:
        print(
            "make whole reads the book in WebKit too, and it could not be installed. Install "
            "WebKitGTK with its driver, WebKitWebDriver.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
