"""Roofs of a GPU in Matplotlib, for the still pictures of the widgets that show them."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from sgemm_lab.formulas.roofs import reference_levels
from sgemm_lab.style import BACKGROUND, FOREGROUND, LEVEL_COLOURS
from sgemm_lab.text import number


def draw_roofs(
    ax: Axes, gpu: Mapping[str, Any], points: Iterable[tuple[float, float]], hidden: Iterable[str]
) -> None:
    """Draw the roofs of ``gpu`` on log-log axes that also hold ``points`` (FLOP/B, GFLOP/s)."""
    places = list(points)
    levels = [level for level in reference_levels(gpu) if level["id"] not in set(hidden)]
    peak = float(gpu["peak_gflops"])
    ridges = [peak / level["gbs"] for level in levels]
    left = min([0.2, *(x for x, _ in places)]) / 2
    right = max([4.0, *ridges, *(x for x, _ in places)]) * 4
    low = min([*(level["gbs"] * left for level in levels), *(y for _, y in places), peak / 10])
    ax.set(xscale="log", yscale="log", xlim=(left, right), ylim=(low / 1.6, peak * 2.2))
    ax.set_xlabel("arithmetic intensity, FLOP per byte", loc="right")
    ax.set_title("GFLOP/s", fontsize=10, loc="left")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(base=10))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        axis.set_minor_locator(LogLocator(base=10, subs=[]))
    ax.grid(True)
    ax.spines["left"].set_visible(False)
    ax.tick_params(length=0)

    steepest = max((float(level["gbs"]) for level in levels), default=peak / left)
    ax.plot([max(left, peak / steepest), right], [peak, peak], color=FOREGROUND)
    for level in gpu["levels"]:
        if level["id"] in set(hidden):
            continue
        main = level in levels
        colour = LEVEL_COLOURS[level["id"]]
        ridge = peak / level["gbs"]
        ax.plot(
            [left, ridge],
            [left * level["gbs"], peak],
            color=colour,
            linewidth=2 if main else 1,
            linestyle="solid" if level["measured"] else (0, (5, 3)),
        )
        if main:
            ax.plot([ridge], [peak], "o", color=colour, markerfacecolor=BACKGROUND, markersize=6)


class Spot(NamedTuple):
    """A place for a text: an offset in points from a point of the data."""

    at: tuple[float, float]
    offset: tuple[float, float]
    align: Literal["left", "center", "right"] = "center"
    degrees: float = 0.0


class Labels:
    """Puts texts where they cover neither marks nor one another.

    Make it when the axes are complete. As in the JavaScript, what must stay readable is kept as
    discs, in points, and a text is a row of discs along its baseline.
    """

    def __init__(
        self,
        ax: Axes,
        marks: Iterable[tuple[float, float]],
        arrows: Iterable[tuple[tuple[float, float], tuple[float, float]]] = (),
    ) -> None:
        self.ax = ax
        assert isinstance(ax.figure, Figure)
        ax.figure.draw_without_rendering()  # lays the axes out: from here on places are final
        self.discs: list[tuple[float, float, float]] = []
        for mark in marks:
            self._block(mark, 7)
        for path in [*(line.get_xydata() for line in ax.lines), *arrows]:
            self._block_path(path)

    def place(self, text: str, spots: Iterable[Spot], **style: Any) -> bool:
        """Write ``text`` at the first free spot; return whether there was one."""
        label = self.ax.annotate(
            text, (1, 1), (0, 0), textcoords="offset points", annotation_clip=False, **style
        )
        width = label.get_window_extent().width
        size = float(label.get_fontsize())
        for spot in spots:
            discs = self._discs(spot, width, size)
            if not all(self._free(disc) for disc in discs):
                continue
            self.discs += discs
            label.xy = spot.at
            label.set(position=spot.offset, ha=spot.align, va="baseline", rotation=spot.degrees)
            label.set_rotation_mode("anchor")
            return True
        label.remove()
        return False

    def name_roofs(self, gpu: Mapping[str, Any], hidden: Iterable[str]) -> None:
        """Write each roof's name along it."""
        peak = float(gpu["peak_gflops"])
        left, right = self.ax.get_xlim()
        flat = [Spot((right, peak), (-2, 6), "right"), Spot((right, peak), (-2, -14), "right")]
        name = f"FP32 peak {number(peak)}"
        if not self.place(f"{name}, operands in registers", flat):
            self.place(name, flat)
        for level in reference_levels(gpu):
            if level["id"] in set(hidden):
                continue
            twin = any(
                other["id"] == level["id"] and other["gbs"] > level["gbs"]
                for other in gpu["levels"]
            )
            rise = -13 if twin else 5
            for text in (f"{level['label']} {number(level['gbs'])} GB/s", level["label"]):
                spots = self._along(left, peak / level["gbs"], float(level["gbs"]), rise)
                if self.place(text, spots, color=LEVEL_COLOURS[level["id"]]):
                    break

    def _along(self, left: float, ridge: float, gbs: float, rise: float) -> Iterator[Spot]:
        (x1, y1), (x2, y2) = self.ax.transData.transform([(left, left * gbs), (ridge, ridge * gbs)])
        angle = math.atan2(y2 - y1, x2 - x1)
        offset = (-rise * math.sin(angle), rise * math.cos(angle))
        for step in range(1, 60):
            x = left * (ridge / left) ** (step / 60)
            yield Spot((x, x * gbs), offset, degrees=math.degrees(angle))

    def _block(self, place: tuple[float, float], radius: float) -> None:
        x, y = self.ax.transData.transform(place)
        self.discs.append((x, y, radius))

    def _block_path(self, path: Any) -> None:
        places = self.ax.transData.transform(path)
        for (x1, y1), (x2, y2) in itertools.pairwise(places):
            steps = int(math.hypot(x2 - x1, y2 - y1) / 5) + 1
            for i in range(steps + 1):
                self.discs.append((x1 + (x2 - x1) * i / steps, y1 + (y2 - y1) * i / steps, 1))

    def _discs(self, spot: Spot, width: float, size: float) -> list[tuple[float, float, float]]:
        x, y = self.ax.transData.transform(spot.at)
        cos, sin = math.cos(math.radians(spot.degrees)), math.sin(math.radians(spot.degrees))
        start = {"left": 0.0, "center": -width / 2, "right": -width}[spot.align]
        count = int(2 * width / size) + 2
        discs = []
        for i in range(count + 1):
            along, rise = start + width * i / count, size * 0.36
            discs.append(
                (
                    x + spot.offset[0] + along * cos - rise * sin,
                    y + spot.offset[1] + along * sin + rise * cos,
                    size / 2,
                )
            )
        return discs

    def _free(self, disc: tuple[float, float, float]) -> bool:
        x, y, radius = disc
        box = self.ax.bbox
        if not (box.x0 < x < box.x1 + 4 and box.y0 + 4 < y < box.y1 + 8):
            return False
        return all(math.hypot(x - u, y - v) > radius + r for u, v, r in self.discs)
