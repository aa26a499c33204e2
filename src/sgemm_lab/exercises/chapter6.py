"""The exercises of chapter 6, bank conflicts."""

import numpy as np

from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.exercises.counted import counts, counts_at, times_as_fast
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Judgement, Number
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel, load_kernel
from sgemm_lab.rules.memory import shared_cost
from sgemm_lab.text import number

_SIZE = (128, 128, 32)
_SQUARE = (4096, 4096, 4096)
_STORE = "store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, alignedC);"


def _wavefronts_of_stride(stride: int) -> int:
    """Wavefronts of a load whose lane i reads word stride · i."""
    words = 4 * stride * np.arange(WARP, dtype=np.int64)[None, :]
    cost = shared_cost(words, np.ones((1, WARP), dtype=bool), 4, is_load=True)
    return int(cost.wavefronts[0])


def _wavefronts_of_store(name: str) -> float:
    stores = counts_at(load_kernel(name), _SIZE, "As[kA")
    return stores.shared_store_wavefronts / stores.shared_store_requests


def _few_store_wavefronts(kernel: Kernel) -> Judgement:
    total = counts(kernel, _SIZE)
    taken = total.shared_store_wavefronts / total.shared_store_requests
    if taken > 1:
        return Judgement(
            False,
            f"C is right, but a store into shared memory takes {number(taken)} wavefronts on "
            "average; 1 will do.",
        )
    book = compile_kernel(load_kernel("padded")).shared_bytes
    bytes_ = compile_kernel(kernel).shared_bytes
    if bytes_ > book:
        return Judgement(
            False, f"That works, but {bytes_:,} bytes are more than the {book:,} that are enough."
        )
    return Judgement(True, f"a store takes 1 wavefront, and the block {bytes_:,} bytes.")


def _wide_store(kernel: Kernel) -> Judgement:
    made = counts(kernel, _SIZE).global_store_requests
    enough = counts(load_kernel("vector_store"), _SIZE).global_store_requests
    if made > enough:
        return Judgement(
            False,
            f"C is right, but it takes {made:,} store requests where {enough:,} are enough: "
            "no store is a float4.",
        )
    return Judgement(True, "full quarters leave as float4, and nothing is written outside C.")


def _tile(pad: str) -> str:
    return f"    __shared__ float As[BK][BM{pad}];  // the window's k × rows of A: transposed"


EXERCISES = (
    Number(
        name="6.1",
        unit="wavefronts",
        expected=lambda: _wavefronts_of_stride(12),
        because="12 and 32 share the factor 4, so the lanes meet in 8 banks, four in each.",
        hint="Lane i asks bank 12·i mod 32. How many lanes meet in the fullest bank?",
        hints=(
            (1, "Lanes 0 and 8 ask words 0 and 96, which are both in bank 0."),
            (12, "The stride itself does not count, only the factor it shares with 32."),
            (8, "That is the number of banks that are asked; four lanes meet in each."),
            (32, "All lanes meet in one bank only at a stride of 32."),
            (3, "Lanes 0, 8, 16 and 24 all ask bank 0."),
        ),
        tolerance=1e-9,
        solution=4,
        wrong=((1, "both in bank 0"), (12, "shares with 32"), (8, "four lanes"), (2, "fullest")),
    ),
    Lines(
        name="6.2",
        kernel="transposed",
        place=_tile(""),
        start=_tile(""),
        asks=_few_store_wavefronts,
        solution=_tile(" + 4"),
        wrong=(
            (_tile(""), "takes 4.5 wavefronts"),
            (_tile(" + 1"), "takes 2.5 wavefronts"),
            (_tile(" + 12"), "bytes are more than"),
            (_tile(" + 8"), "takes 1.5 wavefronts"),
        ),
    ),
    Number(
        name="6.3",
        unit="wavefronts",
        expected=lambda: _wavefronts_of_store("padded:PAD=8"),
        because="A warp stores two rows of As, four apart, and 4 · 8 = 32 banks further is the "
        "same bank; counted.",
        hint="A warp stores 16 elements into row kA of As and 16 into row kA + 4.",
        hints=(
            (1, "The two rows that a warp stores are four apart, and 4 · 8 = 32 is bank 0 again."),
            (8, "Only two rows are stored at once, so no more than two lanes can meet."),
            (32, "Only two rows are stored at once, so no more than two lanes can meet."),
        ),
        tolerance=1e-9,
        solution=2,
        wrong=((1, "bank 0 again"), (8, "two lanes"), (4, "row kA")),
    ),
    Lines(
        name="6.4",
        kernel="vector_store",
        place=f"            {_STORE}",
        start="""\
            float4* out = reinterpret_cast<float4*>(&C[size_t(row) * N + col]);
            if (row < M && col < N) *out = v;""",
        asks=_wide_store,
        sizes=((5, 6, 3), (4, 132, 5)),
        solution=f"            {_STORE}",
        wrong=(
            (
                """\
            float4* out = reinterpret_cast<float4*>(&C[size_t(row) * N + col]);
            if (row < M && col < N) *out = v;""",
                "in your line 2",
            ),
            (
                """\
            float4* out = reinterpret_cast<float4*>(&C[size_t(row) * N + col]);
            if (row < M && col + 3 < N) *out = v;""",
                "never written",
            ),
            (
                """\
            store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, true);""",
                "multiple of 16 bytes",
            ),
            (
                """\
            store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, false);""",
                "no store is a float4",
            ),
        ),
    ),
    Choice(
        name="6.5",
        found=times_as_fast("split", "register_cache", (1024, 1024, 1024), _SQUARE),
        solution="slower",
        wrong=(("faster", "`split` makes"), ("same", "`register_cache`"), (1.4, '"slower"')),
    ),
)

PREDICTIONS = (
    Choice(
        name="float4-again",
        found=times_as_fast("float4_tile", "transposed", _SQUARE),
        solution="faster",
        wrong=(("slower", "`float4_tile` makes"), ("same", "`transposed`")),
    ),
    Estimate(
        name="split-gain",
        unit="times as fast",
        close=0.06,
        found=times_as_fast("split", "padded", _SQUARE),
        foretold=(
            (
                1.27,
                "That is what the bounds foretell. `split` reaches less of its bound.",
            ),
        ),
        hints=((1.52, "That is what shared memory alone foretells. Issue slots bind first."),),
        wrong=((1.52, "Issue slots bind first"), (0.5, "too low")),
    ),
)
