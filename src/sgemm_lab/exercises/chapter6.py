"""The exercises of chapter 6, bank conflicts."""

from sgemm_lab.exercises.criteria import Case, Compiled, Counted, Criteria, no_more
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Number
from sgemm_lab.exercises.quantities import times_as_fast
from sgemm_lab.hardware import FLOAT_BYTES, WARP
from sgemm_lab.simulator.formulas import shared_wavefronts

_SIZE = (128, 128, 32)
_SQUARE = (4096, 4096, 4096)


def _wavefronts_of_stride(stride: int) -> int:
    """Wavefronts of a load whose lane i reads word stride · i."""
    addresses = [FLOAT_BYTES * stride * lane for lane in range(WARP)]
    return len(shared_wavefronts(addresses, FLOAT_BYTES, is_load=True))


def _column(place: str) -> str:
    return f"__device__ int tileCol(int tx, int j) {{ return {place}; }}"


_NO_CONFLICT_IN_READS = no_more(
    Counted("shared_load_wavefronts", _SIZE),
    "split",
    "C is right, but {made:comma} wavefronts read shared memory; {enough:comma} are enough.",
    "no read of Bs has a bank conflict, and each column has one owner.",
)

_FEW_STORE_WAVEFRONTS = Criteria(
    (
        Case(
            False,
            "C is right, but a store into shared memory takes {taken:number} wavefronts on "
            "average; 1 will do.",
            "taken",
            above=1,
        ),
        Case(
            False,
            "That works, but {bytes:comma} bytes are more than the {enough:comma} that are enough.",
            "bytes",
            above="enough",
        ),
        Case(True, "a store takes 1 wavefront, and the block {bytes:comma} bytes."),
    ),
    {
        "taken": Counted("shared_store_wavefronts", _SIZE, "shared_store_requests"),
        "bytes": Compiled("shared_bytes"),
        "enough": Compiled("shared_bytes", of="split"),
    },
)


def _tile(pad: str) -> str:
    return f"    __shared__ float As[BK][BM{pad}];  // the K tile's k × rows of A: transposed"


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
    ),
    Lines(
        name="6.2",
        kernel="transposed",
        place=_tile(""),
        start=_tile(""),
        criteria=_FEW_STORE_WAVEFRONTS,
        solution=_tile(" + 4"),
    ),
    Lines(
        name="6.3",
        kernel="split",
        place=_column("j / 4 * (BN / 2) + tx * 4 + j % 4"),
        start=_column("tx * TN + j"),
        criteria=_NO_CONFLICT_IN_READS,
    ),
    Choice(
        name="6.4",
        found=times_as_fast("split", "register_cache", (1024, 1024, 1024), _SQUARE),
    ),
)

PREDICTIONS = (
    Choice(
        name="float4-again",
        found=times_as_fast("float4_tile", "transposed", _SQUARE),
    ),
    Estimate(
        name="split-gain",
        unit="times as fast",
        close=0.06,
        found=times_as_fast("split", "float4_tile", _SQUARE),
        hints=(
            (1.3, "That is what the limits predict. `split` reaches less of its limit."),
            (1.55, "That is what shared memory alone predicts. Issue slots set a lower limit."),
        ),
    ),
)
