"""The timeline: K tiles are loaded, stored into one of two buffers, and multiplied."""

import traitlets

from sgemm_lab.simulator.formulas import Pipeline, schedule
from sgemm_lab.widgets.base import LabWidget, html_table

_SETTINGS = ("latency", "load", "compute", "windows", "stages", "store")
_MOST_CLOCKS = 100_000


class Timeline(LabWidget):
    """When K tiles are loaded and multiplied, by the model of ``formulas/overlap.ts``.

    A K tile is on its way to registers, waits there, and is stored into its buffer, in which it
    lies while it is multiplied. With two buffers, or ``ahead``, it is requested when the product
    before it begins, else when that ends.

    Args:
        latency: clocks from the request of a K tile until its first data arrive.
        load: clocks that a K tile keeps the memory pipe busy.
        compute: clocks that a K tile keeps all the arithmetic of the SM busy.
        windows: K tiles that a block multiplies, 1 to 12.
        stages: buffers of the block, 1 or 2.
        store: clocks in which a K tile goes from registers to its buffer.
        ahead: whether the next K tile is requested early with one buffer, too.

    All of them are state that Python can read or set.

    Raises:
        LabError: a setting is out of its range; the message says which and what the range is.
    """

    latency = traitlets.Int(600, min=0, max=_MOST_CLOCKS).tag(sync=True)
    load = traitlets.Int(200, min=0, max=_MOST_CLOCKS).tag(sync=True)
    compute = traitlets.Int(512, min=0, max=_MOST_CLOCKS).tag(sync=True)
    windows = traitlets.Int(4, min=1, max=12).tag(sync=True)
    stages = traitlets.Int(1, min=1, max=2).tag(sync=True)
    store = traitlets.Int(0, min=0, max=_MOST_CLOCKS).tag(sync=True)
    ahead = traitlets.Bool(False).tag(sync=True)

    @property
    def pipeline(self) -> Pipeline:
        """The settings as the model takes them."""
        return Pipeline(**{name: getattr(self, name) for name in _SETTINGS})

    def table(self) -> str:
        """Return when what happens to each K tile as an HTML table."""
        rows = [
            [
                f"{window.number}",
                f"{window.buffer}",
                *(f"{t:,.0f}" for t in (window.asked, window.there, window.begins, window.done)),
            ]
            for window in schedule(self.pipeline, 1, ahead=self.ahead or self.stages > 1)
        ]
        heads = ["K tile", "Buffer", "Requested", "In registers", "Multiplied from", "to"]
        return html_table("Clocks at which each K tile passes", heads, rows)
