"""The still picture of speed over error: each way to multiply is a point. Log-log."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox

from sgemm_lab import style
from sgemm_lab.text import number, power_of_ten

WORDS = {
    "fp32": "FP32",
    "3xtf32": "3 × TF32",
    "3xfp16": "3 × FP16",
    "tf32": "TF32",
    "fp16": "FP16",
}
"""What multiplies, in words."""
KERNEL, LIBRARY, STRASSEN = "kernel", "library", "strassen"
"""Kinds of points: each has a mark of its own."""

_COLOURS = {
    "fp32": style.LEVEL_COLOURS["dram"],
    "3xtf32": style.KERNEL,
    "3xfp16": style.KERNEL,
    "tf32": style.LEVEL_COLOURS["l2"],
    "fp16": style.LEVEL_COLOURS["shared"],
}
_MARKERS = {KERNEL: "o", LIBRARY: "D", STRASSEN: "s"}
_SIDE_BY_SIDE = 1.5
"""Errors of less than so many times the least stand at the left edge of all points."""
_BESIDE = 0.7
"""What axes have of the width of a phone, where names stand beside them."""
_ROOM = {
    (False, False): (40, 25), (False, True): (4, 3),
    (True, False): (14, 6), (True, True): (9, 4),
}  # fmt: skip
"""How far the axis of errors goes beyond the points, for their names: with levels, on a phone."""
_LOST_AT = 6.0
"""By what factor beyond the largest error the points without one stand."""
_ROWS = (4.0, 8.0, 12.0, 18.0, 24.0, 32.0, 40.0)


@dataclass(frozen=True)
class Point:
    """The speed and the error of a way to multiply."""

    name: str
    """What stands beside it; nothing where it is empty."""
    arithmetic: str
    """Of its products: of the leaves, where it is Strassen's."""
    tflops: float
    error: float
    """Infinite where elements of C are lost."""
    kind: str = KERNEL


def draw_points(
    points: Sequence[Point],
    chains: Sequence[Sequence[Point]],
    library: float | None,
    phone: bool = False,
) -> Figure:
    """Draw points, chains of points by levels, and a line at the error of cuBLAS in FP32.

    Points without an error stand apart on the right, where there are any.
    """
    fig = style.figure(style.PHONE_WIDTH, 6.2) if phone else style.figure(7.0, 4.4)
    joined = [point for chain in chains for point in chain]
    finite = [one.error for one in (*points, *joined) if math.isfinite(one.error)] or [1e-6]
    apart = _LOST_AT * max(finite)
    lost = any(not math.isfinite(one.error) for one in (*points, *joined))
    every = [_placed(one, apart) for one in (*points, *joined)]
    chains = [[_placed(one, apart) for one in chain] for chain in chains]
    with style.book_style():
        ax = fig.subplots()
        if phone and not chains:
            # The fastest err most: their names stand beside the axes.
            fig.set_layout_engine("constrained", rect=(0, 0, _BESIDE, 1))
        ax.set(xscale="log", yscale="log", ylabel="TFLOP/s")
        ax.set_xlabel("error: ‖C − A·B‖ over ‖A·B‖")
        for chain in chains:
            colour = _COLOURS[chain[0].arithmetic]
            ax.plot([one.error for one in chain], [one.tflops for one in chain],
                    color=colour, linewidth=0.8, alpha=0.6)  # fmt: skip
        # A kernel as fast as a library lies on its larger mark.
        for point in sorted(every, key=lambda one: one.kind != LIBRARY):
            ax.plot([point.error], [point.tflops], _MARKERS[point.kind],
                    markersize=9 if point.kind == LIBRARY else 6,
                    color=_COLOURS[point.arithmetic],
                    markerfacecolor=_face(point, apart))  # fmt: skip
        for arithmetic in dict.fromkeys(point.arithmetic for point in every):
            ax.plot([], [], "o", color=_COLOURS[arithmetic], label=WORDS[arithmetic])
        if chains:
            ax.plot([], [], _MARKERS[STRASSEN], color=style.LINE, markerfacecolor="none",
                    markersize=6, label="Strassen, by levels")  # fmt: skip
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: power_of_ten(round(math.log10(value))))
        )
        left, right = _ROOM[bool(chains), phone]
        ax.set_xlim(min(finite) / left, (apart if lost else max(finite)) * right)
        ax.grid(axis="both")
        if library is not None:
            ax.axvline(library, color=style.CUBLAS, linestyle="--", linewidth=1.2, zorder=0)
        if lost:
            ax.axvline(apart / math.sqrt(_LOST_AT), color=style.LINE, linewidth=0.8)
            ax.annotate("lost values", (apart, 1), xycoords=("data", "axes fraction"),
                        xytext=(0, -4), textcoords="offset points", ha="center", va="top",
                        fontsize=9, color=style.MUTED)  # fmt: skip
        fig.legend(loc="outside upper left", fontsize=9, ncols=2 if phone else 5)
        _label_points(fig, ax, every, chains, 9 if phone else 10)
    return fig


def _placed(point: Point, apart: float) -> Point:
    return point if math.isfinite(point.error) else replace(point, error=apart)


def _face(point: Point, apart: float) -> str:
    hollow = point.kind == STRASSEN or point.error == apart
    return style.BACKGROUND if hollow else _COLOURS[point.arithmetic]


def _label_points(
    fig: Figure, ax: Axes, points: Sequence[Point], chains: Sequence[Sequence[Point]], letters: int
) -> None:
    """Write each name where it lies on no mark, line or other name, as near as can be.

    Levels are one digit, which stands above its mark, or beside it where a line comes from above.
    """
    if not points:
        return
    fig.draw_without_rendering()  # settles where the axes are
    marks, *lines = (
        ax.transData.transform([(one.error, one.tflops) for one in some])
        for some in (points, *chains)
    )
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in marks]
    shares = np.linspace(0, 1, 30)[:, None]
    for line in lines:
        for start, end in itertools.pairwise(line):
            taken += [Bbox([at, at + 1]) for at in start + shares * (end - start)]
    least = min(one.error for one in points)
    named = [point for point in points if point.name]
    for point in sorted(named, key=lambda one: (one.kind != STRASSEN, -one.error)):
        sides = [-1, 1] if point.error < _SIDE_BY_SIDE * least else [1, -1]
        places = [(0.0, 11.0), (9.0, 0.0)] if point.kind == STRASSEN else _places(sides)
        for dx, dy in places:
            text = ax.annotate(
                point.name, (point.error, point.tflops), xytext=(dx, dy), va="center",
                textcoords="offset points", fontsize=letters, color=_COLOURS[point.arithmetic],
                ha="center" if not dx else "left" if dx > 0 else "right", in_layout=False,
            )  # fmt: skip
            box = text.get_window_extent()
            inside = ax.bbox.x0 <= box.x0 and box.x1 <= fig.bbox.x1
            if (dx, dy) == places[-1] or (inside and not any(map(box.overlaps, taken))):
                taken.append(box)
                break
            text.remove()


def _places(sides: Sequence[int]) -> list[tuple[float, float]]:
    """Return where a name may stand, in points off its mark: beside it, then above and below."""
    rows = [0.0, *(sign * step for step in _ROWS for sign in (1, -1))]
    return [(9.0 * side, row) for row in rows for side in sides] + [(0.0, row) for row in rows[1:]]
