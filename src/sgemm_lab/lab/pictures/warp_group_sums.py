"""Where a warp group has its sums of ``wgmma``: a lane's of all, and the map that repeats."""

from collections.abc import Iterator

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    LETTERS,
    PANEL_WIDTH,
    drawing,
    outline,
    panel,
    rectangle,
    words,
)
from sgemm_lab.lab.pictures.matrices import PALE
from sgemm_lab.simulator.fragments import holders, places_of_sums

_COLUMNS, _WARPS = 256, 4
_ROWS, _WIDE = 16, 8
"""Of the map that repeats."""
_LANE = 5
"""The lane that is marked, of warp 0."""
_TOP = 18


def warp_group_sums() -> tuple[Output, Output]:
    """Draw the 64 × 256 sums of a warp group, and which lane has which of 16 × 8 of them."""
    return _all_sums(), _one_map()


def _all_sums() -> Output:
    left, tall = 50, 4
    wide = (PANEL_WIDTH - left) / _COLUMNS
    row, column = places_of_sums(_COLUMNS)
    mine = sorted(zip(row[_LANE].tolist(), column[_LANE].tolist(), strict=True))
    described = (
        f"64 rows by {_COLUMNS} columns of sums. Each of {_WARPS} warps has 16 rows. Lane {_LANE} "
        f"of warp 0 has {len(mine)} sums, in rows {mine[0][0]} and {mine[-1][0]}, two neighbouring "
        f"columns of every {_WIDE}, from columns {mine[0][1]} and {mine[1][1]} on."
    )

    def parts() -> Iterator[str]:
        yield words(left, LETTERS, "column 0")
        yield words(PANEL_WIDTH, LETTERS, f"{_COLUMNS - 1}", anchor="end")
        for warp in range(_WARPS):
            top = _TOP + warp * _ROWS * tall
            yield words(0, top + _ROWS * tall / 2 + 4, f"warp {warp}")
            for first in range(0, _COLUMNS, _WIDE):
                shade = PALE if (warp + first // _WIDE) % 2 else PALE / 3
                at = left + first * wide
                yield rectangle(at, top, _WIDE * wide, _ROWS * tall, "register", shade)
        for r, c in mine:
            yield rectangle(left + c * wide, _TOP + r * tall, wide, tall, "register")
        yield outline(left, _TOP, _WIDE * wide, _ROWS * tall, "fg")

    says = f"Lane {_LANE} of warp 0 has **{len(mine)} sums**, dark: four of each box of 16 × 8"
    height = _TOP + _WARPS * _ROWS * tall + 2
    return panel("All sums of a warp group", drawing(parts(), height, described), described, says)


def _one_map() -> Output:
    left, tall = 50, _WARPS * 4
    wide = (PANEL_WIDTH - left) / _WIDE
    of_c = holders("tf32", 8)[2]
    described = (
        f"16 rows by {_WIDE} columns. Lane 4 g + t has of row g the columns 2 t and 2 t + 1, in "
        "registers 0 and 1, and the same columns of row g + 8, in registers 2 and 3."
    )

    def parts() -> Iterator[str]:
        for r in range(_ROWS):
            yield words(left - 8, _TOP + r * tall + 12, f"{r}", anchor="end")
            for c in range(_WIDE):
                x, y = left + c * wide, _TOP + r * tall
                lane, register = int(of_c.lane[r, c]), int(of_c.register[r, c])
                mine = lane == _LANE
                yield rectangle(x, y, wide, tall, "register", 1.0 if mine else PALE / 2)
                yield outline(x, y, wide, tall)
                text = f"d{register}" if mine else f"{lane}"
                hue = "bg" if mine else "fg"
                yield words(x + wide / 2, y + 12, text, anchor="middle", hue=hue)
        for c in range(_WIDE):
            yield words(left + (c + 0.5) * wide, LETTERS, f"{c}", anchor="middle")

    says = f"The first box: its lanes, and the registers of lane {_LANE}"
    height = _TOP + _ROWS * tall + 2
    return panel("16 × 8 of them", drawing(parts(), height, described), described, says)
