"""The exercises of chapter 10, past the library."""

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises.criteria import Asks, Case, Counted
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Number, Range
from sgemm_lab.exercises.quantities import times_as_fast
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.formulas.wave_quantization import Product, most_on_one, sharing

_ONE_BLOCK = (128, 256, 16)
_SQUARE = (4096, 4096, 4096)
_SMS = 132
"""Of an H200, which the exercises name."""
_SIDE = 3072
_LANES = (
    "    const int ty = lane % LANES_M;             // my group of rows in it\n"
    "    const int tx = lane / LANES_M ^ lane % 4;  // my group of columns in it"
)


def _shared(side: int) -> Product:
    tile = Tile.from_constants(load_kernel("stream_k").values)
    return Product(side, side, side, tile.bm, tile.bn, tile.bk)


def _share_of_time() -> float:
    return 100 * sharing(_shared(_SIDE), _SMS).used


def _windows_of_the_busiest() -> int:
    product = _shared(_SQUARE[0])
    return most_on_one(product.tiles * product.windows, _SMS)


_NOTHING_MERGED = Asks(
    (
        Case(
            False,
            "C is right, but {made:comma} wavefronts read shared memory instead of {apart:comma}: "
            "some requests are still merged.",
            "made",
            below="apart",
        ),
        Case(
            False,
            "C is right, but {made:comma} wavefronts are more than the {apart:comma} needed.",
            "made",
            above="apart",
        ),
        Case(True, "no request is merged, and each lane has a place of its own."),
    ),
    {
        "made": Counted("shared_load_wavefronts", _ONE_BLOCK),
        "apart": Counted("shared_load_wavefronts", _ONE_BLOCK, of="lane_map"),
    },
)


EXERCISES = (
    Number(
        name="10.1",
        unit="%",
        expected=_share_of_time,
        because="288 tiles are two full waves and 24 more, which take a third: 288 of 396.",
        hint="Count the tiles, then the waves. A wave that has begun takes as long as a full one.",
        hints=(
            (18.18, "That is how full the last wave is. What is it of all three?"),
            (96.97, "That is at 4096³, with 512 tiles in four waves."),
        ),
        solution=100 * 288 / 396,
        wrong=((18.18, "last wave"), (96.97, "at 4096³"), (100, "Count the tiles")),
    ),
    Number(
        name="10.2",
        unit="windows",
        expected=_windows_of_the_busiest,
        because="512 tiles of 512 windows are 262,144; over 132 SMs 1,985.9, so some have 1,986.",
        hint="Count all windows of all tiles and share them out.",
        hints=(
            (2048, "That is four whole tiles. Here tiles may be cut."),
            (1985, "Some have 1,985. The busiest has one more."),
            (Range(above=1985, below=1986), "Windows are whole. Some blocks get one more."),
            (993, "That is with windows of 16; `stream_k` has 8."),
        ),
        tolerance=1e-9,
        solution=1986,
        wrong=(
            (2048, "whole tiles"),
            (1985, "has one more"),
            (1985.9, "Not exactly. Windows are whole"),
            (512, "share them out"),
        ),
    ),
    Lines(
        name="10.3",
        kernel="lane_map",
        place=_LANES,
        start="    const int ty = lane / LANES_N;\n    const int tx = lane % LANES_N;",
        asks=_NOTHING_MERGED,
        solution=_LANES,
        sizes=((64, 64, 8),),
        wrong=(
            ("    const int ty = lane / LANES_N;\n    const int tx = lane % LANES_N;", "are still"),
            ("    const int ty = lane % LANES_M;\n    const int tx = lane % LANES_N;", "are wrong"),
            ("    const int ty = lane % LANES_M;\n    const int tx = lane / LANES_M;", "are still"),
        ),
    ),
)

PREDICTIONS = (
    Estimate(
        name="serpentine-gain",
        unit="times as fast",
        close=0.03,
        found=times_as_fast("serpentine", "ahead", _SQUARE),
        hints=((1.0, "The instructions are the same. The clocks that they take are not."),),
        wrong=((1.4, "too high"), (1, "clocks that they take"), (0.8, "too low")),
    ),
    Choice(
        name="barriers-gain",
        same=0.02,
        solution="slower",
        found=times_as_fast("window_barriers:BK=8,STAGES=8", "lane_map", _SQUARE),
        wrong=(("faster", 'You said "faster"'), ("same", 'You said "about the same"')),
    ),
    Estimate(
        name="even-gain",
        unit="times as fast",
        close=0.015,
        found=times_as_fast("stream_k", "persistent", _SQUARE),
        hints=(
            (1.5, "That is the figure at the top: four tiles for three SMs, not 512 for 132."),
            (1.0, "Four rounds take longer than 512 ÷ 132 of them."),
        ),
        wrong=((1.5, "the figure"), (1.3, "too high"), (1, "Four rounds"), (0.8, "too low")),
    ),
)
