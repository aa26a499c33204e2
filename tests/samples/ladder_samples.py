"""A ladder like the book's, with round numbers, for the tests of the widgets."""

from typing import Any

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.kernel import Size
from sgemm_lab.models.ladder import ladder as recorded_steps
from sgemm_lab.records.store import load_records
from sgemm_lab.widgets import Ladder
from sgemm_lab.widgets.ladder import LIBRARY, GpuName, Result, Step

H200: GpuName = {"id": "h200", "name": "NVIDIA H200"}
T4: GpuName = {"id": "t4", "name": "Tesla T4"}
SIZES: list[Size] = [(s, s, s) for s in (256, 1000, 1024, 4096)] + [(1, 4096, 4096), (64, 9, 7)]
STEPS: list[Step] = [
    {"name": "naive", "title": "Naive", "chapter": "chapter 1, Memory", "href": "#naive"},
    {"name": "tiled", "title": "Tiled", "chapter": "chapter 2, Tiling", "href": "#tiled"},
    {"name": "tiled:TILE=16", "title": "Tiled, TILE 16", "variant": True},
    {"name": "strip", "title": "Strip", "chapter": "chapter 2"},
    *({"name": f"k{i}", "title": f"Kernel number {i}"} for i in range(12)),  # type: ignore[list-item]
    {"name": "double", "title": "Double buffer"},
]
SPEEDS = {"naive": 400, "tiled": 8000, "tiled:TILE=16": 7000, "double": 40_000, LIBRARY: 50_000}
NOTE = "Recorded on NVIDIA H200, 2026-11-21: SM clock 1,980 MHz."


def result(kernel: str, size: Size = (4096, 4096, 4096), **changes: Any) -> Result:
    """A result whose samples spread by 1 % to each side, the middle half by 0.5 %."""
    middle = float(SPEEDS.get(kernel, 20_000))
    found: Any = {
        "gpu": "h200", "kernel": kernel, "size": size, "samples": 35, "min": 0.99 * middle,
        "p25": 0.995 * middle, "median": middle, "p75": 1.005 * middle, "max": 1.01 * middle,
        "cublas": 50_000, "note": NOTE,
    }  # fmt: skip
    return {**found, **changes}


def results() -> list[Result]:
    """Every kernel and cuBLAS at every size on the H200; on the T4 two at one size."""
    names = [*(step["name"] for step in STEPS), LIBRARY]
    everything = [result(name, size) for size in SIZES for name in names]
    taken = [r for r in everything if r["kernel"] != "strip" or r["size"][2] <= 256]
    small = {"gpu": "t4", "cublas": 4000, "note": "Recorded on Tesla T4."}
    return [*taken, *(shrunk(result(name, **small)) for name in ("naive", "tiled"))]


def shrunk(given: Result) -> Result:
    found: Any = dict(given)
    for key in ("min", "p25", "median", "p75", "max"):
        found[key] /= 10
    return found  # type: ignore[no-any-return]


def ladder(**more: Any) -> Ladder:
    return Ladder(STEPS, [H200, T4], results(), **{"size": (4096, 4096, 4096), **more})


WITHOUT_A_BOUND = {"cluster_split", "split_k", "one_row", "one_column"}
"""Kernels whose blocks are no tiles of C."""

WITHOUT_A_DEMAND = {
    *WITHOUT_A_BOUND,
    *(kernel.name for kernel in load_kernels() if "wgmma" in kernel.source),
}
"""Kernels of which it cannot be told what a block asks for: these, and those that are not
simulated, which the rate of the tensor cores bounds all the same."""

MEASURED = {step.kernel.name for step in recorded_steps(load_records()) if step.score}
"""Kernels that the ladder's GPU has measured as they are. Any other waits for its record."""
