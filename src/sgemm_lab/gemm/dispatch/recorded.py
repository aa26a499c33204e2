"""Predict the time of one kernel at a size from its record."""

import statistics

from sgemm_lab.gemm.dispatch.work import distance, extrapolated, is_aligned
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.gpu_record import Record

MAX_DISTANCE = 3.0
"""Largest distance of a recorded size; a doubling of M, N or K is 1."""


def predicted_from_record(kernel: Kernel, size: Size, record: Record, sms: int) -> float | None:
    """Return seconds extrapolated from the nearest recorded size, or None if none is near.

    Args:
        kernel: whose source is looked up.
        size: M, N, K.
        record: of the GPU.
        sms: number of SMs of the GPU.
    """
    near = [
        score
        for score in record.scores_of(kernel)
        if is_aligned(score.size) == is_aligned(size) and distance(score.size, size) <= MAX_DISTANCE
    ]
    if not near:
        return None
    score = min(near, key=lambda score: distance(score.size, size))
    seconds = statistics.median(score.measurement.seconds)
    return extrapolated(seconds, kernel, score.size, size, sms)
