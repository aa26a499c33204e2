"""Predict the time of one kernel at a size from its record at another one.

Tile and wave quantization cause steps: C of 1025×1025 takes five tiles of 256 columns instead of
four, and a GPU of 132 SMs needs the same time for 133 blocks as for 264. Between these steps a
kernel's throughput changes little, so a time at one size predicts the time at another.
"""

import math
import statistics
from math import ceil

from sgemm_lab.formulas.tile import Tile
from sgemm_lab.gemm.dispatch.model import VECTOR
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.gpu_record import Record

MAX_DISTANCE = 3.0
"""Largest distance of a recorded size; a doubling of M, N or K is 1."""

LAUNCH_WORK = 300_000
"""Launch latency in multiply-adds of an SM, the first loads included: a little over a microsecond
at 128 per clock. Of 0, 100,000, 300,000 and 1,000,000 it best predicted the fastest of 17 kernels
at 49 sizes in leave-one-out cross-validation (``records/notes.md``)."""

WORK_PER_FLOAT = 7
"""Multiply-adds of an SM in the time of moving one float of A, B or C from or to memory, for
memory-bound products. Of 0, 7, 14, 28 and 40 it best predicted the fastest kernel at 91 sizes in
leave-one-out cross-validation (``records/notes.md``)."""


def predicted_from_record(kernel: Kernel, size: Size, record: Record, sms: int) -> float | None:
    """Return seconds extrapolated from the nearest recorded size, or None if none is near."""
    near = [
        score
        for score in record.scores_of(kernel)
        if _is_aligned(score.size) == _is_aligned(size)
        and _distance(score.size, size) <= MAX_DISTANCE
    ]
    if not near:
        return None
    score = min(near, key=lambda score: _distance(score.size, size))
    seconds = statistics.median(score.seconds)
    return seconds * _work(kernel, size, sms) / _work(kernel, score.size, sms)


def _work(kernel: Kernel, size: Size, sms: int) -> float:
    """Return the time of a launch in multiply-adds of the busiest SM, padding included.

    More blocks than tiles of C mean split K; fewer mean a persistent kernel.
    """
    m, n, k = size
    moved = WORK_PER_FLOAT * (m * k + k * n + m * n) / sms
    tile = Tile.from_constants(kernel.values)
    tiles = ceil(m / tile.bm) * ceil(n / tile.bn)
    across, down = kernel.launch_shape(m, n, k, sms=sms).grid
    blocks = across * down
    of_a_block = (
        tile.bm * tile.bn * k * (tiles / blocks if blocks >= tiles else ceil(tiles / blocks))
    )
    return LAUNCH_WORK + max(ceil(blocks / sms) * of_a_block, moved)


def _distance(one: Size, other: Size) -> float:
    """Return the distance of two sizes; a doubling of M, N or K is 1."""
    return math.dist([math.log2(x) for x in one], [math.log2(x) for x in other])


def _is_aligned(size: Size) -> bool:
    """Whether float4 can read every row of A and B, which are from an allocator."""
    _, n, k = size
    return n % VECTOR == 0 and k % VECTOR == 0
