"""The roofline widget: roofs of several GPUs, kernels as points at each memory level."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from sgemm_lab.formulas.roofs import reference_levels, roof_at
from sgemm_lab.text import number, percent
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import LEVEL_NAMES, ChoosesGpu, Gpu, Point


class Roofline(ChoosesGpu, LabWidget):
    """A roofline to explore.

    Args:
        gpus: the GPUs to choose from, see :class:`~sgemm_lab.widgets.data.Gpu`.
        points: kernels, see :class:`~sgemm_lab.widgets.data.Point`. Points of a GPU that is not
            chosen stay hidden.
        gpu: id of the GPU to begin with. Default: the first.
        level: id of the memory level to begin with. Default: the one whose roof is the lowest over
            the last kernel that was measured.

    State that the reader changes and Python can read or set: ``gpu``; ``level``, of a GPU without
    it the first is shown; ``selected``, kernel and kind of the point in focus.
    """

    points: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)
    level = traitlets.Enum(list(LEVEL_NAMES), "dram").tag(sync=True)

    def __init__(self, gpus: list[Gpu], points: Sequence[Point] = (), **state: Any) -> None:
        super().__init__(gpus, points=list(points), **state)
        if "level" not in state:
            there = [point for point in self.points if point["gpu"] == self.gpu]
            self.level = lowest_level(self.chosen_gpu, there)

    @property
    def shown_points(self) -> list[dict[str, Any]]:
        """The points on the chosen GPU, of the level shown."""
        there = [level["id"] for level in self.chosen_gpu["levels"]]
        level = self.level if self.level in there else there[0]
        return [
            point for point in self.points if point["gpu"] == self.gpu and point["level"] == level
        ]

    def table(self) -> str:
        """Return the roofs and the points of the chosen GPU as HTML tables."""
        gpu = self.chosen_gpu
        roofs = [
            [level["label"], f"{number(level['gbs'])} GB/s", level["source"]]
            for level in gpu["levels"]
        ]
        roofs += [
            [
                "FP32 peak, operands in registers",
                f"{number(peak['gflops'])} GFLOP/s",
                peak["source"],
            ]
            for peak in gpu["peaks"]
        ]
        text = html_table(f"Roofs of {gpu['name']}", ["Roof", "Value", "Source"], roofs)
        points = [
            [
                point["kernel"],
                LEVEL_NAMES[point["level"]],
                point["kind"],
                number(point["intensity"]),
                number(point["gflops"]),
                percent(point["gflops"] / roof_at(gpu, point["level"], point["intensity"])),
                _bound_of(point),
            ]
            for point in self.shown_points
        ]
        if not points:
            return text
        heads = ["Kernel", "Level", "Kind", "FLOP/B", "GFLOP/s", "Share of the roof", "Bound"]
        return text + html_table(f"Kernels on {gpu['name']}", heads, points)


def lowest_level(gpu: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> str:
    """Return the level whose roof is the lowest over the last kernel, of its measured points.

    Where nothing was measured, of its predicted ones; the GPU's first where there is no point.
    """
    measured = [point for point in points if point["kind"] == "measured"] or list(points)
    if not measured:
        return str(gpu["levels"][0]["id"])
    last = [point for point in measured if point["kernel"] == measured[-1]["kernel"]]
    roofs = {level["id"]: float(level["gbs"]) for level in reference_levels(gpu)}
    # Not cut off at the peak: of levels that could all feed it, the one that is nearest to it.
    slack = {p["level"]: roofs.get(p["level"], math.inf) * p["intensity"] for p in last}
    return str(min(slack, key=lambda level: slack[level]))


def _bound_of(point: Mapping[str, Any]) -> str:
    if not point["bound_by"]:
        return ""
    return f"{number(point['bound_gflops'])} GFLOP/s, {point['bound_by']}"
