"""What moves a number: the same product measured in several ways, here or from the records."""

import statistics

from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, Picture, table
from sgemm_lab.lab.sample_picture import sample_picture
from sgemm_lab.measuring.methods import BOUND_SIZE, LAUNCH_SIZE, METHODS, POWER_SIZE, SIZES
from sgemm_lab.records.gpu_record import Record
from sgemm_lab.text import number

BOOK = "book"

_STEADY = 0.01


class Effects:
    """What one GPU found when one thing was changed in how cuBLAS is measured.

    ``launch_size``, ``bound_size`` and ``power_size`` are the M = N = K at which the first
    launches, the largest errors, and watts and clocks were taken.
    """

    launch_size = LAUNCH_SIZE
    bound_size = BOUND_SIZE
    power_size = POWER_SIZE

    def __init__(self, record: Record) -> None:
        """Read the latest effects of a record."""
        self._record = record
        found = record.readings(f"effect.{BOOK}")
        if SIZES[0] not in found:
            raise LabError(f"The record of {record.gpu.name} does not hold the effects.")
        self.run = found[SIZES[0]].run

    def samples(self, name: str, size: int) -> tuple[float, ...]:
        """Return the samples of a reading, such as "cached", "launches" or "watts.zeros"."""
        found = self._record.readings(f"effect.{name}").get(size)
        if found is None:
            raise LabError(f"The effect '{name}' was not measured at {size}.")
        return found.samples

    def median(self, name: str, size: int) -> float:
        """Return the middle sample of a reading."""
        return statistics.median(self.samples(name, size))

    def change(self, way: str, size: int) -> float:
        """Return how much faster a way makes cuBLAS look than the book's way: 0.1 is 10 %."""
        return self.median(way, size) / self.median(BOOK, size) - 1

    def turns(self, size: int = POWER_SIZE) -> Picture:
        """Draw the samples of all FP32 ways, in the order in which they took turns."""
        series = {METHODS[way]: self.samples(way, size) for way in METHODS if way != "tf32"}
        drifts = [samples[-1] / samples[0] - 1 for samples in series.values()]
        low, high = min(drifts), max(drifts)
        if max(abs(low), abs(high)) < _STEADY:
            conclusion = (
                f"The card was steady: from the first sample to the last no method changed by more "
                f"than {max(abs(low), abs(high)):.1%}."
            )
        else:
            conclusion = (
                f"From the first sample to the last the methods changed by {low:+.1%} to "
                f"{high:+.1%}, all together. Measured in turns, all are affected alike."
            )
        return sample_picture(series, f"Ways of measuring in turns at {size}³", conclusion)

    def _table(self) -> Output:
        rows = [
            [METHODS[way], *(self._cell(way, size) for size in SIZES)]
            for way in sorted(METHODS, key=lambda way: way != BOOK)
        ]
        rows[0][0] += ", GFLOP/s"
        heads = ["cuBLAS", *(f"{size}³" for size in SIZES)]
        note = f"{session.provenance(self._record.gpu, self.run)} Medians, all ways in turns."
        return table(heads, rows, note=note)

    def _cell(self, way: str, size: int) -> str:
        if way == BOOK:
            return number(self.median(way, size))
        change = round(self.change(way, size), 3)
        return f"{change:+.1%}".replace("-", "−") if change else "the same"

    def _repr_html_(self) -> str:
        return self._table().html

    def __repr__(self) -> str:
        return self._table().text


def effects() -> Effects:
    """Measure cuBLAS in ways that change its number, once per session; without a GPU read records.

    Raises:
        LabError: no record has them.
    """
    measured = any(record.readings(f"effect.{BOOK}") for record in session.here())
    if session.live() and not measured:
        session.measure_here([], [], effects=True)
    for record in session.all_records():
        if record.readings(f"effect.{BOOK}"):
            return Effects(record)
    raise LabError("No record has the effects. Take one with 'sgemm-lab record' on a GPU.")
