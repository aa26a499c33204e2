"""Extrapolation between sizes: work of the busiest SM, distance of sizes, alignment.

Tile and wave quantization cause steps: C of 1025×1025 takes five tiles of 256 columns instead of
four, and a GPU of 132 SMs needs the same time for 133 blocks as for 264. Between these steps a
kernel's throughput changes little, so a time at one size predicts the time at another.
"""

import math
from math import ceil

from sgemm_lab.formulas.tile import Tile
from sgemm_lab.formulas.wave_quantization import worth_sharing
from sgemm_lab.gemm.dispatch.candidates import STREAM_K_KERNELS
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size

LAUNCH_WORK = 300_000
"""Launch latency in multiply-adds of an SM, the first loads included: a little over a microsecond
at 128 per clock. Of 0, 100,000, 300,000 and 1,000,000 it best predicted the fastest of 17 kernels
at 49 sizes in leave-one-out cross-validation (``records/notes.md``)."""

WORK_PER_FLOAT = 7
"""Multiply-adds of an SM in the time of moving one float of A, B or C from or to memory, for
memory-bound products. Of 0, 7, 14, 28 and 40 it best predicted the fastest kernel at 91 sizes in
leave-one-out cross-validation (``records/notes.md``)."""

VECTOR = 4
"""Floats of a float4."""


def busiest_sm_work(kernel: Kernel, size: Size, sms: int) -> float:
    """Return the multiply-adds of the busiest SM, padding included.

    Args:
        kernel: with its constants. More blocks than tiles of C mean split K; fewer mean a
            persistent kernel.
        size: M, N, K.
        sms: SMs of the GPU.
    """
    m, n, k = size
    tile = Tile.from_constants(kernel.values)
    tiles = ceil(m / tile.bm) * ceil(n / tile.bn)
    total = tiles * tile.bm * tile.bn * k
    if kernel.base_name in STREAM_K_KERNELS:
        least = kernel.values.get("WORTH")
        if least is None or worth_sharing(tiles, ceil(k / tile.bk), sms, least):
            return total / sms
        return total / tiles
    across, down = kernel.launch_shape(m, n, k, sms=sms).grid
    blocks = across * down
    of_a_block = total / blocks if blocks >= tiles else ceil(tiles / blocks) * total / tiles
    return ceil(blocks / sms) * of_a_block


def extrapolated(seconds: float, kernel: Kernel, measured: Size, size: Size, sms: int) -> float:
    """Return the time at ``size``, extrapolated from ``seconds`` at another size."""
    return seconds * _time(kernel, size, sms) / _time(kernel, measured, sms)


def _time(kernel: Kernel, size: Size, sms: int) -> float:
    """Return the time of a launch in multiply-adds of an SM."""
    m, n, k = size
    moved = WORK_PER_FLOAT * (m * k + k * n + m * n) / sms
    return LAUNCH_WORK + max(busiest_sm_work(kernel, size, sms), moved)


def distance(one: Size, other: Size) -> float:
    """Return the distance of two sizes; a doubling of M, N or K is 1."""
    return math.dist([math.log2(x) for x in one], [math.log2(x) for x in other])


def is_aligned(size: Size, *addresses: int) -> bool:
    """Whether every row of A and B starts at a float4 address.

    Args:
        size: M, N, K. A has rows of K floats, B and C of N.
        addresses: of the matrices, in bytes; empty for matrices from an allocator.
    """
    _, n, k = size
    wide = VECTOR * FLOAT_BYTES
    return n % VECTOR == 0 and k % VECTOR == 0 and all(not a % wide for a in addresses)
