"""The exercises of chapter 3, sliding window."""

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises.criteria import Case, Compiled, Counted, Criteria, no_more
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Estimate, Number
from sgemm_lab.exercises.quantities import barriers, times_as_fast
from sgemm_lab.hardware import STATIC_SHARED

_BYTES_PER_K = 2 * 32 * 4
_STEP = 32
_SIZE = (32, 32, 64)
_SQUARE = (4096, 4096, 4096)

_WIDEST = Criteria(
    (
        Case(
            False,
            "{wide:number} works, but one of {wider:number} fits too.",
            "taken",
            below=STATIC_SHARED - _STEP * _BYTES_PER_K + 1,
        ),
        Case(
            True,
            f"a K tile of {{wide:number}} takes {{taken:comma}} of {STATIC_SHARED:,} bytes.",
        ),
    ),
    {
        "taken": Compiled("shared_bytes"),
        "wide": Compiled("shared_bytes", each=_BYTES_PER_K),
        "wider": Compiled("shared_bytes", each=_BYTES_PER_K, plus=_STEP),
    },
)

_COPIED_ONCE = no_more(
    Counted("global_load_requests", _SIZE),
    "sliding_window",
    "C is right, but a K tile takes {made:number} requests where {enough:number} are enough.",
    "each element is copied once, with {made:number} requests for a K tile.",
)


_COPY = """\
        for (int l = 0; l < BK; l += TILE) {
            const int kA = k0 + l + tx;
            const int kB = k0 + l + ty;
            As[ty][l + tx] = row < M && kA < K ? A[size_t(row) * K + kA] : 0.0f;
            Bs[l + ty][tx] = kB < K && col < N ? B[size_t(kB) * N + col] : 0.0f;
        }"""
_COPY_OF_A_TILE = """\
        const int kA = k0 + tx;
        const int kB = k0 + ty;
        As[ty][tx] = row < M && kA < K ? A[size_t(row) * K + kA] : 0.0f;
        Bs[ty][tx] = kB < K && col < N ? B[size_t(kB) * N + col] : 0.0f;"""

EXERCISES = (
    Number(
        name="3.1",
        unit="barriers",
        expected=lambda: barriers(load_kernel("sliding_window"), (1, 1, 1000)),
        because="Two per K tile, and the last counts even if it is not full; counted.",
        hint="Count the K tiles, rounded up, and the barriers of each.",
        hints=(
            (16, "That is one barrier per K tile; there are two."),
            (30, "The last K tile counts even if it is not full."),
            (31.25, "A block does not pass a quarter of a barrier: round the K tiles up."),
            (64, "That is two per K tile of 32; this one is 64 wide."),
        ),
    ),
    Lines(
        name="3.2",
        kernel="sliding_window",
        place="constexpr int BK = 64;    // width of a K tile",
        start="constexpr int BK = 224;   // width of a K tile",
        criteria=_WIDEST,
        solution="constexpr int BK = 192;   // width of a K tile",
    ),
    Lines(
        name="3.3",
        kernel="sliding_window",
        place=_COPY,
        start=_COPY_OF_A_TILE,
        criteria=_COPIED_ONCE,
    ),
    Estimate(
        name="3.4",
        unit="times as fast",
        found=times_as_fast("sliding_window", "sliding_window:BK=32", (129, 129, 65537), _SQUARE),
        hints=((1.09, "That is the factor of 4096³, where two blocks share an SM."),),
    ),
)

PREDICTIONS = (
    Estimate(
        name="window-gain",
        unit="times as fast",
        found=times_as_fast("sliding_window", "sliding_window:BK=32", _SQUARE),
        close=0.03,
        hints=((2, "Only the waits are half as many; the wavefronts are the same."),),
    ),
)
