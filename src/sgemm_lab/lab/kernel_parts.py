"""Kernels on tensor cores, from the records: without some of their parts, and their power."""

import statistics
from typing import NamedTuple

from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.measuring.ablation import PARTS, SIZE
from sgemm_lab.measuring.power import POWER_CAP, POWER_SIZE


class TimedPart(NamedTuple):
    """Time of a launch, and the SMs' clock meanwhile."""

    us: float
    mhz: float

    @property
    def clocks(self) -> float:
        """Clocks of the launch."""
        return self.us * self.mhz


def part(name: str) -> TimedPart:
    """Return the time of one of ``PARTS`` (:mod:`sgemm_lab.measuring.ablation`) at 4096³.

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


class Power(NamedTuple):
    """What a product draws without pauses, and what clock and speed the GPU then has."""

    watts: float
    cap: float
    """Watts that the driver allows."""
    mhz: float
    gflops: float


def power(name: str) -> Power:
    """Return the power of a kernel, or of "cublas", "cublas_tf32" or "cublas_fp16", at 8192³.

    Raises:
        LabError: no record has it.
    """
    for record in session.book_records():
        found = [record.readings(f"power.{name}.{what}") for what in ("watts", "clock", "gflops")]
        cap = record.readings(POWER_CAP).get(0)
        if cap and all(POWER_SIZE in one for one in found):
            watts, mhz, gflops = (one[POWER_SIZE].median for one in found)
            return Power(watts, cap.median, mhz, gflops)
    raise LabError(f"No record has the power of {name}. Take one with 'sgemm-lab record' on a GPU.")
