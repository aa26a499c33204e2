"""Distribution of output tiles over SMs, wave quantization, and Stream-K.

A block computes one tile of C on one SM. Blocks that fill all SMs once are a wave. If the tiles are
not a multiple of the SMs, the last wave leaves SMs idle. Stream-K splits tiles along K instead: all
K tiles of all output tiles form a sequence, and every SM gets an equal part of it.

Assumptions:

* A tile at the edge of C takes as long as an interior one.
* Blocks on the same SM share its arithmetic, so only the number of tiles per SM matters.
* Tiles go to the least loaded SM, so the busiest SM has ⌈tiles / SMs⌉.
* Copies, and the reduction of split tiles, are free.

``wave_quantization.ts`` is the same in JavaScript; a test compares the two.
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


@dataclass(frozen=True)
class TileDistribution:
    """Distribution of a product over the SMs of a GPU."""

    whole: int
    """Full waves."""
    last: int
    """Tiles of the last wave; 0 if all waves are full."""
    idle: int
    """SMs without a tile at the end of the launch."""
    time: float
    """Time of the launch in units of an SM's time for one tile."""
    used: float
    """Share of the SMs' total time in which they have a tile."""
    useful: float
    """Share of the SMs' total time for elements within C."""
    cut: int
    """Tiles that are split between SMs."""


def most_on_one(pieces: int, sms: int) -> int:
    """Return the number of ``pieces`` on the busiest of ``sms`` SMs in an even distribution."""
    return -(-pieces // sms)


def worth_sharing(tiles: int, k_tiles: int, sms: int, least: int) -> bool:
    """Whether Stream-K splits output tiles over the SMs: the rule of kernels with a WORTH.

    Args:
        tiles: output tiles.
        k_tiles: K tiles of an output tile.
        sms: SMs of the GPU.
        least: K tiles that an SM must save, the kernel's WORTH.
    """
    return tiles > sms or (sms - tiles) * k_tiles > least * sms


def sharing(product: Product, sms: int, blocks: int = 1, even: bool = False) -> TileDistribution:
    """Return the distribution of a product over ``sms`` SMs.

    Args:
        product: the product and its tiles.
        sms: SMs of the GPU.
        blocks: resident blocks per SM, which determine the tiles of a wave.
        even: Stream-K: every SM gets the same number of K tiles.
    """
    tiles, k_tiles = product.tiles, product.k_tiles
    whole, last = divmod(tiles, sms * blocks)
    pieces = tiles * k_tiles if even else tiles
    busiest = most_on_one(pieces, sms)
    time = busiest / k_tiles if even else float(busiest)
    return TileDistribution(
        whole=whole,
        last=last,
        idle=max(0, sms - pieces) if even else -tiles % sms,
        time=time,
        used=pieces / (sms * busiest),
        useful=useful_share(product, sms, even),
        cut=len(_cut_tiles(product, sms)) if even else 0,
    )


def useful_share(product: Product, sms: int, even: bool) -> float:
    """Return only ``sharing(…).useful``, for curves over many sizes."""
    pieces = product.tiles * (product.k_tiles if even else 1)
    busiest = most_on_one(pieces, sms) * (1 if even else product.k_tiles)
    spent = sms * busiest * product.bm * product.bn * product.bk
    return product.m * product.n * product.k / spent


def _cut_tiles(product: Product, sms: int) -> set[int]:
    """Return the tiles that an SM's part ends within."""
    k_tiles = product.k_tiles
    ends = (product.tiles * k_tiles * sm // sms for sm in range(1, sms))
    return {end // k_tiles for end in ends if end % k_tiles}
