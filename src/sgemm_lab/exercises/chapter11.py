"""The exercises of chapter 11, one product, many kernels."""

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises.criteria import always
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Estimate, Number
from sgemm_lab.exercises.quantities import times_as_fast
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.formulas.wave_quantization import Product
from sgemm_lab.simulator.formulas import sharing

_SMALL = (256, 256, 256)
_SMS = 132
"""Of an H200, which the exercises name."""
_SIDE = 3072
_BEGIN = (
    "    const int kBegin = {begin};\n"
    "    A += kBegin; B += size_t(kBegin) * N;\n"
    "    K = {end} - kBegin;"
)
_PART_OF_K = _BEGIN.format(
    begin="windows * block / SPLIT * BK", end="min(K, windows * (block + 1) / SPLIT * BK)"
)


def _share_of_time() -> float:
    tile = Tile.from_constants(load_kernel("producers").values)
    product = Product(_SIDE, _SIDE, _SIDE, tile.bm, tile.bn, tile.bk)
    return 100 * sharing(product, _SMS)["used"]


def _busy_sms() -> int:
    x, y = load_kernel("cluster_split:SPLIT=8").launch_shape(*_SMALL).grid
    return min(_SMS, x * y)


EXERCISES = (
    Number(
        name="11.1",
        unit="%",
        expected=_share_of_time,
        because="288 tiles are two full waves and 24 more, which take a third: 288 of 396.",
        hint="Count the tiles, then the waves. A wave that has begun takes as long as a full one.",
        hints=(
            (18.18, "That is how full the last wave is. What is it of all three?"),
            (96.97, "That is at 4096³, with 512 tiles in four waves."),
        ),
    ),
    Number(
        name="11.2",
        unit="SMs",
        expected=_busy_sms,
        because="16 tiles of 64 × 64, each shared by 8 blocks: 128 blocks, each on its own SM.",
        hint="Count the tiles of 64 × 64 in C. Each gets a cluster of eight blocks.",
        hints=(
            (16, "That is one block for each tile. Here eight share a tile."),
            (132, "There are only 16 · 8 blocks."),
            (32, "That is in two parts. Here there are eight."),
        ),
    ),
    Lines(
        name="11.3",
        kernel="cluster_split",
        place=_PART_OF_K,
        start=_BEGIN.format(begin="0", end="K"),
        criteria=always("each K tile is multiplied by one block of the cluster."),
        sizes=((8, 8, 64), (8, 8, 65)),
    ),
)

PREDICTIONS = (
    Estimate(
        name="small-tile-gain",
        unit="times as fast",
        close=0.15,
        found=times_as_fast("small_tile", "serpentine", _SMALL),
        hints=(
            (8, "There are eight times as many blocks, but each needs more data for a product."),
            (1.0, "With tiles of 128 × 256 two SMs of 132 have work."),
        ),
    ),
)
