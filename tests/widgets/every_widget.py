"""One widget of each class, as the book shows it: what is timed and weighed.

A new widget is one line here.
"""

from collections.abc import Callable

from sgemm_lab import lab
from sgemm_lab.widgets import LabWidget, Steps

LARGE = "register_cache:BM=128,BN=128,TM=8,TN=8"


def steps(name: str, size: tuple[int, int, int]) -> Steps:
    found = lab.step(name, size)
    assert isinstance(found, Steps)
    return found


def occupancy() -> LabWidget:
    found = lab.occupancy("register_cache", LARGE)
    assert isinstance(found, LabWidget)
    return found


# Where the book has several, one with much in it.
BOOK: dict[str, Callable[[], LabWidget]] = {
    "roofline": lambda: lab.roofline("register_cache", LARGE, "transposed", "padded", "split"),
    "intensity": lambda: lab.intensity("split", predict=True),
    "coalescing": lambda: lab.coalescing("sliding_window", "float4_by_row", "float4", size=128),
    "banks": lambda: lab.banks(LARGE, "transposed", "float4_tile", "padded", "split"),
    "steps": lambda: steps("double_buffer:BM=64,BN=64,BK=4", (8, 8, 12)),
    "occupancy": occupancy,
    "timeline": lambda: lab.timeline("split", "double_buffer"),
    "ladder": lab.ladder,
    "memory ladder": lab.memory_ladder,
}
