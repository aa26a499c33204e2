"""Data like the book's, with round numbers, for the tests of the widgets."""

from sgemm_lab.widgets.data import LEVEL_NAMES, Gpu, Level, Peak, Point

MEASURED = "measured, NVIDIA H200, 2026-11-21"


def level(name: str, gbs: float, source: str = "data sheet") -> Level:
    measured = source == MEASURED
    return Level(id=name, gbs=gbs, label=LEVEL_NAMES[name], source=source, measured=measured)


def peak(gflops: float, source: str = "data sheet") -> Peak:
    return Peak(gflops=gflops, source=source, measured=source == MEASURED)


H200: Gpu = {
    "id": "h200",
    "name": "NVIDIA H200",
    "peak_gflops": 63_700,
    "peaks": [peak(63_700, MEASURED), peak(66_900, "132 SM × 128 lanes × 2 × 1.98 GHz")],
    "levels": [
        level("dram", 4190, MEASURED),
        level("dram", 4800),
        level("l2", 9800, MEASURED),
        level("shared", 33_454, "132 SM × 128 B"),
    ],
}
A100: Gpu = {
    "id": "a100",
    "name": "NVIDIA A100",
    "peak_gflops": 19_500,
    "peaks": [peak(19_500)],
    "levels": [level("dram", 1555), level("shared", 19_491)],
}
T4: Gpu = {
    "id": "t4",
    "name": "Tesla T4",
    "peak_gflops": 8_100,
    "peaks": [peak(8_100)],
    "levels": [level("dram", 320)],
}
GPUS = [H200, A100, T4]


def point(
    kernel: str,
    level: str,
    intensity: float,
    gflops: float,
    kind: str,
    *,
    gpu: str = "h200",
    note: str = "",
) -> Point:
    """A point on the H200, without a bound."""
    return {
        "kernel": kernel,
        "gpu": gpu,
        "level": level,
        "intensity": intensity,
        "gflops": gflops,
        "kind": kind,  # type: ignore[typeddict-item]
        "note": note,
        "bound_by": "",
        "bound_gflops": 0.0,
        "mark": level,
    }


POINTS = [
    point("naive_rows", "dram", 0.25, 1047, "predicted"),
    point("naive_rows", "dram", 1.1, 505, "measured", note="Each warp touches 32 sectors."),
    point("naive_rows", "l2", 0.3, 505, "measured"),
    point("naive", "dram", 0.25, 1047, "predicted"),
    point("naive", "dram", 24, 6250, "measured", note="Caches serve most requests."),
    point("naive", "l2", 1.9, 6250, "measured"),
    point("tiled_16", "dram", 4, 16_760, "predicted"),
    point("tiled_16", "dram", 60, 8000, "measured"),
    point("tiled_16", "shared", 0.25, 8000, "measured"),
    point("tiled_32", "dram", 8, 33_520, "predicted"),
    point("tiled_32", "dram", 90, 9100, "measured"),
    point("tiled_32", "shared", 0.25, 9100, "measured"),
    point("tiled_32", "dram", 8, 12_440, "predicted", gpu="a100"),
    point("tiled_32", "dram", 30, 2900, "measured", gpu="a100"),
]
