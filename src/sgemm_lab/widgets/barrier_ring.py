"""The ring of stages between producer warps and consumer warps, over time."""

from collections.abc import Mapping
from typing import Any

import traitlets

from sgemm_lab.simulator.formulas import Pipeline, Window, schedule
from sgemm_lab.text import number
from sgemm_lab.widgets.base import LabWidget, html_table


class BarrierRing(LabWidget):
    """Which stages belong to the producers and which to the consumer warps, at any moment.

    The schedule is that of ``formulas/overlap.ts``.

    Args:
        times: ``latency``, ``load`` and ``compute`` of a K tile in clocks, and the numbers of K
            tiles (``windows``) and ``stages``.
        time: in the step that is shown, in clocks; by default when the first stage is empty again.
    """

    times: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    time = traitlets.Float(0, min=0).tag(sync=True)

    def __init__(self, times: Mapping[str, float], **state: Any) -> None:
        super().__init__(times=dict(times), **state)
        if "time" not in state:
            self.time = self.schedule[0].done

    @property
    def schedule(self) -> list[Window]:
        """The K tiles, in the order of their products."""
        return schedule(Pipeline(**self.times))

    def table(self) -> str:
        """Return when the barriers of each K tile complete as an HTML table."""
        rows = [
            [
                f"K tile {tile.number}",
                f"{tile.buffer}",
                *(number(clock) for clock in (tile.asked, tile.there, tile.begins)),
                number(tile.done),
            ]
            for tile in self.schedule
        ]
        heads = ["", "Stage", "Copy starts", "Filled", "Multiplied from", "Emptied"]
        return html_table("Clocks at which each K tile passes", heads, rows)
