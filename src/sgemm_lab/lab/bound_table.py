"""The table of a kernel's bound: the demand on every unit of the GPU, and what each unit allows."""

from sgemm_lab.kernel import Kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.closing import PER_STEP, not_measured
from sgemm_lab.lab.demand import wavefronts
from sgemm_lab.lab.output import Output, Unavailable, table
from sgemm_lab.models.measured_bound import MeasuredBound, of_ladder
from sgemm_lab.text import four_digits, number, percent, size_text


class BoundTable:
    """What a kernel asks of every unit, and what each unit leaves to it."""

    def __init__(self, measured: MeasuredBound) -> None:
        self.bound = measured.bound
        self.gflops = measured.bound.gflops
        self.unit = measured.bound.unit
        self.demand = measured.bound.cap.demand
        self.speed = measured.score.gflops
        self.share = measured.share
        self._name = measured.kernel.name

    def clocks(self, steps: int) -> dict[str, int]:
        """Return an SM's clocks for so many multiply-adds of warps: one per wavefront, and idle."""
        read, busy = (round(steps * one) for one in (wavefronts(self._name), self.demand))
        return {"read": read, "copy": busy - read, "idle": round(busy / self.share - busy)}

    def _table(self) -> Output:
        rows = [
            [
                cap.label + (" (measured rate: an estimate)" if cap.estimate else ""),
                f"{four_digits(cap.demand)} {cap.counted_in}",
                number(cap.gflops),
                percent(self.speed / cap.gflops),
                cap.source,
            ]
            for cap in (*self.bound.caps, *self.bound.estimates)
        ]
        size = size_text(self.bound.size)
        note = (
            f"{self._name} at {size} on {self.bound.gpu}: {number(self.speed)} GFLOP/s. "
            f"The first line is the limit. Demand per {PER_STEP}, 64 FLOP."
        )
        heads = ["unit", "demand", "GFLOP/s at most", "reached", "demand by"]
        return table(heads, rows, note=note)

    def _repr_html_(self) -> str:
        return self._table().html

    def __repr__(self) -> str:
        return self._table().text


def bound(kernel: str | Kernel) -> BoundTable | Unavailable:
    """List the demand of a kernel on each unit of the GPU and what that unit allows.

    The least is the bound. The result has ``gflops``, ``unit``, ``demand``, ``speed``, ``share``
    and ``clocks`` for a sentence.
    """
    of = kernel_of(kernel)
    found = of_ladder(of, session.book_records())
    return BoundTable(found) if found else not_measured(of)
