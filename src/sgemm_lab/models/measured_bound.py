"""A measured speed of a kernel beside the bound over it, for closing boxes and tables."""

from collections.abc import Sequence
from typing import NamedTuple

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.bound import ISSUE, Bound, bound_of
from sgemm_lab.models.ladder import largest_squares
from sgemm_lab.models.roofline import sheet_of
from sgemm_lab.records.gpu_record import Record, Score
from sgemm_lab.text import size_text


class MeasuredBound(NamedTuple):
    """A kernel, its score at one size, and the bound at that size."""

    kernel: Kernel
    score: Score
    record: Record
    bound: Bound

    @property
    def share(self) -> float:
        """Share of the bound that was reached."""
        return self.bound.share(self.score.gflops)

    @property
    def clock_mhz(self) -> float | None:
        """The SMs' clock while the kernel was timed; None where it was not recorded."""
        return self.score.clock_mhz

    @property
    def numbers(self) -> dict[str, float]:
        """Numbers for a text: the GPU's counters by name, and what follows from the bound.

        ``share`` of the bound in percent, ``speed`` in GFLOP/s, ``clock_mhz`` of the SMs where it
        was recorded, ``clocks`` of an SM per warp
        multiply-add, and ``rest``: the clocks beyond the demand on the unit that binds.
        """
        entry = self.record.launches(self.kernel).get(self.score.size)
        found = dict(entry.values) if entry else {}
        found |= {"share": 100 * self.share, "speed": self.score.gflops}
        if self.clock_mhz is not None:
            found["clock_mhz"] = self.clock_mhz
        issued = self.bound.of(ISSUE)
        if issued is not None:
            found["instructions"] = issued.demand
        found["clocks"] = self.bound.cap.clocks / self.share
        found["rest"] = found["clocks"] - self.bound.cap.clocks
        return found


def of_ladder(kernel: Kernel, records: Sequence[Record]) -> MeasuredBound | None:
    """Return a kernel's score on the ladder with its bound; None if it has no score there."""
    found = largest_squares(records).get((kernel.name, kernel.fingerprint))
    if found is None:
        return None
    score, record = found
    gpu = sheet_of(record)
    limit = bound_of(kernel, score, gpu, record) if gpu else None
    if limit is None:
        raise LabError(
            f"The demand of a block of '{kernel.name}' is not known, so the kernel has no bound. "
            "Name a size."
        )
    return MeasuredBound(kernel, score, record, limit)


def at_size(kernel: Kernel, size: Size, records: Sequence[Record]) -> MeasuredBound | None:
    """Return a kernel's score at one size with its bound; None if it was not measured there.

    A score of ``matmul`` counts if ``matmul`` picked this kernel. Where the demand of its blocks
    is not known, the bound leaves that demand out.
    """
    for record in records:
        gpu = sheet_of(record)
        own = [
            score
            for score in record.scores
            if score.size == size and (score.picked or score.kernel) == kernel.name
        ]
        for score in sorted(own, key=lambda score: bool(score.picked)):
            limit = bound_of(kernel, score, gpu, record, partial=True) if gpu else None
            if limit:
                return MeasuredBound(kernel, score, record, limit)
    return None


def nearest_ancestor(now: MeasuredBound) -> MeasuredBound | None:
    """Return the nearest ancestor that the same record measured at the same size, if any."""
    gpu = sheet_of(now.record)
    ancestor = parent_of(now.kernel)
    while ancestor is not None:
        score = now.record.score(ancestor, now.score.size)
        limit = bound_of(ancestor, score, gpu, now.record) if score and gpu else None
        if score and limit:
            return MeasuredBound(ancestor, score, now.record, limit)
        ancestor = parent_of(ancestor)
    return None


def required_ancestor(now: MeasuredBound) -> MeasuredBound | None:
    """Return the same, or None for a kernel without a parent; else a LabError is raised."""
    found = nearest_ancestor(now)
    if found is None and parent_of(now.kernel) is not None:
        raise LabError(
            f"No kernel before '{now.kernel.name}' was measured at {size_text(now.score.size)}, "
            "as it was. Record one at that size."
        )
    return found


def parent_of(kernel: Kernel) -> Kernel | None:
    """Return the kernel to compare with: for a variant the one with the default constants."""
    if ":" in kernel.name:
        return load_kernel(kernel.base_name)
    return load_kernel(kernel.parent) if kernel.parent else None
