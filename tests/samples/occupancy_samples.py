"""An occupancy calculator with round numbers, for the tests of the widgets."""

from typing import Any

from sgemm_lab.widgets import Occupancy
from sgemm_lab.widgets.occupancy import Sm

GPUS: list[Sm] = [
    {"id": "a100", "name": "A100", "compute_capability": "8.0"},
    {"id": "t4", "name": "T4", "compute_capability": "7.5"},
    {"id": "h200", "name": "H200", "compute_capability": "9.0"},
]


def example(**changes: Any) -> Occupancy:
    """256 threads of 32 registers and 32 KB on an A100: 4 blocks."""
    numbers = {"threads": 256, "registers": 32, "shared": 32 * 1024}
    return Occupancy(GPUS, **{**numbers, **changes})
