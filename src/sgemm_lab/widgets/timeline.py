"""The timeline: loading and multiplying windows of K, with one buffer or several."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import traitlets

from sgemm_lab.formulas.overlap import COMPUTE, LOAD, Pipeline, Report, report, schedule
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import LabWidget, html_table

MOST_BLOCKS = 4

_SETTINGS = ("latency", "load", "compute", "windows", "stages", "blocks")
_MOST_CLOCKS = 100_000


class TimedKernel(TypedDict):
    """A measured kernel to start from. Times in clocks of the SM, as ``Pipeline`` has them."""

    label: str
    latency: int
    load: int
    compute: int
    windows: int
    stages: int
    blocks: int
    measured: int  # clocks from one window of a block to its next, as measured
    note: NotRequired[str]  # where and when it was measured


class Timeline(LabWidget):
    """When the windows of K are loaded and multiplied, by the model of ``formulas.overlap``.

    Args:
        kernels: measured kernels to start from. The first gives what is not set.
        latency: clocks from asking for a window until it begins to come in.
        load: clocks that a window keeps the memory pipe busy.
        compute: clocks that a window keeps all the arithmetic of the SM busy.
        windows: windows that a block multiplies, 1 to 12.
        stages: buffers of a block: 1 is serial, 2 is double buffering, up to 6.
        blocks: blocks on the SM, 1 to 4.
        time: where the cursor stands, in clocks.

    All of them but ``kernels`` are state that the reader changes and Python can read or set.

    Raises:
        LabError: a setting is out of its range; the message says which and what the range is.
    """

    kernels: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    latency = traitlets.Int(600, min=0, max=_MOST_CLOCKS).tag(sync=True)
    load = traitlets.Int(200, min=0, max=_MOST_CLOCKS).tag(sync=True)
    compute = traitlets.Int(512, min=0, max=_MOST_CLOCKS).tag(sync=True)
    windows = traitlets.Int(4, min=1, max=12).tag(sync=True)
    stages = traitlets.Int(1, min=1, max=6).tag(sync=True)
    blocks = traitlets.Int(1, min=1, max=MOST_BLOCKS).tag(sync=True)
    time = traitlets.Float(0, min=0).tag(sync=True)

    def __init__(self, kernels: Sequence[TimedKernel] = (), **settings: Any) -> None:
        known = [{"note": "", **kernel} for kernel in kernels]
        start = {name: known[0][name] for name in _SETTINGS} if known else {}
        super().__init__(kernels=known, **{**start, **settings})

    @property
    def pipeline(self) -> Pipeline:
        """The settings as the model takes them."""
        return Pipeline(**{name: getattr(self, name) for name in _SETTINGS})

    @property
    def kernel(self) -> dict[str, Any] | None:
        """The kernel whose times are set, if any; how many windows are drawn does not matter."""
        names = [name for name in _SETTINGS if name != "windows"]
        return next(
            (k for k in self.kernels if all(k[name] == getattr(self, name) for name in names)), None
        )

    @property
    def alt(self) -> str:
        """How long it takes, how much of that is arithmetic, and what decides it."""
        found, kernel = report(self.pipeline), self.kernel
        text = (
            f"{plural(self.windows, 'window')} with {plural(self.stages, 'buffer')} "
            f"{'take' if self.windows > 1 else 'takes'} {found.total:,.0f} clocks on "
            f"{plural(self.blocks, 'block')}. The arithmetic runs {found.share:.0%} of that time"
            f"{_bound_words(found)}."
        )
        if kernel is not None:
            text += (
                f" Measured, {kernel['label']} takes {kernel['measured'] / found.pace:.2f} times "
                "the model's time per window."
            )
        return text

    def table(self) -> str:
        """Return when what happens to each window as an HTML table."""
        rows = [
            [
                f"{window.block}",
                f"{window.number}",
                f"{window.buffer}",
                *(f"{t:,.0f}" for t in (window.asked, window.comes, window.there)),
                f"{window.pieces[0].start if window.pieces else window.done:,.0f}",
                f"{window.done:,.0f}",
            ]
            for window in schedule(self.pipeline)
        ]
        heads = [
            "Block",
            "Window",
            "Buffer",
            "Asked for",
            "Comes in",
            "Is there",
            "Multiplied from",
        ]
        return html_table("Clocks at which each window passes", [*heads, "to"], rows)


def _bound_words(found: Report) -> str:
    if found.bound == COMPUTE:
        return "; arithmetic decides"
    if found.bound == LOAD:
        return "; the memory pipe decides"
    hint = f": {plural(found.enough, 'buffer')} would hide it" if found.enough else ""
    return f"; waiting for loads decides{hint}"
