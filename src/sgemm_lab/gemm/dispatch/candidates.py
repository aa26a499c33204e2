"""Candidates of a search: kernels of the book with values of their constants.

A family lists groups of settings. Its candidates are all combinations of one setting per group. To
add a candidate, add a setting here; ``sgemm-lab tune`` then measures it and fits its time.
"""

import itertools
from dataclasses import dataclass

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.arrays import MAX_DIMENSION
from sgemm_lab.kernel import Kernel, Size

Setting = dict[str, int]


@dataclass(frozen=True)
class Family:
    """A kernel, and groups of settings of its constants. An empty setting keeps the defaults."""

    kernel: str
    groups: tuple[tuple[Setting, ...], ...] = ()
    most: tuple[int, int, int] | None = None
    """The largest M, N and K for which it is a candidate: beyond, it is far too slow."""


def _one_each(name: str, *values: int) -> tuple[Setting, ...]:
    return tuple({name: value} for value in values)


def _tile(bm: int, bn: int, wm: int, wn: int, tm: int, tn: int, **more: int) -> Setting:
    return {"BM": bm, "BN": bn, "WM": wm, "WN": wn, "TM": tm, "TN": tn, **more}


_TINY = _tile(32, 32, 16, 32, 4, 4, BK=16, STAGES=4)
_FLAT = _tile(16, 128, 16, 32, 4, 4, BK=16, STAGES=4)
_LOW = _tile(32, 64, 32, 32, 8, 4, BK=16, STAGES=4)
_SQUARE = _tile(64, 64, 32, 32, 8, 4, BK=16, STAGES=4)
_WIDE = _tile(64, 128, 32, 64, 8, 8, BK=16, STAGES=3)
_HIGH = _tile(128, 64, 32, 64, 8, 8, BK=16, STAGES=3)
_STRIP = _tile(32, 128, 32, 64, 8, 8, BK=16, STAGES=3)
_BROAD = _tile(32, 256, 32, 64, 8, 8, BK=16, STAGES=3)
_COLUMN = _tile(128, 32, 64, 32, 8, 8, BK=16, STAGES=3)
_NARROW = _tile(256, 32, 64, 32, 8, 8, BK=16, STAGES=3)
_THIN = _tile(64, 16, 32, 16, 4, 4, BK=32, STAGES=4)
_SHALLOW = {"BK": 8, "STAGES": 4}
"""For a small K, which pads to fewer K tiles."""

FAMILIES = (
    # Runs on every GPU of the book.
    Family("double_buffer"),
    # From sm_80 on.
    Family("small_tile", ((_TINY, _SQUARE, _WIDE),)),
    Family(
        "split_k",
        (
            (
                {**_SQUARE, "BLOCKS": 2},
                {**_FLAT, "BLOCKS": 2},
                {**_WIDE, "BLOCKS": 2},
                {**_WIDE, "BLOCKS": 3},
                {**_HIGH, "BLOCKS": 3},
                {**_BROAD, "BLOCKS": 2},
                {**_BROAD, "BLOCKS": 3},
                _tile(64, 64, 32, 64, 8, 8, BK=16, STAGES=3, BLOCKS=4),
                {**_COLUMN, "BLOCKS": 4},
                _tile(128, 32, 32, 32, 8, 4, BK=16, STAGES=3, BLOCKS=2),
                {**_HIGH, **_SHALLOW, "BLOCKS": 3},
                _tile(128, 256, 64, 64, 16, 8, BK=16, STAGES=3, BLOCKS=1),
            ),
        ),
    ),
    # From sm_90 on.
    Family(
        "cluster_split",
        (
            (
                {**_SQUARE, "SPLIT": 8},
                {**_WIDE, "UNROLL": 4, "SPLIT": 2},
                {**_WIDE, "UNROLL": 4, "SPLIT": 4},
            ),
        ),
    ),
    Family("unaligned_rows", ((_TINY,), _one_each("SPLIT", 1, 2, 4, 8))),
    Family(
        "unaligned_rows",
        (
            (
                {**_LOW, "SPLIT": 1},
                {**_LOW, "SPLIT": 4},
                {**_SQUARE, "BK": 8, "STAGES": 3, "SPLIT": 1, "RESIDENT": 4},
                {**_SQUARE, "SPLIT": 2},
                {**_SQUARE, "SPLIT": 4},
                {**_WIDE, "SPLIT": 1, "RESIDENT": 3},
                {**_WIDE, "SPLIT": 2, "RESIDENT": 2},
                {**_HIGH, **_SHALLOW, "SPLIT": 1, "RESIDENT": 4},
                {**_HIGH, "SPLIT": 2, "RESIDENT": 3},
                {**_HIGH, "SPLIT": 4, "RESIDENT": 3},
                {**_STRIP, "SPLIT": 4, "RESIDENT": 6},
                {**_BROAD, "SPLIT": 2, "RESIDENT": 3},
                {**_COLUMN, "SPLIT": 1, "RESIDENT": 4},
                {**_NARROW, "SPLIT": 4, "RESIDENT": 2},
                {**_THIN, "SPLIT": 1},
                {**_THIN, "SPLIT": 8},
            ),
        ),
    ),
    Family("per_warp_stages", (({}, {"BAND": 8}),)),
    # For C with few rows, or one column; for a small K.
    Family(
        "one_row",
        (
            (
                {"BN": 16, "PARTS": 128},
                {"BN": 16, "PARTS": 256},
                {"BN": 32, "PARTS": 128},
                {"BN": 64, "PARTS": 64},
                {"BN": 128, "PARTS": 32},
            ),
            _one_each("TM", 1, 4),
        ),
        most=(16, MAX_DIMENSION, MAX_DIMENSION),
    ),
    Family(
        "one_column",
        (_one_each("TM", 1, 4),),
        most=(MAX_DIMENSION, 16, MAX_DIMENSION),
    ),
    Family(
        "thin_k",
        (({}, {"BM": 64, "TM": 16}),),
        most=(MAX_DIMENSION, MAX_DIMENSION, 128),
    ),
)

MOST = {family.kernel: family.most for family in FAMILIES if family.most}


def is_candidate(kernel: Kernel, size: Size) -> bool:
    """Whether a size is within the range for which a kernel is a candidate."""
    most = MOST.get(kernel.base_name)
    return most is None or all(x <= limit for x, limit in zip(size, most, strict=True))


def candidates() -> list[Kernel]:
    """Return every candidate."""
    return [
        load_kernel(family.kernel).with_constants(
            **{name: value for setting in chosen for name, value in setting.items()}
        )
        for family in FAMILIES
        for chosen in itertools.product(*family.groups)
    ]
