"""The ladder: every kernel of the book with its latest score and the bound over it."""

from collections.abc import Iterable
from dataclasses import dataclass

from sgemm_lab.errors import LabError
from sgemm_lab.gpu import find_gpu
from sgemm_lab.kernel import Kernel, load_kernels
from sgemm_lab.models.bound import Bound, bound_of
from sgemm_lab.records.data import Record
from sgemm_lab.records.store import Score, scores

GPU = "NVIDIA H200"
SIZE = 4096


@dataclass(frozen=True)
class Step:
    """A kernel and its latest score: at 4096³, or at its largest square where it takes no more."""

    kernel: Kernel
    score: Score
    record: Record
    """Where the score stands."""

    @property
    def bound(self) -> Bound | None:
        """The bound over the score; None if the kernel has changed since."""
        return bound_of(self.score, find_gpu(self.record.gpu.name), self.record)

    @property
    def title(self) -> str:
        """The kernel's title; a variant's with its constants, a smaller size with that size."""
        _, _, constants = self.kernel.name.partition(":")
        parts = [self.kernel.title, *([constants.replace(",", ", ")] if constants else [])]
        return ", ".join(parts) + ("" if self.score.m == SIZE else f" (at {self.score.m}³)")


def ladder(records: Iterable[Record]) -> list[Step]:
    """Return every kernel and variant of the book that was recorded on the ladder's GPU, in order.

    Raises:
        LabError: nothing was recorded on it.
    """
    squares: dict[str, dict[int, tuple[Score, Record]]] = {}
    for record in records:
        for score in scores([record]):
            if score.gpu == GPU and score.m == score.n == score.k <= SIZE:
                squares.setdefault(score.kernel, {})[score.m] = score, record
    steps = [
        Step(kernel, *sizes[max(sizes)])
        for kernel in load_kernels(variants=True)
        if (sizes := squares.get(kernel.name))
    ]
    if not steps:
        raise LabError(f"No record holds square sizes measured on {GPU}.")
    return steps
