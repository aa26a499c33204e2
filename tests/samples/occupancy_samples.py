"""An occupancy calculator with round numbers, for the tests of the widgets."""

from typing import Any

from sgemm_lab.widgets import Occupancy
from sgemm_lab.widgets.occupancy import Preset, Sm

GPUS: list[Sm] = [
    {"id": "a100", "name": "A100", "compute_capability": "8.0"},
    {"id": "t4", "name": "T4", "compute_capability": "7.5"},
    {"id": "h200", "name": "H200", "compute_capability": "9.0"},
]
KERNELS: list[Preset] = [
    {
        "name": "tiled",
        "threads": 1024,
        "registers": {"8.0": 32, "9.0": 31, "7.5": 44},
        "shared": 8192,
    },
    {"name": "split", "threads": 256, "registers": {"8.0": 106, "9.0": 105}, "shared": 8320},
    {
        "name": "register_cache:BM=128,BN=128,BK=16,TM=8,TN=8",
        "threads": 256,
        "registers": {"8.0": 118, "9.0": 120},
        "shared": 16384,
    },
]


def example(**changes: Any) -> Occupancy:
    """256 threads of 32 registers and 32 KB on an A100: 4 blocks."""
    numbers = {"threads": 256, "registers": 32, "shared": 32 * 1024}
    return Occupancy(GPUS, **{**numbers, **changes})
