"""The ladder: every kernel of the book with its latest score and the bound over it."""

from collections.abc import Iterable
from dataclasses import dataclass

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.gpu import find_gpu
from sgemm_lab.kernel import Kernel
from sgemm_lab.models.bound import Bound, bound_of
from sgemm_lab.records.gpu_record import Record, Score

GPU = "NVIDIA H200"
SIZE = 4096
MAIN_STEPS = frozenset(
    [
        "naive_rows",
        "naive",
        "tiled",
        "sliding_window",
        "float4",
        "thread_tile_1d",
        "thread_tile",
        "transposed",
        "float4_tile",
        "split",
        "double_buffer",
        "unrolled",
        "hoisted_guard",
        "column_order",
        "async_copy",
        "stages",
        "register_prefetch",
        "serpentine",
        "producers",
        "stream_k",
        "per_warp_stages",
        "wgmma_tf32",
        "wgmma_fp16",
        "wgmma_3xfp16",
    ]
)
"""The kernels that the ladder shows at first; all others come on request."""


@dataclass(frozen=True)
class LadderStep:
    """A kernel and its latest score at 4096³, or at the largest square that it accepts."""

    kernel: Kernel
    score: Score | None
    """None if no square was measured with this source."""
    record: Record | None

    @property
    def bound(self) -> Bound | None:
        """The bound of the score; None without a score, or if the demand is unknown."""
        if self.score is None or self.record is None:
            return None
        return bound_of(self.kernel, self.score, find_gpu(self.record.gpu.name), self.record)

    @property
    def title(self) -> str:
        """The kernel's title, with the constants of a variant and a smaller size."""
        smaller = f" (at {self.score.m}³)" if self.score and self.at_smaller_size else ""
        return self.kernel.display_title + smaller

    @property
    def share(self) -> float:
        """Speed relative to cuBLAS in the same arithmetic; 0 if one of them was not measured."""
        library = self.score.library_gflops(self.kernel.arithmetic) if self.score else None
        return self.score.gflops / library if self.score and library else 0.0

    @property
    def at_smaller_size(self) -> bool:
        """Whether the score is at a smaller size, because the kernel accepts no larger one."""
        return self.score is not None and self.score.m != SIZE


def ladder(records: Iterable[Record]) -> list[LadderStep]:
    """Return every kernel and variant of the book, in order, as the first GPU measured it.

    A kernel that it has not measured has the score of the next GPU that has.
    """
    squares = largest_squares(records)
    steps = [
        LadderStep(kernel, *squares.get((kernel.name, kernel.fingerprint), (None, None)))
        for kernel in load_kernels(variants=True)
    ]
    if not any(step.score for step in steps):
        raise LabError("No record holds square sizes.")
    return steps


def largest_squares(records: Iterable[Record]) -> dict[tuple[str, str], tuple[Score, Record]]:
    """Return the latest score at the largest square up to ``SIZE``, by name and fingerprint.

    A kernel that several GPUs have measured counts for the first of them.
    """
    found: dict[tuple[str, str], tuple[Score, Record]] = {}
    for record in records:
        first = found.copy()
        for score in record.scores:
            code = (score.kernel, score.fingerprint)
            square = score.m == score.n == score.k <= SIZE
            if square and code not in first and (code not in found or score.m >= found[code][0].m):
                found[code] = (score, record)
    return found
