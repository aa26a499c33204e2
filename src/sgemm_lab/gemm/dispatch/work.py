"""What two sizes have in common: the work of the busiest SM, how far apart they are, alignment.

Blocks are whole, and so are tiles. C of 1025×1025 takes five tiles of 256 columns where 1024 took
four, and a GPU of 132 SMs needs as long for 133 blocks as for 264. Between such steps a kernel's
speed changes little from size to size; so a time measured at one size foretells that of another.
"""

import math
from math import ceil

from sgemm_lab.formulas.tile import Tile
from sgemm_lab.formulas.wave_quantization import worth_sharing
from sgemm_lab.gemm.dispatch.candidates import SHARING
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size

START = 300_000
"""Multiply-adds that an SM could do while a launch starts and its first windows arrive: a little
over a microsecond at 128 per clock. Of 0, 100,000, 300,000 and 1,000,000 it predicted best which of
17 kernels was fastest at 49 sizes, each left out in turn (``records/notes.md``)."""

MOVED = 7
"""Multiply-adds that take an SM as long as a float of A, B or C that comes from memory or goes
there: with few rows or columns, or a small K, bytes are the work. Of 0, 7, 14, 28 and 40 it
best predicted the fastest kernel at 91 sizes, each left out in turn (``records/notes.md``)."""

VECTOR = 4
"""Floats of a float4."""


def busiest_work(kernel: Kernel, size: Size, sms: int) -> float:
    """Return the multiply-adds of the SM with the most to do, those of padding counted too.

    Args:
        kernel: with its constants. More blocks than tiles of C share K, so a block has a part of a
            tile; fewer blocks than tiles take tile after tile.
        size: M, N, K.
        sms: SMs of the GPU.
    """
    m, n, k = size
    tile = Tile.from_constants(kernel.values)
    tiles = ceil(m / tile.bm) * ceil(n / tile.bn)
    total = tiles * tile.bm * tile.bn * k
    if kernel.base_name in SHARING:
        least = kernel.values.get("WORTH")
        if least is None or worth_sharing(tiles, ceil(k / tile.bk), sms, least):
            return total / sms
        return total / tiles
    across, down = kernel.launch_shape(m, n, k, sms=sms).grid
    blocks = across * down
    of_a_block = total / blocks if blocks >= tiles else ceil(tiles / blocks) * total / tiles
    return ceil(blocks / sms) * of_a_block


def carried_over(seconds: float, kernel: Kernel, measured: Size, size: Size, sms: int) -> float:
    """Return the seconds that a time measured at one size lets expect at another."""
    return seconds * _time(kernel, size, sms) / _time(kernel, measured, sms)


def _time(kernel: Kernel, size: Size, sms: int) -> float:
    """Return how long a launch takes, in multiply-adds of an SM."""
    m, n, k = size
    moved = MOVED * (m * k + k * n + m * n) / sms
    return START + max(busiest_work(kernel, size, sms), moved)


def distance(one: Size, other: Size) -> float:
    """Return how far two sizes are apart: a doubling of M, of N or of K is 1."""
    return math.dist([math.log2(x) for x in one], [math.log2(x) for x in other])


def is_aligned(size: Size, *addresses: int) -> bool:
    """Say whether every row of A and B starts where a float4 can be read.

    Args:
        size: M, N, K. A has rows of K floats, B and C of N.
        addresses: of the matrices, in bytes; none where they come from an allocator.
    """
    _, n, k = size
    wide = VECTOR * FLOAT_BYTES
    return n % VECTOR == 0 and k % VECTOR == 0 and all(not a % wide for a in addresses)
