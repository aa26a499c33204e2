"""Demands of kernels over many tile constants, for sliders.

A slider needs results at once, and also without a compiler. So the per-block demand for other
constants is simulated in advance and shipped in ``tile_sweep.json``.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import CompileError
from sgemm_lab.files import write_whole
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.demand import GLOBAL, LOOKUPS, SHARED, block_demand

SWEEP_FILE = Path(__file__).with_name("tile_sweep.json")
KERNELS = ("tiled", "float4", "register_cache", "split", "double_buffer")
CHOICES = {
    "TILE": (4, 8, 16, 32),
    "BM": (64, 128),
    "BN": (64, 128),
    "BK": (8, 16, 32, 64),
    "TM": (4, 8),
    "TN": (4, 8),
}
"""Values of each constant."""

COLUMNS = (SHARED, GLOBAL, LOOKUPS)
"""Columns of a row: demands per warp FMA at ``SIZE``."""

SIZE: Size = (4096, 4096, 4096)


def tile_demands(name: str) -> dict[tuple[int, ...], dict[str, float]]:
    """Return the demands per warp FMA of a kernel at 4096³ by the values of its constants.

    Keys are values in the order of :func:`swept_constants`. Choices that do not compile are
    missing.

    Raises:
        KeyError: the kernel was not counted, or has changed since.
    """
    found = _shipped()[name]
    if found["fingerprint"] != load_kernel(name).fingerprint:
        raise KeyError(name)
    return {
        tuple(map(int, key.split(","))): dict(zip(COLUMNS, row, strict=True))
        for key, row in found["rows"].items()
    }


def swept_constants(kernel: Kernel) -> list[str]:
    """Return the constants of a kernel that have a slider, in the order of its file."""
    return [constant.name for constant in kernel.constants if constant.name in CHOICES]


def count_all_choices(kernel: Kernel) -> dict[str, Any]:
    """Count a kernel with every choice of its constants that compiles.

    Raises:
        LabError: NVRTC is not installed.
    """
    names = swept_constants(kernel)
    rows = {}
    for values in itertools.product(*(CHOICES[name] for name in names)):
        demand = _demand(kernel.with_constants(**dict(zip(names, values, strict=True))))
        if demand is not None:
            row = [round(demand[column], 6) for column in COLUMNS]
            rows[",".join(map(str, values))] = row
    return {"fingerprint": kernel.fingerprint, "constants": names, "rows": rows}


def main() -> None:
    """Count every kernel of :data:`KERNELS` and write the file."""
    made = {name: count_all_choices(load_kernel(name)) for name in KERNELS}
    write_whole(SWEEP_FILE, "\n".join(_lines(made)) + "\n")
    rows = sum(len(entry["rows"]) for entry in made.values())
    print(f"Wrote {rows} choices of {len(made)} kernels to {SWEEP_FILE.name}.")


def _demand(kernel: Kernel) -> Mapping[str, float] | None:
    if kernel.launch_shape(*SIZE).threads > 1024:
        return None
    try:
        return block_demand(kernel).per_step(SIZE)
    except CompileError:
        return None


def _lines(made: Mapping[str, Any]) -> Iterator[str]:
    """Yield JSON with one line per kernel, for readable diffs."""
    yield "{"
    for number, (name, entry) in enumerate(made.items(), 1):
        comma = "," if number < len(made) else ""
        yield f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}{comma}"
    yield "}"


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SWEEP_FILE.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    main()
