"""The exercises of chapter 12, tensor cores."""

from sgemm_lab.exercises.criteria import always
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Estimate, Number
from sgemm_lab.exercises.quantities import times_as_fast
from sgemm_lab.simulator.fragments import holders

_SQUARE = (4096, 4096, 4096)
_ROW, _COLUMN = 3, 5
_PIECE, _PIECE_ROW = 3, 13
"""As exercise 12.2 gives them."""
_FENCE = "                wgmmaFence();"
_LOOP = """\
                const unsigned long long a = matrixDescriptor(&As[now], 1024, 0, 1);
                for (int s = 0; s < BK / 8; ++s) {  // 8 k further are 32 bytes, 2 units of 16
                    wgmma64x256x8(acc, fragB[s], a + 2 * s, k + s > 0);
                }"""
_COMMIT = "                wgmmaCommit();"
_WAIT = "                wgmmaWait<0>();"
_RELEASE = (
    "                if (tid % 128 == 0) mbarrierArrive(&emptied[now]);  // my group has read it"
)
_PRODUCTS = "\n".join((_FENCE, _LOOP, _COMMIT, _WAIT, _RELEASE))
_NO_PRODUCTS = "                // the products of this K tile are missing here"


def _lane() -> float:
    _, _, of_c = holders("tf32", 8)
    return float(of_c.lane[_ROW, _COLUMN])


def _place() -> float:
    return float(_PIECE ^ _PIECE_ROW % 8)


EXERCISES = (
    Number(
        name="12.1",
        unit="",
        expected=_lane,
        because="Lanes 12 to 15 hold row 3, two columns each.",
        hint="Four lanes share a row, and each has two neighbouring columns.",
        hints=(
            (17, "That would be one column for each lane. A lane has two."),
            (29, "That counts elements row by row. A lane has two neighbours."),
            (13, "That lane has columns 2 and 3."),
            (23, "That lane has columns 6 and 7 of row 5."),
        ),
    ),
    Number(
        name="12.2",
        unit="",
        expected=_place,
        because="13 % 8 is 5, and 3 ^ 5 is 6: binary 011 and 101 differ in 110.",
        hint="Take the row modulo 8, and then the exclusive or of its bits and those of the piece.",
        hints=(
            (3, "That is the place without a swizzle."),
            (14, "That is 3 ^ 13. There are 8 places: take the row modulo 8 first."),
            (0, "That is 3 + 13 modulo 8. The exclusive or adds without carrying."),
            (5, "That is the row modulo 8 alone."),
        ),
    ),
    Lines(
        name="12.3",
        kernel="wgmma_minimal",
        place=_PRODUCTS,
        start=_NO_PRODUCTS,
        criteria=always("a warp group multiplies from shared memory."),
    ),
)

PREDICTIONS = (
    Estimate(
        name="tf32-gain",
        unit="times as fast",
        close=0.25,
        found=times_as_fast("mma_tf32", "stages", _SQUARE),
    ),
    Estimate(
        name="groups-gain",
        unit="times as fast",
        close=0.15,
        found=times_as_fast("wgmma_minimal:BN=128", "wgmma_minimal", _SQUARE),
    ),
)
