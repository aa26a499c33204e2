"""The exercises of chapter 8, unrolling."""

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises.criteria import Counted, no_more
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Estimate, Number, Range
from sgemm_lab.exercises.quantities import times_as_fast, wavefronts_per_turn
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import parse_kernel

_ONE_BLOCK = (128, 256, 8)
_SQUARE = (4096, 4096, 4096)
_LANES = (
    "    const int tx = lane % LANES_N;  // my group of columns in it\n"
    "    const int ty = lane / LANES_N;  // my group of rows in it"
)
_LANES_TURNED = "const int ty = lane % LANES_M, tx = lane / LANES_M;"


def _lanes_that_read_a_number() -> float:
    values = load_kernel("warp_tile").values
    reads = WARP * (values["TM"] + values["TN"])
    return reads / (values["WM"] + values["WN"])


def _wavefronts_the_other_way() -> float:
    kernel = load_kernel("warp_tile")
    turned = parse_kernel("turned", kernel.source.replace(_LANES, _LANES_TURNED))
    products = kernel.values["TM"] * kernel.values["TN"]
    return products * wavefronts_per_turn(turned, _ONE_BLOCK)


_NO_MORE_WAVEFRONTS = no_more(
    Counted("shared_load_wavefronts", _ONE_BLOCK),
    "warp_tile",
    "C is right, but {made:comma} wavefronts read shared memory; {enough:comma} are enough.",
    "each lane has a place of its own in the warp tile.",
)


EXERCISES = (
    Number(
        name="8.1",
        unit="lanes",
        expected=_lanes_that_read_a_number,
        because="32 lanes read 24 numbers each: 768 reads of 128 numbers.",
        hint="Count the reads of all 32 lanes, and divide by the different numbers.",
        hints=(
            (768, "So many reads there are; they are of 128 different numbers."),
            (24, "So many numbers one lane reads. How often does the warp read each?"),
            (4, "Each number of A is read by 4 lanes, but each of B by 8."),
            (8, "Each number of B is read by 8 lanes, but each of A by 4."),
        ),
    ),
    Number(
        name="8.2",
        unit="times as fast",
        expected=lambda: (128 + 26) / (128 + 26 - 12),
        because="154 instructions per turn become 142.",
        hint="How many instructions does a turn have before, and how many after?",
        hints=(
            (12 / 154, "That is the share that disappears. How many times as fast is the rest?"),
            (26 / 14, "The multiply-adds take slots as well."),
            (142 / 154, "The other way around: fewer instructions are faster."),
        ),
    ),
    Lines(
        name="8.3",
        kernel="warp_tile",
        place=_LANES,
        start="    const int tx = lane % LANES_N;\n    const int ty = lane / LANES_M;",
        criteria=_NO_MORE_WAVEFRONTS,
        sizes=((64, 64, 8), (65, 66, 9)),
    ),
    Number(
        name="8.4",
        unit="%",
        expected=lambda: 100 * 2 / 2.5,
        because="Two instructions in 2.5 clocks.",
        hint="In 2.5 clocks each of the two warps starts one instruction.",
        hints=(
            (40, "That is one warp; the scheduler has two."),
            (0.8, "Right as a share; percent are asked for."),
            (125, "A scheduler starts at most one instruction in a clock."),
        ),
    ),
)

PREDICTIONS = (
    Estimate(
        name="large-tile-gain",
        unit="times as fast",
        close=0.05,
        found=times_as_fast("warp_tile", "double_buffer", _SQUARE),
        hints=(
            (
                Range(above=0.99),
                "It reads a quarter less. But an SM holds one block where it held two, and the "
                "loop over k is not written out any more.",
            ),
        ),
    ),
)
