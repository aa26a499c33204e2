"""Hazards of a launch: data races, accesses out of bounds, uninitialized values."""

from dataclasses import dataclass

from sgemm_lab.simulator.source_locations import Location

Dim3 = tuple[int, int, int]

OUT_OF_BOUNDS = "out of bounds"
MISALIGNED = "misaligned"
UNWRITTEN = "unwritten"
RACE = "race"
IN_FLIGHT = "in flight"
BARRIER = "barrier"
EXCHANGE = "exchange"
"""Kinds of hazard."""
SPLIT_BARRIER = "split barrier"
UNSET = "unset"
"""Kinds of warning: odd, and right on a GPU all the same, or not seen in what is written."""


@dataclass(frozen=True)
class Hazard:
    """Something wrong at one source line. ``str()`` gives the sentence for the reader."""

    kind: str
    location: Location
    message: str
    block: Dim3
    """``blockIdx`` (x, y, z) where it was first found."""
    thread: Dim3
    """``threadIdx`` (x, y, z)."""
    array: str | None = None
    element: tuple[int, ...] | None = None
    """Index in the array, in elements; a shared array counts as one-dimensional."""
    other_thread: Dim3 | None = None
    """The other thread of a race."""
    other_location: Location | None = None
    """Where the other thread of a race accessed the element."""
    across_warps: bool = False
    """Whether the two threads of a race are of different warps."""

    def __str__(self) -> str:
        return self.message
