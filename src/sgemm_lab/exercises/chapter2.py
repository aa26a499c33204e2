"""The exercises of chapter 2, tiling."""

from sgemm_lab.exercises.criteria import BLOCK, Case, Counted, Criteria, always
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Number
from sgemm_lab.exercises.quantities import times_as_fast

_TWO_WINDOWS = (32, 32, 64)

_FEW_BARRIERS = Criteria(
    (
        Case(
            False,
            "C is right, but a block passes {passed:number} barriers in two windows; 4 are enough.",
            "passed",
            above=4,
        ),
        Case(
            True,
            "no race, and {passed:number} barriers in two windows. "
            "After the last window no thread overwrites a tile.",
            "passed",
            above=2,
            below=4,
        ),
        Case(True, "no race, and {passed:number} barriers in two windows."),
    ),
    {"passed": Counted("barriers", _TWO_WINDOWS, BLOCK)},
)

_GUARDED = always("where the tile reaches past A it holds zeros, at every size tried.")


_COPY = """\
        As[ty][tx] = row < M && k0 + tx < K ? A[size_t(row) * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = k0 + ty < K && col < N ? B[size_t(k0 + ty) * N + col] : 0.0f;"""
_MULTIPLY = """\
        for (int k = 0; k < TILE; ++k) {
            acc += As[ty][k] * Bs[k][tx];
        }"""
_BARRIER = "        __syncthreads();"

EXERCISES = (
    Number(
        name="2.1",
        unit="floats",
        expected=lambda: 2 * 32 * 4096,
        because="Two strips, each of 32 rows or columns as long as K.",
        hint="A block needs a strip of A and a strip of B, all of K.",
        hints=(
            (32 * 4096, "That is one strip; there is one of A and one of B."),
            (2 * 32 * 32, "That is one window. There are K / 32 of them."),
            (2 * 32 * 4096 * 4, "Those are bytes; floats were asked for."),
            (2 * 4096**2, "That is all of A and B; one block needs a strip of each."),
        ),
    ),
    Lines(
        name="2.2",
        kernel="tiled",
        place=f"""\
{_COPY}
{_BARRIER}  // no one reads a tile before all of it is there

{_MULTIPLY}
{_BARRIER}  // no one overwrites a tile before all have read it""",
        start=f"{_COPY}\n\n{_MULTIPLY}",
        criteria=_FEW_BARRIERS,
        solution=f"{_COPY}\n{_BARRIER}\n\n{_MULTIPLY}\n{_BARRIER}",
    ),
    Lines(
        name="2.3",
        kernel="tiled",
        place=_COPY.splitlines()[0],
        start="        As[ty][tx] = A[size_t(row) * K + k0 + tx];",
        criteria=_GUARDED,
    ),
    Choice(
        name="2.4",
        found=times_as_fast("tiled", "naive", (1, 4096, 4096)),
    ),
)

PREDICTIONS = (
    Estimate(
        name="tiled-gain",
        unit="times as fast",
        close=0.1,
        found=times_as_fast("tiled", "naive", (4096, 4096, 4096)),
        predicted=((2 / 1.625, "That is what the wavefronts alone predict."),),
        hints=(
            (
                32,
                "So many times fewer loads go to global memory. But that is not what held `naive` "
                "back.",
            ),
        ),
    ),
)
