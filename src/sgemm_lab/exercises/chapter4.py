"""The exercises of chapter 4, float4."""

from sgemm_lab.exercises.criteria import Case, Counted, Criteria
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Number
from sgemm_lab.exercises.quantities import times_as_fast

_ONE_BLOCK = (32, 32, 64)
_SQUARE = (4096, 4096, 4096)

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
            (8, "Row 1 starts at byte 24, which is not a multiple of 16."),
            (1, "Row 2 starts at byte 48, a multiple of 16, and others do too."),
            (0, "Row 0 starts where A starts, at a multiple of 16."),
            (2, "Row 2 starts at byte 48 and row 6 at byte 144: count every second row."),
        ),
    ),
    Lines(
        name="4.2",
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
        name="4.3",
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
