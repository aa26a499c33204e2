"""The exercises of chapter 13, FP32 from half precision."""

from math import floor, log2

from sgemm_lab.exercises.criteria import always
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Estimate, Number
from sgemm_lab.exercises.quantities import times_as_fast
from sgemm_lab.gpu import find_gpu
from sgemm_lab.hardware import FLOP_PER_WARP_FMA
from sgemm_lab.models.bound import PEAK, rates

_SQUARE = (4096, 4096, 4096)
_LARGEST = 3_000_000
"""As exercise 13.3 gives it."""
_EXPONENT = 14
"""Of the largest number of a row that was scaled."""
_ADD = "                    addProducts(&sums[i][c], &sums[i + 1][c], "
_SMALL_BIG = f"{_ADD}smallA[i], smallA[i + 1], bigB);"
_BIG_SMALL = f"{_ADD}bigA[i], bigA[i + 1], smallB);"


def _roof() -> float:
    """TFLOP/s of three products."""
    return FLOP_PER_WARP_FMA * rates(find_gpu("h200"), "3xtf32")[PEAK] / 1e3


def _divisor() -> float:
    return float(2 ** (floor(log2(_LARGEST)) - _EXPONENT))


EXERCISES = (
    Number(
        name="13.1",
        unit="TFLOP/s",
        expected=_roof,
        because="535 TFLOP/s of TF32 are shared by three products.",
        hint="Count the FLOP of all SMs in a second, two for each product; then divide by three.",
        hints=(
            (535.3, "That is TF32 alone. Here each product takes three."),
            (89.2, "A product and its addition are two FLOP."),
            (267.6, "A product and its addition are two FLOP, and each takes three products."),
        ),
    ),
    Lines(
        name="13.2",
        kernel="promoted:PASSES=1",
        place=f"{_SMALL_BIG}\n{_BIG_SMALL}",
        start="                    // two products are missing here",
        criteria=always("three products keep what FP32 keeps."),
    ),
    Number(
        name="13.3",
        unit="",
        expected=_divisor,
        because="Its exponent is 21, and 2^21 / 2^14 is 2^7.",
        hint="Between which powers of two does it lie? Then divide the lower one by 2^14.",
        hints=(
            (7, "That is the exponent. By which number is it divided?"),
            (64, "That leaves 46,875, which is above 2^15."),
            (256, "That leaves 11,719, which is below 2^14."),
        ),
    ),
)

PREDICTIONS = (
    Estimate(
        name="halves-gain",
        unit="times as fast",
        close=0.15,
        found=times_as_fast("wgmma_fp16", "wgmma_tf32", _SQUARE),
        hints=(
            (
                2,
                "The tensor cores are twice as fast. But before they begin, a first pass reads and "
                "writes A and B.",
            ),
        ),
    ),
)
