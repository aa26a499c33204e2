"""Data like the book's, with round numbers, for the tests of the widgets."""

from sgemm_lab.widgets.data import Gpu, Point

MEASURED = "measured, NVIDIA H200, 2026-11-21"

H200: Gpu = {
    "id": "h200",
    "name": "NVIDIA H200",
    "peak_gflops": 63_700,
    "peak_source": MEASURED,
    "peak_measured": True,
    "other_peaks": [{"gflops": 66_900, "source": "132 SM × 128 lanes × 2 × 1.98 GHz"}],
    "levels": [
        {"id": "dram", "label": "DRAM", "gbs": 4190, "source": MEASURED, "measured": True},
        {"id": "dram", "label": "DRAM", "gbs": 4800, "source": "data sheet"},
        {"id": "l2", "label": "L2", "gbs": 9800, "source": MEASURED, "measured": True},
        {"id": "shared", "label": "Shared memory", "gbs": 33_454, "source": "132 SM × 128 B"},
    ],
}
A100: Gpu = {
    "id": "a100",
    "name": "NVIDIA A100",
    "peak_gflops": 19_500,
    "levels": [
        {"id": "dram", "gbs": 1555},
        {"id": "shared", "gbs": 19_491},
    ],
}
T4: Gpu = {
    "id": "t4",
    "name": "Tesla T4",
    "peak_gflops": 8_100,
    "levels": [{"id": "dram", "gbs": 320}],
}
GPUS = [H200, A100, T4]


def point(
    kernel: str, level: str, intensity: float, gflops: float, kind: str, **more: str
) -> Point:
    """A point on the H200; the kernel's name doubles as its label with spaces."""
    return {
        "kernel": kernel,
        "label": kernel.replace("_", " "),
        "gpu": more.pop("gpu", "h200"),
        "level": level,
        "intensity": intensity,
        "gflops": gflops,
        "kind": kind,  # type: ignore[typeddict-item]
        **more,  # type: ignore[typeddict-item]
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
    point("tiled_32", "dram", 8, 33_520, "predicted", href="#tiled-32"),
    point("tiled_32", "dram", 90, 9100, "measured", href="#tiled-32"),
    point("tiled_32", "shared", 0.25, 9100, "measured"),
    point("tiled_32", "dram", 8, 12_440, "predicted", gpu="a100"),
    point("tiled_32", "dram", 30, 2900, "measured", gpu="a100"),
]
