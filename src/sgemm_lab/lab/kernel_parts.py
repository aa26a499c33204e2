"""Times of kernels on tensor cores without some of their parts, from the records."""

import statistics
from typing import NamedTuple

from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.measuring.parts import PARTS, SIZE


class TimedPart(NamedTuple):
    """Time of a launch, and the SMs' clock meanwhile."""

    us: float
    mhz: float

    @property
    def clocks(self) -> float:
        """Clocks of the launch."""
        return self.us * self.mhz


def part(name: str) -> TimedPart:
    """Return the time of one of ``PARTS`` (:mod:`sgemm_lab.measuring.parts`) at 4096³.

    Raises:
        LabError: there is no such part, or no record has its time.
    """
    if name not in PARTS:
        raise LabError(f"There is no part '{name}': take one of {', '.join(PARTS)}.")
    for record in session.book_records():
        times, clocks = (record.readings(f"part.{name}{end}").get(SIZE) for end in ("", ".clock"))
        if times and clocks:
            return TimedPart(statistics.median(times.samples), clocks.samples[0])
    raise LabError(f"No record has the part '{name}'. Take one with 'sgemm-lab record' on a GPU.")
