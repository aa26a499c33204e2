"""Where a warp group has its sums of ``wgmma``: a lane's of all, and the map that repeats."""

from collections.abc import Iterator

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import LETTERS, PALE, PANEL_WIDTH, box, panel, words
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
    left, wide, tall = 62, 66, 4
    last = _COLUMNS // _WIDE - 1
    mine = places_of_sums(_COLUMNS)[0][_LANE].size
    described = (
        f"64 rows by {_COLUMNS} columns of sums. Each of {_WARPS} warps has {_ROWS} rows. Along "
        f"them the map of {_ROWS} by {_WIDE} repeats {last + 1} times: repetition j is in "
        "registers d[4 j] to d[4 j + 3]."
    )

    def parts() -> Iterator[str]:
        for place, j in enumerate((0, 1, None, last)):
            x = left + place * (wide + 3)
            columns = "…" if j is None else f"{_WIDE * j}–{_WIDE * j + _WIDE - 1}"
            yield words(x + wide / 2, LETTERS, columns, anchor="middle")
            for warp in range(_WARPS):
                y = _TOP + warp * _ROWS * tall
                if j is None:
                    yield words(x + wide / 2, y + 34, "…", anchor="middle")
                    continue
                marked, label = warp == 0 and j == 0, f"d{4 * j}–{4 * j + 3}"
                opacity, edge = (PALE, "fg") if marked else (PALE / 2, "register")
                high = _ROWS * tall - 3
                yield box(x, y, wide, high, "register", opacity, label, edge=edge)
        for warp in range(_WARPS):
            y = _TOP + warp * _ROWS * tall
            yield words(0, y + 28, f"warp {warp}")
            yield words(0, y + 44, f"{warp * _ROWS}–{warp * _ROWS + _ROWS - 1}", hue="muted")

    says = f"A lane has **{mine} sums**: four of each box of {_ROWS} × {_WIDE}"
    height = _TOP + _WARPS * _ROWS * tall + 2
    return panel("All sums of a warp group", parts(), height, described, says)


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
                label, opacity, ink = f"{lane}", PALE / 2, "fg"
                if lane == _LANE:
                    label, opacity, ink = f"d{register}", 1.0, "bg"
                yield box(x, y, wide, tall, "register", opacity, label, ink=ink, edge="line")
        for c in range(_WIDE):
            yield words(left + (c + 0.5) * wide, LETTERS, f"{c}", anchor="middle")

    says = f"The marked box: its lanes, and the registers of lane {_LANE}"
    height = _TOP + _ROWS * tall + 2
    return panel("16 × 8 of them", parts(), height, described, says)
