"""The exercises of chapter 7, double buffer."""

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises.criteria import Counted, no_more
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Estimate, Number, Range
from sgemm_lab.exercises.quantities import barriers, times_as_fast

_EIGHT_WINDOWS = (128, 128, 64)
_SQUARE = (4096, 4096, 4096)

_STORED_ONCE = no_more(
    Counted("shared_store_requests", _EIGHT_WINDOWS),
    "double_buffer",
    "C is right, but {made:comma} store requests fill shared memory where {enough:comma} "
    "are enough: after the last K tile one more is stored.",
    "no race, and each of the 8 K tiles is stored once.",
)


EXERCISES = (
    Number(
        name="7.1",
        unit="barriers",
        expected=lambda: barriers(load_kernel("double_buffer"), (1, 1, 1000)),
        because="One for each of the 125 K tiles, and one before the first; counted.",
        hint="Count the K tiles, and the barrier before the loop.",
        hints=(
            (125, "That is one per K tile; there is one before the loop too."),
            (250, "That is two per K tile, as in a single buffer."),
            (251, "That is two per K tile and one before the loop; one per K tile is enough."),
        ),
    ),
    Number(
        name="7.2",
        unit="times as fast",
        expected=lambda: (2 + 1) / max(2, 1),
        because="3 in turns, 2 at the same time, if multiplying takes 1.",
        hint="In turns it takes the sum of both, at the same time at best the longer of the two.",
        hints=(
            (2, "That needs loads that take as long as the multiplication, not twice as long."),
            (3, "Loading itself still takes its time."),
        ),
    ),
    Lines(
        name="7.3",
        kernel="double_buffer",
        place="        if (more) store(1 - now);",
        start="        if (more) store(now);",
        criteria=_STORED_ONCE,
    ),
    Lines(
        name="7.4",
        kernel="double_buffer",
        place="        const bool more = k0 + BK < K;",
        start="        const bool more = k0 + 2 * BK <= K;",
        criteria=_STORED_ONCE,
        sizes=((8, 8, 24), (8, 8, 25)),
    ),
    Estimate(
        name="7.5",
        unit="times as fast",
        found=times_as_fast("double_buffer", "split", (1024, 1024, 1024), _SQUARE),
    ),
)

PREDICTIONS = (
    Estimate(
        name="overlap-gain",
        unit="times as fast",
        close=0.06,
        found=times_as_fast("double_buffer", "split", _SQUARE),
        hints=(
            (1.196, "So it would be if nothing else changed. But other waits grow."),
            (
                1.54,
                "That is for a block alone. An SM has two blocks of `split`, and while one "
                "waits the other often multiplies.",
            ),
            (
                Range(above=1.6),
                "That is more than overlap can give even to a block alone.",
            ),
            (1.0, "Two blocks do not fill all of each other's waits."),
        ),
    ),
)
