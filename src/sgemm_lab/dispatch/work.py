"""How much the busiest SM has to do: what makes one size slower than its neighbour.

Blocks are whole, and so are tiles. C of 1025×1025 takes five tiles of 256 columns where 1024 took
four, and a GPU of 132 SMs needs as long for 133 blocks as for 264. Between such steps a kernel's
speed changes little from size to size; so a time measured at one size foretells that of another.
"""

from math import ceil

from sgemm_lab.dispatch.candidates import SHARING
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.rules.tile import Tile

START = 300_000
"""Multiply-adds that an SM could do while a launch starts and its first windows arrive: a little
over a microsecond at 128 per clock. Of 0, 100,000, 300,000 and 1,000,000 it foretold best which of
17 kernels was fastest at 49 sizes, each left out in turn (``records/notes.md``)."""


def busiest_work(kernel: Kernel, size: Size, sms: int) -> float:
    """Return the multiply-adds of the SM with the most to do, those of padding counted too.

    Args:
        kernel: with its constants. Blocks beyond its tiles of C share K; fewer blocks than tiles
            take tile after tile.
        size: M, N, K.
        sms: SMs of the GPU.
    """
    m, n, k = size
    tile = Tile.from_constants(kernel.values)
    tiles = ceil(m / tile.bm) * ceil(n / tile.bn)
    total = tiles * tile.bm * tile.bn * k
    if kernel.base_name in SHARING:
        return total / sms
    across, down = kernel.launch_shape(m, n, k, sms=sms).grid
    blocks = across * down
    if blocks < tiles:
        return ceil(tiles / blocks) * total / tiles
    return ceil(blocks / sms) * total / blocks
