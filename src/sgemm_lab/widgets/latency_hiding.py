"""Warps or warp groups that take turns at one unit: how many of them keep it busy."""

from collections.abc import Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.text import percent
from sgemm_lab.widgets.base import LabWidget, html_table

UNITS = {"warp": "L1", "warp group": "the tensor cores"}
"""What takes turns, and at what."""


def busy(work: float, wait: float, workers: int) -> float:
    """Return the share of the time that the unit is busy, at most 1, by Little's law."""
    return min(1.0, workers * work / (work + wait))


class Case(TypedDict):
    """Workers that need a unit for a while, and then wait. Times in clocks."""

    name: str  # of the choice, such as "L2"
    work: int  # that a worker keeps the unit busy
    wait: int  # until it needs the unit again
    most: int  # workers that there is room for


class LatencyHiding(LabWidget):
    """Who uses a unit when: the idle clocks that more of them fill.

    Args:
        cases: see :class:`Case`.
        kind: what takes turns, of ``UNITS``.
        chosen: which case is drawn.
        workers: how many of them there are.
    """

    cases: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    kind = traitlets.Enum([*UNITS], "warp").tag(sync=True)
    chosen = traitlets.Int(0, min=0).tag(sync=True)
    workers = traitlets.Int(1, min=1).tag(sync=True)

    def __init__(self, cases: Sequence[Case], **state: Any) -> None:
        super().__init__(cases=[{**case} for case in cases], **state)

    @property
    def case(self) -> dict[str, Any]:
        """The case that is drawn."""
        return self.cases[self.chosen]

    def table(self) -> str:
        """Return the busy share of the unit by the number of workers as an HTML table."""
        most = max(case["most"] for case in self.cases)
        rows = [
            [
                f"{workers}",
                *(
                    percent(busy(case["work"], case["wait"], workers))
                    if workers <= case["most"]
                    else "–"
                    for case in self.cases
                ),
            ]
            for workers in range(1, most + 1)
        ]
        heads = [f"{self.kind}s", *(case["name"] for case in self.cases)]
        return html_table(f"Share of the time that {UNITS[self.kind]} can be busy", heads, rows)
