"""Predict the time of a plan: links by latency and bandwidth, products by a rate.

A transfer of b bytes takes α + b/β seconds (the alpha-beta model; R. W. Hockney, "The communication
challenge for MPP", 1994). Both come from a record, as do the rates of products. Links are full
duplex. The transfers of a round start together; several transfers of a GPU share its link, in each
direction.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sgemm_lab.multi_gpu.plan import Multiply, Plan, Receive


@dataclass(frozen=True)
class Link:
    """A link between two GPUs, in each direction."""

    alpha: float
    """Latency in seconds."""
    bytes_per_second: float

    def seconds(self, moved: int) -> float:
        """Return the time of a transfer in bytes; 0 for 0 bytes."""
        return self.alpha + moved / self.bytes_per_second if moved else 0.0

    @classmethod
    def fit(cls, times: Iterable[tuple[int, float]]) -> "Link":
        """Fit a link to measured pairs of bytes and seconds.

        It minimizes the squared relative errors, so that small transfers count as much as large.
        """
        moved, took = np.array(list(times), "float64").T
        slope, start = np.polyfit(moved, took, 1, w=1 / took)
        return cls(max(0.0, float(start)), float(1 / slope))


def seconds(plan: Plan, link: Link, flop_per_second: float, *, overlap: bool = True) -> float:
    """Return the predicted time of a plan whose products have one rate.

    With ``overlap`` a GPU multiplies and transfers concurrently, where buffers allow; otherwise
    sequentially. A transfer begins when both its GPUs are ready.
    """
    return _Clock(plan, link, flop_per_second, overlap).run()


class _Clock:
    """Simulate a plan round by round, with a clock for each queue of each GPU."""

    def __init__(self, plan: Plan, link: Link, rate: float, overlap: bool) -> None:
        self._plan, self._link, self._rate = plan, link, rate
        self._multiplying = [0.0] * plan.gpus
        # Without overlap both queues are the same list.
        self._moving = [0.0] * plan.gpus if overlap else self._multiplying
        self._filled: dict[tuple[int, str], float] = {}
        self._free: dict[tuple[int, str], float] = {}

    def run(self) -> float:
        for products, receives in self._plan.by_round():
            for gpu, step in products:
                self._multiply(gpu, step)
            if receives:
                self._exchange(receives)
        return max(*self._multiplying, *self._moving)

    def _multiply(self, gpu: int, step: Multiply) -> None:
        ready = (self._filled.get((gpu, name), 0.0) for name in (step.a, step.b))
        start = max(self._multiplying[gpu], *ready)
        end = start + 2 * math.prod(step.size) / self._rate
        self._multiplying[gpu] = end
        for name in (step.a, step.b):
            self._mark_read(gpu, name, end)

    def _exchange(self, receives: list[tuple[int, Receive]]) -> None:
        """Simulate the transfers of a round, which start together."""
        starts: dict[int, float] = {}
        out, into = [0] * self._plan.gpus, [0] * self._plan.gpus
        for gpu, step in receives:
            out[step.source] += step.tile.bytes
            into[gpu] += step.tile.bytes
            at_source = self._filled.get((step.source, step.source_buffer), 0.0)
            at_target = self._free.get((gpu, step.buffer), 0.0)
            for one, when in ((step.source, at_source), (gpu, at_target)):
                starts[one] = max(starts.get(one, 0.0), self._moving[one], when)
        ends = dict(starts)
        for gpu, step in receives:
            start = max(starts[gpu], starts[step.source])
            end = start + self._link.seconds(max(out[step.source], into[gpu]))
            self._filled[gpu, step.buffer] = end
            self._mark_read(step.source, step.source_buffer, end)
            for one in (gpu, step.source):
                ends[one] = max(ends[one], end)
        for one, end in ends.items():
            self._moving[one] = end

    def _mark_read(self, gpu: int, buffer: str, until: float) -> None:
        self._free[gpu, buffer] = max(self._free.get((gpu, buffer), 0.0), until)
