"""The exercises of chapter 7, double buffer."""

from math import prod

from sgemm_lab.counting.warp_requests import shared_shapes
from sgemm_lab.exercises.counted import barriers, counts, times_as_fast
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Estimate, Judgement, Number
from sgemm_lab.kernel import Kernel, load_kernel

_EIGHT_WINDOWS = (128, 128, 64)
_SQUARE = (4096, 4096, 4096)


def _shared_bytes() -> int:
    return 4 * sum(prod(shape) for shape in shared_shapes(load_kernel("double_buffer")).values())


def _stored_once(kernel: Kernel) -> Judgement:
    made = counts(kernel, _EIGHT_WINDOWS).shared_store_requests
    enough = counts(load_kernel("double_buffer"), _EIGHT_WINDOWS).shared_store_requests
    if made > enough:
        return Judgement(
            False,
            f"C is right, but {made:,} store requests fill shared memory where {enough:,} are "
            "enough: after the last window one more is stored.",
        )
    return Judgement(True, "no race, and each of the 8 windows is stored once.")


EXERCISES = (
    Number(
        name="7.1",
        unit="barriers",
        expected=lambda: barriers(load_kernel("double_buffer"), (1, 1, 1000)),
        because="One for each of the 125 windows, and one before the first; counted.",
        hint="Count the windows, and the barrier before the loop.",
        hints=(
            (125, "That is one per window; there is one before the loop too."),
            (250, "That is two per window, as in a single buffer."),
            (251, "That is two per window and one before the loop; one per window is enough."),
        ),
        tolerance=1e-9,
        solution=126,
        wrong=((125, "before the loop"), (250, "single buffer"), (1000, "Count the windows")),
    ),
    Number(
        name="7.2",
        unit="bytes",
        expected=_shared_bytes,
        because="Two windows, each of 8 · 132 + 8 · 128 floats of 4 bytes.",
        hint="Two buffers of As and of Bs, and As has PAD more floats in each row.",
        hints=(
            (8320, "That is one window; there are two."),
            (16384, "The rows of As have 4 floats of padding each."),
            (4160, "Those are floats; a float has 4 bytes."),
        ),
        tolerance=1e-9,
        solution=16640,
        wrong=((8320, "one window"), (16384, "padding"), (4160, "4 bytes"), (1, "PAD")),
    ),
    Lines(
        name="7.3",
        kernel="double_buffer",
        place="        if (more) store(1 - now);",
        start="        if (more) store(now);",
        asks=_stored_once,
        solution="        if (more) store(1 - now);",
        wrong=(
            ("        if (more) store(now);", "with no barrier between"),
            ("        if (more) store(1);", "with no barrier between"),
            ("        store(1 - now);", "one more is stored"),
            ("        // nothing to store", "which nothing has written"),
        ),
    ),
    Lines(
        name="7.4",
        kernel="double_buffer",
        place="        const bool more = k0 + BK < K;",
        start="        const bool more = k0 + 2 * BK <= K;",
        asks=_stored_once,
        solution="        const bool more = k0 + BK < K;",
        sizes=((8, 8, 24), (8, 8, 25)),
        wrong=(
            ("        const bool more = k0 + 2 * BK <= K;", "which nothing has written"),
            ("        const bool more = k0 + BK <= K;", "one more is stored"),
            ("        const bool more = k0 < K;", "one more is stored"),
            ("        const bool more = k0 / BK % 2 == 0;", "are wrong"),
        ),
    ),
    Estimate(
        name="7.5",
        unit="times as fast",
        found=times_as_fast("double_buffer", "vector_store", (1024, 1024, 1024), _SQUARE),
        wrong=((1.13, "too low"), (4, "times too high"), (float("nan"), "finite")),
    ),
)
