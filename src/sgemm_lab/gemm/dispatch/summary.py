"""Statistics over many shapes: geometric mean and minimum share of cuBLAS."""

import statistics
from dataclasses import dataclass

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.shapes import FORTY_SHAPES
from sgemm_lab.kernel import Size
from sgemm_lab.records.gpu_record import MATMUL, Record, Score
from sgemm_lab.records.store import scores


@dataclass(frozen=True)
class FortyShapes:
    """Scores of the dispatcher at the forty shapes on one GPU."""

    scores: tuple[Score, ...]
    """In the order of the shapes, without those not measured."""

    @property
    def missing(self) -> tuple[Size, ...]:
        """The shapes without a measurement."""
        measured = {score.size for score in self.scores}
        return tuple(size for size in FORTY_SHAPES if size not in measured)

    @property
    def geometric_mean(self) -> float:
        """Geometric mean of the speeds relative to cuBLAS."""
        return statistics.geometric_mean(score.share for score in self.scores)

    @property
    def least(self) -> Score:
        """The score with the smallest speed relative to cuBLAS."""
        return min(self.scores, key=lambda score: score.share)


def fixed_shape_scores(record: Record) -> FortyShapes:
    """Return the latest scores of the dispatcher at the forty shapes.

    Raises:
        LabError: none was measured.
    """
    found = {score.size: score for score in scores([record]) if score.kernel == MATMUL}
    measured = tuple(found[size] for size in FORTY_SHAPES if size in found)
    if not measured:
        raise LabError(
            f"The forty shapes were not measured on {record.gpu.name}. "
            "Run 'sgemm-lab shapes' on a GPU."
        )
    return FortyShapes(measured)
