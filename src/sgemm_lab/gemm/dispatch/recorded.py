"""What records let expect of one kernel at a size."""

import statistics

from sgemm_lab.gemm.dispatch.search import REACH
from sgemm_lab.gemm.dispatch.work import carried_over, distance, is_aligned
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.gpu_record import Record


def recorded_seconds(kernel: Kernel, size: Size, record: Record, sms: int) -> float | None:
    """Return what the nearest recorded size lets expect of a kernel; None where none is near.

    Args:
        kernel: of today's book.
        size: M, N, K.
        record: of the GPU.
        sms: how many SMs the GPU has.
    """
    near = [
        score
        for score in record.scores_of(kernel)
        if is_aligned(score.size) == is_aligned(size) and distance(score.size, size) <= REACH
    ]
    if not near:
        return None
    score = min(near, key=lambda score: distance(score.size, size))
    seconds = statistics.median(score.measurement.seconds)
    return carried_over(seconds, kernel, score.size, size, sms)
