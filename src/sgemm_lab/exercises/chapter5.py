"""The exercises of chapter 5, register cache."""

from sgemm_lab.exercises.criteria import Case, Compiled, Criteria, per_turn
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Number
from sgemm_lab.exercises.quantities import times_as_fast
from sgemm_lab.formulas.occupancy import LIMITS, Launch, occupancy

_SIZE = (128, 128, 32)
_ENOUGH = 0.25
_SQUARE = (4096, 4096, 4096)
_LARGE = "register_cache:BM=128,BN=128,TM=8,TN=8"

_OUTER_PRODUCT = Criteria(
    (
        Case(
            True,
            "TM · TN products for each k; a thread takes {used:number} registers.",
            "used",
            above=0,
        ),
        Case(
            True,
            "TM · TN products for each k. How many registers a thread takes, only the notebook "
            "tells.",
        ),
    ),
    {"used": Compiled("registers")},
)

_FEW_WAVEFRONTS = Criteria(
    (
        Case(
            False,
            "C is right, but a thread needs more registers than it can have: {spilled:comma} "
            "bytes go to memory and back.",
            "spilled",
            above=0,
        ),
        Case(
            False,
            "C is right, but a warp takes {taken:number} wavefronts for each multiply-add; "
            f"{_ENOUGH} are asked for.",
            "taken",
            above=_ENOUGH,
        ),
        Case(
            True,
            "{taken:number} wavefronts for each multiply-add of a warp, with {used:number} "
            "registers a thread.",
            "used",
            above=0,
        ),
        Case(
            True,
            "{taken:number} wavefronts for each multiply-add of a warp. How many registers a "
            "thread takes, only the notebook tells.",
        ),
    ),
    {
        "taken": per_turn("shared_load_wavefronts", _SIZE),
        "used": Compiled("registers"),
        "spilled": Compiled("spill_bytes"),
    },
)


def _constants(bm: int, bn: int, bk: int, tm: int, tn: int) -> str:
    return f"""\
constexpr int BM = {bm};  // rows of C per block
constexpr int BN = {bn};  // columns of C per block
constexpr int BK = {bk};   // width of a K tile
constexpr int TM = {tm};   // rows of C per thread
constexpr int TN = {tn};   // columns of C per thread"""


_OUTER = """\
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) {
                    acc[i][j] += fragA[i] * fragB[j];
                }
            }"""
_INNER = """\
            for (int i = 0; i < TM; ++i) {
                acc[i][i] += fragA[i] * fragB[i];
            }"""

EXERCISES = (
    Number(
        name="5.1",
        unit="FLOP/B",
        expected=lambda: 2 * 8 * 8 / (4 * (8 + 8)),
        because="2 · 8 · 8 FLOP for 8 + 8 floats of 4 bytes.",
        hint="For one k: 2 · TM · TN FLOP, TM + TN floats, 4 bytes each.",
        hints=(
            (8, "That is FLOP per float; a float has 4 bytes."),
            (4, "That is products per float: a product and its sum are 2 FLOP, a float 4 bytes."),
            (1, "A multiply-add counts as 2 FLOP."),
            (0.25, "That is one element per thread, where nothing is used twice."),
        ),
    ),
    Lines(
        name="5.2",
        kernel="register_cache",
        place=_OUTER,
        start=_INNER,
        criteria=_OUTER_PRODUCT,
    ),
    Lines(
        name="5.3",
        kernel="register_cache",
        place=_constants(64, 64, 8, 4, 4),
        start=_constants(64, 64, 8, 4, 4),
        criteria=_FEW_WAVEFRONTS,
        solution=_constants(64, 64, 8, 8, 4),
    ),
    Number(
        name="5.4",
        unit="%",
        expected=lambda: 100 * occupancy(LIMITS["9.0"], Launch(256, 96, 6144)).share,
        tolerance=0.005,
        because="There are registers for two blocks: 512 of 2048 threads.",
        hint="For how many whole blocks are 65,536 registers enough?",
        hints=(
            (100 * 65536 / 96 / 2048, "Blocks are whole: 2.67 of them do not fit."),
            (37.5, "Three blocks want 73,728 registers; an SM has 65,536."),
            (12.5, "That is one block; there is room for another."),
            (0.25, "The answer is wanted in percent."),
            (100, "Threads are not the scarce thing here, registers are."),
        ),
    ),
)

PREDICTIONS = (
    Estimate(
        name="column-gain",
        unit="times as fast",
        found=times_as_fast("thread_tile_1d", "sliding_window", _SQUARE),
        close=0.1,
        predicted=(
            (
                2.31,
                "That is what the limits predict. `thread_tile_1d` reaches less of its limit.",
            ),
        ),
        hints=(
            (
                2 / (9 / 8),
                "That is by words: a word of As and one of Bs cost different wavefronts.",
            ),
            (8, "One read of Bs serves 8 products, but each needs an element of As of its own."),
        ),
    ),
    Estimate(
        name="square-gain",
        unit="times as fast",
        found=times_as_fast("thread_tile", "thread_tile_1d:BK=8", _SQUARE),
        close=0.15,
        hints=(((9 / 8) / (8 / 16), "That is by words: a float4 of Bs takes four wavefronts."),),
    ),
    Choice(
        name="eight-by-eight",
        found=times_as_fast(_LARGE, "register_cache", _SQUARE),
    ),
)
