"""What a search tries: kernels of the book, each with the constants that are worth trying.

A family lists groups of settings; its candidates are all ways of taking one setting of each group,
less those that the kernel's own assertions refuse. Nothing else needs to change for another
candidate: add a setting here, and ``sgemm-lab tune`` tries it at every size.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from sgemm_lab.gemm.dispatch.legality import refusal
from sgemm_lab.kernel import Kernel, load_kernel

Setting = dict[str, int]


@dataclass(frozen=True)
class Family:
    """A kernel, and groups of settings of its constants. An empty setting is the file's own."""

    kernel: str
    groups: tuple[tuple[Setting, ...], ...] = ()
    shares: bool = False
    """Whether its blocks share out windows of K evenly, so that no SM has a tile more."""
    loop: str | None = None
    """The kernel that has the same loop over K and a grid of tiles, where this one has another."""


def _one_each(name: str, *values: int) -> tuple[Setting, ...]:
    return tuple({name: value} for value in values)


def _tile(bm: int, bn: int, wm: int, wn: int, tm: int, tn: int, **more: int) -> Setting:
    return {"BM": bm, "BN": bn, "WM": wm, "WN": wn, "TM": tm, "TN": tn, **more}


_SMALL_TILES = (
    _tile(32, 32, 16, 32, 4, 4, BK=16, STAGES=4),
    _tile(64, 64, 32, 32, 8, 4, BK=16, STAGES=4),
    _tile(64, 128, 32, 64, 8, 8, BK=16, STAGES=3),
    _tile(128, 64, 32, 64, 8, 8, BK=16, STAGES=3),
    _tile(128, 128, 32, 64, 8, 8, BK=8, STAGES=4),
)

_CLUSTER_TILES = tuple(
    {**tile, "UNROLL": 4} if (tile["BM"], tile["BN"]) == (64, 128) else tile
    for tile in _SMALL_TILES
)
"""Written out, the copy of rows that are not aligned costs 64 × 128 no block of an SM."""

_SHARED_TILES = (
    {**_SMALL_TILES[1], "BLOCKS": 2},
    {**_SMALL_TILES[2], "BLOCKS": 2},
    _tile(128, 64, 32, 64, 8, 8, BK=16, STAGES=3, BLOCKS=2),
    _tile(64, 256, 32, 64, 8, 8, BK=16, STAGES=3, BLOCKS=2),
    _tile(128, 128, 32, 64, 8, 8, BK=16, STAGES=3, BLOCKS=2),
    _tile(128, 128, 32, 64, 8, 8, BK=16, STAGES=4, BLOCKS=1),
    _tile(128, 256, 64, 64, 8, 16, BK=16, STAGES=3, BLOCKS=1),
)
_NARROW_TILES = (
    _tile(16, 128, 16, 32, 4, 4, BK=16, STAGES=4, BLOCKS=2),
    _tile(16, 256, 16, 64, 4, 8, BK=16, STAGES=3, BLOCKS=2),
    _tile(32, 256, 32, 64, 8, 8, BK=16, STAGES=3, BLOCKS=2),
    _tile(64, 16, 32, 16, 4, 4, BK=32, STAGES=4, BLOCKS=2),
    _tile(256, 32, 64, 32, 8, 8, BK=16, STAGES=3, BLOCKS=1),
)
"""For C of a few rows or columns: a tile of 64 × 64 would be nearly empty."""

FAMILIES = (
    # Run on every GPU of the book; a GPU that lacks what the others need chooses among these.
    Family("double_buffer"),
    Family("by_column"),
    # From sm_80 on.
    Family("lane_map", (({}, *_SMALL_TILES),)),
    Family("split_k", ((*_SHARED_TILES, *_NARROW_TILES),), loop="lane_map"),
    # From sm_90 on.
    Family("cluster_split", (_CLUSTER_TILES, _one_each("SPLIT", 2, 4, 8)), loop="lane_map"),
    Family("producers", loop="lane_map"),
    Family("quads", loop="lane_map"),
    Family("persistent", loop="lane_map"),
    Family("stream_k", shares=True, loop="lane_map"),
    Family("own_windows", shares=True, loop="lane_map"),
    Family("no_questions", shares=True, loop="lane_map"),
    Family("bands", shares=True, loop="lane_map"),
    Family("whole_tiles", shares=True, loop="lane_map"),
    # For C of a row or a few, and of a column; for a K of one or a few.
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
    ),
    Family("one_column", (_one_each("TM", 1, 4),)),
    Family("thin_k", (({}, {"BM": 32, "TM": 8}),)),
)

SHARING = frozenset(family.kernel for family in FAMILIES if family.shares)
"""Kernels whose blocks share out windows of K evenly."""

LOOPS = {family.kernel: family.loop for family in FAMILIES if family.loop}
"""The kernel whose loop over K a candidate has, by the candidate's."""


def settings(family: Family) -> Iterator[Setting]:
    """Yield every way of taking one setting of each group."""
    for chosen in itertools.product(*family.groups):
        yield {name: value for setting in chosen for name, value in setting.items()}


def candidates() -> list[Kernel]:
    """Return every candidate whose constants its kernel allows, each once.

    Raises:
        LabError: a family names a kernel or a constant that the book does not have.
    """
    found: dict[str, Kernel] = {}
    for family in FAMILIES:
        for setting in settings(family):
            kernel = load_kernel(family.kernel).with_constants(**setting)
            if refusal(kernel) is None:
                found[kernel.name] = kernel
    return list(found.values())
