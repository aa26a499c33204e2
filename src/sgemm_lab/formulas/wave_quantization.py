"""How the tiles of a product are shared among the SMs of a GPU, and what of their time is lost.

A block computes one tile of C and stays on one SM. Blocks that fill all SMs once are a wave. Where
tiles and SMs do not divide, the last wave leaves SMs idle. Even shares, known as stream-K, cut
tiles along K instead: all windows of all tiles stand in a row, and every SM gets a piece of it.

The rules:

* A tile at the edge of C takes as long as any other, though part of it lies beyond.
* Blocks on the same SM share its arithmetic. So it counts how many tiles an SM gets, and not how
  many of them it works on at once.
* Tiles go to the SM that has least, so the busiest SM has tiles / SMs, rounded up.

Copies, and the sums of cut tiles that SMs pass to each other, cost nothing here. ``tile_waves.js``
says the same in JavaScript; a test holds the two equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sgemm_lab.formulas.sentences import sentence

SMALLEST, LARGEST = 64, 8192
"""M = N = K that a slider over sizes reaches."""


@dataclass(frozen=True)
class Product:
    """A product of M×K by K×N, cut into tiles of BM×BN that walk K in windows of BK."""

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
        """Tiles of C, those at its edge included."""
        return self.rows * self.columns

    @property
    def windows(self) -> int:
        """Windows of K in every tile."""
        return -(-self.k // self.bk)


@dataclass(frozen=True)
class Sharing:
    """What becomes of a product on the SMs of a GPU."""

    whole: int
    """Waves that fill all SMs."""
    last: int
    """Tiles of the last wave; 0 where all waves are whole."""
    idle: int
    """SMs without a tile when the launch ends."""
    time: float
    """How long the launch takes, in times that an SM needs for one tile."""
    used: float
    """Share of the time of all SMs in which they have a tile."""
    useful: float
    """Share of that time in which they multiply for elements of C, and not beyond its edge."""
    cut: int
    """Tiles whose windows are not all one SM's."""


def most_on_one(pieces: int, sms: int) -> int:
    """Return how many of ``pieces`` the busiest of ``sms`` SMs gets, if they are dealt evenly."""
    return -(-pieces // sms)


def worth_sharing(tiles: int, windows: int, sms: int, least: int) -> bool:
    """Say whether tiles of ``windows`` windows are shared: the rule of kernels with a WORTH.

    Shared evenly over ``sms`` SMs, they keep each of them busy for fewer windows than a tile has.

    Args:
        least: windows that this must spare an SM, the WORTH of the kernel.
    """
    return tiles > sms or (sms - tiles) * windows > least * sms


def sharing(product: Product, sms: int, blocks: int = 1, even: bool = False) -> Sharing:
    """Return what becomes of a product on ``sms`` SMs.

    Args:
        product: the product and its tiles.
        sms: SMs of the GPU.
        blocks: blocks that an SM holds at once. It decides how many tiles a wave has.
        even: every SM gets the same number of windows, so tiles may be cut.
    """
    tiles, windows = product.tiles, product.windows
    whole, last = divmod(tiles, sms * blocks)
    pieces = tiles * windows if even else tiles
    busiest = most_on_one(pieces, sms)
    time = busiest / windows if even else float(busiest)
    return Sharing(
        whole=whole,
        last=last,
        idle=max(0, sms - pieces) if even else -tiles % sms,
        time=time,
        used=pieces / (sms * busiest),
        useful=useful_share(product, sms, even),
        cut=len(_cut_tiles(product, sms)) if even else 0,
    )


def useful_share(product: Product, sms: int, even: bool) -> float:
    """Return ``sharing(…).useful`` alone: what a curve over many sizes asks for."""
    pieces = product.tiles * (product.windows if even else 1)
    busiest = most_on_one(pieces, sms) * (1 if even else product.windows)
    spent = sms * busiest * product.bm * product.bn * product.bk
    return product.m * product.n * product.k / spent


def full_speed(measured: Sequence[tuple[Product, bool, float]], sms: int) -> float:
    """Return the GFLOP/s that SMs would make that always work: the most that measurements allow.

    Each is a product, whether it was shared evenly, and its GFLOP/s. Over the share that
    :func:`useful_share` leaves them they would be such a speed. 0 where nothing is measured.
    """
    return max((gflops / useful_share(one, sms, even) for one, even, gflops in measured), default=0)


def sharing_words(product: Product, sms: int, blocks: int = 1, even: bool = False) -> str:
    """Return what becomes of a product, in a sentence or two."""
    found = sharing(product, sms, blocks, even)
    values = {"tiles": product.tiles, "sms": sms, **vars(found)}
    if even:
        pieces = most_on_one(product.tiles * product.windows, sms)
        words = sentence("share.even", **values, pieces=pieces)
    elif not found.idle:
        words = sentence("share.full", **values, each=product.tiles // sms)
    elif found.whole:
        words = sentence("share.last", **values)
    else:
        words = sentence("share.few", **values)
    lost = 1 - found.useful / found.used
    return words + (" " + sentence("share.edge", lost=lost) if lost > 0.0005 else "")


def _cut_tiles(product: Product, sms: int) -> set[int]:
    """Return the tiles in which an SM's share ends before the tile does."""
    windows = product.windows
    ends = (product.tiles * windows * sm // sms for sm in range(1, sms))
    return {end // windows for end in ends if end % windows}
