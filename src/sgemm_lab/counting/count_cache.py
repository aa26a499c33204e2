"""Cached counts, shipped with the package.

A count depends on the kernel's code and on the simulator's source. The cache stores a hash of the
kernel's code with each count: of the PTX for a launch, of the CUDA source for a block, so that a
block's count needs no compiler; and one hash of the simulator's source, which a wheel leaves out.
If either differs, the cache has no entry and the caller runs the simulator. ``make counts``
compiles all kernels and rebuilds the cache.
"""

import ast
import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sgemm_lab.files import PACKAGE, write_whole

FILE = Path(__file__).with_name("count_cache.json")
LAUNCHES, BLOCKS = "launches", "blocks"
"""Sections of the cache: counts of whole launches at two sizes, and of one block."""

_SIMULATED = ("simulator/*.ts", "counting/kernel_counts.py", "hardware.py")
SOURCES = {
    LAUNCHES: _SIMULATED,
    BLOCKS: (
        *_SIMULATED, "simulator/watches/global_pipe.ts", "formulas/tile.ts", "models/demand.ts",
    ),
}  # fmt: skip
"""The modules whose code the counts depend on."""

_SIMULATOR = PACKAGE / "simulator" / "simulation.ts"

Sections = Mapping[str, Mapping[str, Any]]


def cached_count(section: str, name: str, code: str) -> Any | None:
    """Return the cached count of a name and its code; None if it is missing or out of date."""
    found = _read(FILE).get(section, {"state": "", "counts": {}})
    entry = found["counts"].get(name)
    if entry is None or entry["code"] != short_hash(code):
        return None
    if _SIMULATOR.exists() and found["state"] != state(section):
        return None
    return entry["counted"]


def entry(code: str, counted: Any) -> dict[str, Any]:
    """Return a cache entry: the hash of the code and the count as plain data."""
    return {"code": short_hash(code), "counted": counted}


def write(sections: Sections, path: Path = FILE) -> None:
    """Write all counts, one a line, so that a change shows what it touches."""
    lines = []
    for section, entries in sections.items():
        rows = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in entries.items()]
        head = f'{json.dumps(section)}: {{"state": {json.dumps(state(section))}, "counts": {{'
        lines.append(f"{head}\n" + ",\n".join(rows) + "\n}}")
    write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n")


@lru_cache(maxsize=2)
def state(section: str) -> str:
    """Return a hash of the code that the counts of a section depend on."""
    files = sorted(path for pattern in SOURCES[section] for path in PACKAGE.glob(pattern))
    texts = ((path.suffix, path.read_text(encoding="utf-8")) for path in files)
    return short_hash(
        "".join(code_of(text) if suffix == ".py" else _typescript(text) for suffix, text in texts)
    )


def _typescript(source: str) -> str:
    """Return TypeScript without comment lines and blank lines."""
    lines = map(str.strip, source.splitlines())
    return "\n".join(line for line in lines if not line.startswith(("//", "/*", "*")) and line)


def code_of(source: str) -> str:
    """Return Python source without docstrings, comment lines and blank lines.

    A change of words then leaves the counts valid.
    """
    strings = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
    docs = {line for node in strings for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = enumerate(map(str.strip, source.splitlines()), start=1)
    return "\n".join(
        line for number, line in lines if line and line[0] != "#" and number not in docs
    )


def short_hash(text: str) -> str:
    """Return a hash of 16 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=4)
def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found
