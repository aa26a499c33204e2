"""The exercises of chapter 9, async copy."""

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises.criteria import Case, Constant, Criteria, LeastInPtx
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Number, Range
from sgemm_lab.exercises.quantities import times_as_fast
from sgemm_lab.gpu import find_gpu
from sgemm_lab.hardware import FLOAT_BYTES

_SQUARE = (4096, 4096, 4096)
_WAIT = "        waitForGroups<STAGES - 2>();  // my part of this K tile is there"
_LEFT = r"cp\.async\.wait_group\s+(\d+)"

_WAITS_FOR_ONE_ONLY = Criteria(
    (
        Case(
            False,
            "C is right, but the wait is for copies that were only just started. Leave as many "
            "groups on their way as are not needed yet.",
            "left",
            below="may",
        ),
        Case(True, "the next K tile is there, and the one after it may still be coming."),
    ),
    {"left": LeastInPtx(_LEFT), "may": Constant("STAGES", plus=-2)},
)


def _held() -> float:
    tile = load_kernel("column_order").values
    threads = tile["BM"] * tile["BN"] / (tile["TM"] * tile["TN"])
    return tile["BK"] * (tile["BM"] + tile["BN"]) / threads


def _stages_that_fit() -> int:
    tile = load_kernel("stages").values
    window = FLOAT_BYTES * tile["BK"] * (tile["BM"] + tile["PAD"] + tile["BN"])
    return find_gpu("h200").shared_per_block // window


EXERCISES = (
    Number(
        name="9.1",
        unit="registers",
        expected=_held,
        because="3,072 floats over 256 threads.",
        hint="Count the floats of both parts of the K tile, and divide them among the threads.",
        hints=(
            (24, "That is a depth of 16; here it is 8."),
            (4, "That is A alone; B passes through registers too."),
            (8, "That is B alone; A passes through registers too."),
            (3, "A thread copies three float4; each takes four registers."),
        ),
    ),
    Number(
        name="9.2",
        unit="stages",
        expected=lambda: 1 + -(-1700 // 500),
        because="Four multiplications take 2,000 clocks, three only 1,500; one more is under way.",
        hint="Between its request and its turn a K tile has S − 1 multiplications.",
        hints=(
            (4, "With 4 stages a K tile has three multiplications, 1,500 clocks: too few."),
            (4.4, "Stages are whole: take the next number."),
            (6, "That is enough, but 5 are too."),
        ),
    ),
    Lines(
        name="9.3",
        kernel="stages",
        place=_WAIT,
        start="        waitForGroups<STAGES - 1>();",
        criteria=_WAITS_FOR_ONE_ONLY,
    ),
    Number(
        name="9.4",
        unit="stages",
        expected=_stages_that_fit,
        because="A stage takes 24,832 bytes.",
        hint="A stage has BK rows of BM + PAD floats of A and of BN floats of B.",
        hints=((14, "That is without A's part."), (10, "The tenth no longer fits.")),
    ),
)

PREDICTIONS = (
    Estimate(
        name="async-gain",
        unit="times as fast",
        close=0.02,
        found=times_as_fast("async_copy", "column_order", _SQUARE),
        hints=(
            (
                Range(above=0.99),
                "The copies free registers, and nothing uses them yet.",
            ),
        ),
    ),
    Choice(
        name="stages-gain",
        found=times_as_fast("stages", "async_copy", _SQUARE),
    ),
    Estimate(
        name="prefetch-gain",
        unit="times as fast",
        close=0.03,
        found=times_as_fast("register_prefetch", "stages", _SQUARE),
        hints=((1.0, "It reads as much, but its warps wait less for shared memory."),),
    ),
)
