"""The exercises of chapter 10, past the library."""

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises.criteria import always
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Estimate, Number, Range
from sgemm_lab.exercises.quantities import times_as_fast
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.formulas.wave_quantization import Product, most_on_one

_SQUARE = (4096, 4096, 4096)
_SMS = 132
"""Of an H200, which the exercises name."""
_ADD = "        const bool add = last < windows;"


def _sharing_a_factor() -> int:
    tile = load_kernel("column_order").values
    return (tile["TM"] - 1) * tile["TN"]


def _k_tiles_of_the_busiest() -> int:
    tile = Tile.from_constants(load_kernel("stream_k").values)
    product = Product(*_SQUARE, tile.bm, tile.bn, tile.bk)
    return most_on_one(product.tiles * product.k_tiles, _SMS)


EXERCISES = (
    Number(
        name="10.1",
        unit="products",
        expected=_sharing_a_factor,
        because="In each of 16 columns all but the first of 8 products share the number of B.",
        hint="Within a column each product after the first shares B. Count these in all columns.",
        hints=(
            (127, "That is in serpentine order, where the first product of a column shares too."),
            (128, "That is all products; the first of a column shares nothing."),
            (120, "That is along the rows: 15 of 16 in each of 8 rows. Here it is down columns."),
            (7, "That is one column. There are 16."),
        ),
    ),
    Number(
        name="10.2",
        unit="K tiles",
        expected=_k_tiles_of_the_busiest,
        because="512 tiles of 512 K tiles are 262,144; over 132 SMs 1,985.9, so some have 1,986.",
        hint="Count the K tiles of all tiles, and divide them by the SMs.",
        hints=(
            (2048, "That is four whole tiles. Here tiles may be cut."),
            (1985, "Some have 1,985. The busiest has one more."),
            (Range(above=1985, below=1986), "K tiles are whole. Some blocks get one more."),
            (993, "That is with K tiles of depth 16; `stream_k` has 8."),
        ),
    ),
    Lines(
        name="10.3",
        kernel="stream_k",
        place=_ADD,
        start="        const bool add = false;",
        criteria=always(
            "every part of a tile is added, and each block waits for the one behind it."
        ),
        sizes=((8, 8, 8), (8, 8, 64)),
    ),
)

PREDICTIONS = (
    Estimate(
        name="serpentine-gain",
        unit="times as fast",
        close=0.03,
        found=times_as_fast("serpentine", "register_prefetch", _SQUARE),
        hints=((1.0, "The instructions are the same. The clocks that they take are not."),),
    ),
    Estimate(
        name="producers-gain",
        unit="times as fast",
        close=0.02,
        found=times_as_fast("producers", "serpentine", _SQUARE),
        hints=(
            (1.5, "There are three warps for two, but the two left few slots empty."),
            (1.15, "That is with every slot filled, and without the added instructions."),
            (1.0, "The third warp fills more slots than the added instructions take."),
        ),
    ),
    Estimate(
        name="even-gain",
        unit="times as fast",
        close=0.015,
        found=times_as_fast("stream_k", "producers", _SQUARE),
        hints=(
            (1.5, "That is the figure at the top: four tiles for three SMs, not 512 for 132."),
            (1.0, "Four waves take longer than 512 ÷ 132 of them."),
        ),
    ),
)
