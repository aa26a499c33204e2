"""Demands of kernels over many tile constants, for sliders.

A slider must answer at once and on machines without a compiler. So what blocks ask for with other
constants is counted beforehand, by the same simulation as every bound, and travels with the package
in ``tile_sweep.json``.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sgemm_lab.cuda.compiler import CompileError
from sgemm_lab.files import write_whole
from sgemm_lab.kernel import Kernel, Size, load_kernel
from sgemm_lab.models.demand import GLOBAL, LOOKUPS, SHARED, block_demand

SLIDES = Path(__file__).with_name("tile_sweep.json")
KERNELS = ("tiled", "float4", "register_cache", "split", "double_buffer")
CHOICES = {
    "TILE": (4, 8, 16, 32),
    "BM": (64, 128),
    "BN": (64, 128),
    "BK": (8, 16, 32, 64),
    "TM": (4, 8),
    "TN": (4, 8),
}
"""Values of each constant that are tried."""

COLUMNS = (SHARED, GLOBAL, LOOKUPS)
"""What stands in a row, per step at ``SIZE``."""

SIZE: Size = (4096, 4096, 4096)


def slides(name: str) -> dict[tuple[int, ...], dict[str, float]]:
    """Return the demands per step of a kernel at 4096³ by its constants' values.

    Keys are values in the order of :func:`slid_constants`. Constants with which the kernel does not
    compile have no entry.

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


def slid_constants(kernel: Kernel) -> list[str]:
    """Return the constants of a kernel that can be slid, in the order of its file."""
    return [constant.name for constant in kernel.constants if constant.name in CHOICES]


def counted_anew(kernel: Kernel) -> dict[str, Any]:
    """Count a kernel with every choice of its constants that compiles.

    Raises:
        LabError: NVRTC is not installed.
    """
    names = slid_constants(kernel)
    rows = {}
    for values in itertools.product(*(CHOICES[name] for name in names)):
        demand = _demand(kernel.with_constants(**dict(zip(names, values, strict=True))))
        if demand is not None:
            row = [round(demand[column], 6) for column in COLUMNS]
            rows[",".join(map(str, values))] = row
    return {"fingerprint": kernel.fingerprint, "constants": names, "rows": rows}


def main() -> None:
    """Count every kernel of :data:`KERNELS` anew, and say how many choices there are."""
    made = {name: counted_anew(load_kernel(name)) for name in KERNELS}
    write_whole(SLIDES, "\n".join(_lines(made)) + "\n")
    rows = sum(len(entry["rows"]) for entry in made.values())
    print(f"Wrote {rows} choices of {len(made)} kernels to {SLIDES.name}.")


def _demand(kernel: Kernel) -> Mapping[str, float] | None:
    if kernel.launch_shape(*SIZE).threads > 1024:
        return None
    try:
        return block_demand(kernel).per_step(SIZE)
    except CompileError:
        return None


def _lines(made: Mapping[str, Any]) -> Iterator[str]:
    """JSON with a line per kernel, so that a change shows which kernels it touches."""
    yield "{"
    for number, (name, entry) in enumerate(made.items(), 1):
        comma = "," if number < len(made) else ""
        yield f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}{comma}"
    yield "}"


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SLIDES.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    main()
