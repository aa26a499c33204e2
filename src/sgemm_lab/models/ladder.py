"""The ladder: every kernel of the book with its latest score and the bound over it."""

from collections.abc import Iterable
from dataclasses import dataclass

from sgemm_lab.errors import LabError
from sgemm_lab.gpu import find_gpu
from sgemm_lab.kernel import Kernel, load_kernels
from sgemm_lab.models.bound import Bound, bound_of
from sgemm_lab.records.gpu_record import Record, Score

GPU = "NVIDIA H200"
SIZE = 4096


@dataclass(frozen=True)
class Step:
    """A kernel and its latest score: at 4096³, or at its largest square where it takes no more."""

    kernel: Kernel
    score: Score | None
    """None where no square of this kernel's code is measured yet."""
    record: Record | None
    """Where the score stands."""

    @property
    def bound(self) -> Bound | None:
        """The bound over the score; None without one, or where its demand cannot be told."""
        if self.score is None or self.record is None:
            return None
        return bound_of(self.score, find_gpu(self.record.gpu.name), self.record)

    @property
    def title(self) -> str:
        """The kernel's title; a variant's with its constants, a smaller size with that size."""
        _, _, constants = self.kernel.name.partition(":")
        parts = [self.kernel.title, *([constants.replace(",", ", ")] if constants else [])]
        smaller = f" (at {self.score.m}³)" if self.score and self.at_smaller_size else ""
        return ", ".join(parts) + smaller

    @property
    def share(self) -> float:
        """The share of cuBLAS; 0 where nothing is measured."""
        return self.score.share if self.score else 0.0

    @property
    def at_smaller_size(self) -> bool:
        """Whether the score is one at a smaller size, because the kernel takes no larger."""
        return self.score is not None and self.score.m != SIZE


def ladder(records: Iterable[Record]) -> list[Step]:
    """Return every kernel and variant of the book, in order, as the ladder's GPU measured it.

    Raises:
        LabError: nothing was recorded on that GPU.
    """
    squares = _squares([record for record in records if record.gpu.name == GPU])
    steps = [
        Step(kernel, *squares.get((kernel.name, kernel.fingerprint), (None, None)))
        for kernel in load_kernels(variants=True)
    ]
    if not any(step.score for step in steps):
        raise LabError(f"No record holds square sizes measured on {GPU}.")
    return steps


def _squares(records: Iterable[Record]) -> dict[tuple[str, str], tuple[Score, Record]]:
    """Return the latest score of each name and code at its largest square up to the ladder's."""
    found: dict[tuple[str, str], tuple[Score, Record]] = {}
    for record in records:
        for score in record.scores:
            code = (score.kernel, score.fingerprint)
            square = score.m == score.n == score.k <= SIZE
            if square and (code not in found or score.m >= found[code][0].m):
                found[code] = (score, record)
    return found
