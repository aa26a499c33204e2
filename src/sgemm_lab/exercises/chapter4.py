"""The exercises of chapter 4, float4."""

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises.criteria import Case, Counted, Criteria, no_more
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Number
from sgemm_lab.exercises.quantities import counts_at, times_as_fast

_FLOAT4_OF_A = "reinterpret_cast<const float4*>(&A"
_ONE_BLOCK = (32, 32, 64)
_SQUARE = (4096, 4096, 4096)


def _requests_of_a() -> int:
    kernel = load_kernel("float4_by_row")
    return counts_at(kernel, _ONE_BLOCK, _FLOAT4_OF_A).global_load_requests


_STILL_WIDE = no_more(
    Counted("global_load_requests", _ONE_BLOCK),
    "float4_by_row",
    "C is right, but at K = 64 a block makes {made:number} load requests where "
    "{enough:number} are enough: no load is a float4 any more.",
    "rows that start aligned are copied as float4, others element by element. The matrices "
    "here start aligned; a part of a larger one may not, so the book asks for that too.",
)

_WHOLE_SECTORS = Criteria(
    (
        Case(
            False,
            "C is right, but a float4 request touches {touched:number} sectors on average; "
            "its 512 bytes fit into 16. Let neighbouring lanes copy neighbours of one row.",
            "touched",
            above=16,
        ),
        Case(True, "each float4 request touches 16 sectors and uses every byte of them."),
    ),
    {"touched": Counted("global_load_sectors", _ONE_BLOCK, "global_load_requests")},
)


EXERCISES = (
    Number(
        name="4.1",
        unit="rows",
        expected=lambda: sum(row * 6 * 4 % 16 == 0 for row in range(8)),
        because="A row has 24 bytes, so every second row starts at a multiple of 16.",
        hint="Row r starts at byte 24·r. Which of these are multiples of 16?",
        hints=(
            (8, "Row 1 starts at byte 24, which is no multiple of 16."),
            (1, "Row 2 starts at byte 48, a multiple of 16, and others do too."),
            (0, "Row 0 starts where A starts, at a multiple of 16."),
            (2, "Row 2 starts at byte 48 and row 6 at byte 144: count every second row."),
        ),
    ),
    Number(
        name="4.2",
        unit="requests",
        expected=_requests_of_a,
        because="Each row of the tile is copied by a warp of its own, with half of its lanes; "
        "counted.",
        hint="A warp is one row of the block's threads. How many rows copy something of A?",
        hints=(
            (16, "So few would do if all 32 lanes of a warp worked; here 16 of them do."),
            (512, "Those are the float4 of a window. One request of a warp brings several."),
            (2048, "Those are the floats of a window."),
            (64, "A row of 64 floats is 16 float4, and one warp copies them in one request."),
        ),
    ),
    Lines(
        name="4.3",
        kernel="float4_by_row",
        place="    const bool aligned = K % 4 == 0 && size_t(A) % 16 == 0;",
        start="    const bool aligned = true;",
        criteria=_STILL_WIDE,
        sizes=((8, 8, 6), (8, 4, 9)),
    ),
    Lines(
        name="4.4",
        kernel="float4",
        place="""\
            const int r = tid / (BK / 4);
            const int k = tid % (BK / 4) * 4;""",
        start="""\
            const int r = tid % TILE;
            const int k = tid / TILE * 4;""",
        criteria=_WHOLE_SECTORS,
    ),
    Choice(
        name="4.5",
        found=times_as_fast("float4", "sliding_window", (4095, 4097, 4093), _SQUARE),
    ),
)

PREDICTIONS = (
    Estimate(
        name="float4-gain",
        unit="times as fast",
        found=times_as_fast("float4", "sliding_window", _SQUARE),
        close=0.03,
        predicted=((1.0, "The wavefronts predict 1: whatever is gained comes from elsewhere."),),
        hints=((4, "So many times fewer are the loads. Shared memory is asked as much."),),
    ),
)
