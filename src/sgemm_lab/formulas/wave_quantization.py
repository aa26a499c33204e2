"""Distribution of output tiles over SMs, wave quantization, and Stream-K.

A block computes one tile of C on one SM. Blocks that fill all SMs once are a wave. If the tiles are
not a multiple of the SMs, the last wave leaves SMs idle. Stream-K splits tiles along K instead: all
K tiles of all output tiles form a sequence, and every SM gets an equal part of it.

Assumptions:

* A tile at the edge of C takes as long as an interior one.
* Blocks on the same SM share its arithmetic, so only the number of tiles per SM matters.
* Tiles go to the least loaded SM, so the busiest SM has ⌈tiles / SMs⌉.
* Copies, and the reduction of split tiles, are free.

``wave_quantization.ts`` has the distribution, which Python asks for by ``simulator.formulas``.
"""

from dataclasses import dataclass

SMALLEST, LARGEST = 64, 8192
"""Range of M = N = K in a slider."""


@dataclass(frozen=True)
class Product:
    """A product of M×K by K×N with output tiles of BM×BN and K tiles of BK."""

    m: int
    n: int
    k: int
    bm: int
    bn: int
    bk: int

    @property
    def rows(self) -> int:
        """Rows of tiles."""
        return -(-self.m // self.bm)

    @property
    def columns(self) -> int:
        """Columns of tiles."""
        return -(-self.n // self.bn)

    @property
    def tiles(self) -> int:
        """Output tiles, including those at the edge."""
        return self.rows * self.columns

    @property
    def k_tiles(self) -> int:
        """K tiles of an output tile."""
        return -(-self.k // self.bk)


def max_tiles_per_sm(tiles: int, sms: int) -> int:
    """Return the tiles, or K tiles, of the busiest of ``sms`` SMs in an even distribution."""
    return -(-tiles // sms)


def uses_stream_k(tiles: int, k_tiles: int, sms: int, least: int) -> bool:
    """Whether Stream-K splits output tiles over the SMs: the rule of kernels with a WORTH.

    An SM must save ``least`` K tiles, the kernel's WORTH. ``k_tiles`` are those of an output tile.
    """
    return tiles > sms or (sms - tiles) * k_tiles > least * sms
