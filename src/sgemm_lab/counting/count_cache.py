"""Cached counts, shipped with the package.

A count depends on the kernel's code and on the simulator's source. The cache stores a hash of the
kernel's code with each count: of the PTX for a launch, of the CUDA source for a block, so that a
block's count needs no compiler; and one hash of the simulator's source, which a wheel leaves out.
If either differs, the cache has no entry and the caller runs the simulator. ``make counts``
compiles all kernels and rebuilds the cache.
"""

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
    return short_hash("".join(_code(path.read_text(encoding="utf-8")) for path in files))


def _code(source: str) -> str:
    """Return a source without lines of comments and blank lines."""
    lines = map(str.strip, source.splitlines())
    comments = ("//", "/*", "*", "#")
    return "\n".join(line for line in lines if line and not line.startswith(comments))


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
