"""GPUs and kernels with round numbers, for the tests of the tiles on SMs."""

from sgemm_lab.widgets.tile_waves import Chip, TiledKernel

CHIPS: list[Chip] = [
    {"id": "h200", "name": "H200", "sms": 132},
    {"id": "t4", "name": "Tesla T4", "sms": 40},
]
LARGE: TiledKernel = {
    "name": "large", "bm": 128, "bn": 256, "bk": 8, "even": False, "gpu": "h200",
    "speeds": [(1024, 12_000.0), (2048, 48_000.0), (4096, 50_000.0)],
    "note": "NVIDIA H200, 2026-11-21",
}  # fmt: skip
EVEN: TiledKernel = {
    **LARGE,
    "name": "even",
    "even": True,
    "speeds": [(1024, 40_000.0), (2048, 50_000.0), (4096, 52_000.0)],
}
SMALL: TiledKernel = {
    **LARGE, "name": "small", "bm": 64, "bn": 64, "bk": 16, "gpu": "", "speeds": [], "note": "",
}  # fmt: skip
KERNELS = [LARGE, EVEN, SMALL]
