"""The bundles of the package's TypeScript: scripts and style sheets of notebooks and pages.

esbuild makes them (``esbuild.mjs``). In a checkout ``python -m sgemm_lab.bundles`` builds them if a
source has changed; a wheel has them. Constants that both languages use are defined in Python:
TypeScript imports the numbers of a module (``import { WARP } from "../hardware.py"``).
"""

import hashlib
import importlib
import json
import re
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from sgemm_lab import npm
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.files import BUNDLES, CHECKOUT, PACKAGE, bundle, write_whole
from sgemm_lab.style import theme_css

FOLDER = BUNDLES
"""``widgets/`` has an ES module and a style sheet per widget, ``pages/`` has the book's scripts,
``node/`` the simulator as a process."""

_BUILT_FROM = FOLDER / "built_from.txt"
_BUILDER = PACKAGE / "esbuild.mjs"
_SOURCES = (".ts", ".h", ".css", ".json", ".mjs")
_PYTHON = re.compile(r'^import \{[^}]*\} from "(\.[^"]+\.py)";', re.M)
_SECONDS_BETWEEN_LOOKS = 0.3


def text(name: str) -> str:
    """Return a bundle, such as ``pages/panel.js``."""
    return bundle(name).read_text(encoding="utf-8")


def build() -> None:
    """Build all bundles, unless they are made of the present sources.

    Raises:
        MissingToolError: npm or its packages are not here, or a source cannot be bundled.
    """
    sources = _fingerprint()
    if _BUILT_FROM.exists() and _BUILT_FROM.read_text(encoding="utf-8") == sources:
        return
    with tempfile.TemporaryDirectory() as folder:
        _esbuild(out=folder)
        # Not emptied before: someone may read a bundle meanwhile.
        for path in Path(folder).rglob("*.*"):
            write_whole(FOLDER / path.relative_to(folder), path.read_bytes())
    write_whole(_BUILT_FROM, sources)


@cache
def bundled(entry: Path, global_name: str | None = None) -> str:
    """Return one module with all that it imports, with readable names.

    ``global_name`` is the variable that gets the exports; without it the bundle is an ES module
    whose default export has them all.
    """
    form = {"format": "iife", "globalName": global_name} if global_name else {"format": "esm"}
    return _esbuild(entry=str(entry.resolve()), **form)


def _esbuild(**asked: str) -> str:
    npm.fetch()
    request = {
        "package": str(PACKAGE),
        "theme": theme_css(".sgemm-lab"),
        "constants": _constants(),
        **asked,
    }
    done = npm.node(
        str(_BUILDER), input=json.dumps(request), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if done.returncode:
        raise MissingToolError(f"The TypeScript cannot be bundled. {done.stderr.strip()[:2000]}")
    return str(done.stdout)


def _sources() -> list[Path]:
    found = (path for path in PACKAGE.rglob("*.*") if path.suffix in _SOURCES)
    return sorted(path for path in found if not path.is_relative_to(FOLDER))


def _fingerprint() -> str:
    """Return what changes when a bundle would: sources, constants, and versions of packages."""
    digest = hashlib.sha256(json.dumps(_constants()).encode())
    digest.update(theme_css(".sgemm-lab").encode())
    for path in (*_sources(), CHECKOUT / "package-lock.json"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _constants() -> dict[str, dict[str, Any]]:
    """Return the numbers of each Python module that TypeScript imports, by path in the package."""
    modules = {
        (path.parent / named).resolve()
        for path in PACKAGE.rglob("*.ts")
        for named in _PYTHON.findall(path.read_text(encoding="utf-8"))
    }
    return {
        path.relative_to(PACKAGE.resolve()).as_posix(): _numbers(path) for path in sorted(modules)
    }


def _numbers(path: Path) -> dict[str, Any]:
    """Return a module's constants: numbers, and tables of numbers or texts."""
    parts = path.relative_to(PACKAGE.resolve()).with_suffix("").parts
    values = vars(importlib.import_module(".".join([PACKAGE.name, *parts])))
    return {
        name: value
        for name, value in values.items()
        if name[0].isalpha() and name.isupper() and _is_number(value)
    }


def _is_number(value: object) -> bool:
    if type(value) is tuple:
        return all(map(_is_number, value))
    if type(value) is dict:
        return all(
            type(key) is str and (type(one) is str or _is_number(one)) for key, one in value.items()
        )
    return type(value) in (int, float)


def write_types() -> None:
    """Write ``python.d.ts``: to the type checker, what TypeScript imports from Python modules."""
    modules = [
        f'declare module "*/{Path(path).name}" {{\n'
        + "".join(f"  export const {name}: {_type(value)};\n" for name, value in values.items())
        + "}\n"
        for path, values in _constants().items()
    ]
    write_whole(FOLDER / "python.d.ts", "\n".join(modules).encode())


def _type(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_type, value))}]"
    if isinstance(value, dict):
        return f"Record<string, {' | '.join(sorted(set(map(_type, value.values()))))}>"
    return "string" if isinstance(value, str) else "number"


def watch() -> None:
    """Build again after each change of a source, until Ctrl-C. Errors are printed."""
    seen: dict[Path, float] = {}
    while True:
        now = {path: path.stat().st_mtime for path in _sources()}
        if now != seen:
            seen = now
            try:
                build()
                print("Bundles are current.")
            except MissingToolError as problem:
                print(problem)
        time.sleep(_SECONDS_BETWEEN_LOOKS)


if __name__ == "__main__":
    try:
        watch() if "--watch" in sys.argv[1:] else build()
    except LabError as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        pass
