"""The timeline: loading and multiplying windows of K, with one buffer or several."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import traitlets

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.overlap import COMPUTE, LOAD, Pipeline, Report, report, schedule
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import GoesThroughTime

MOST_BLOCKS = 4

_LIMITS = {
    "latency": (0, 100_000),
    "load": (0, 100_000),
    "compute": (0, 100_000),
    "windows": (1, 12),
    "stages": (1, 6),
    "blocks": (1, MOST_BLOCKS),
}


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


class Timeline(GoesThroughTime, LabWidget):
    """When the windows of K are loaded and multiplied, by the model of ``rules.overlap``.

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
    latency = traitlets.Int(600).tag(sync=True)
    load = traitlets.Int(200).tag(sync=True)
    compute = traitlets.Int(512).tag(sync=True)
    windows = traitlets.Int(4).tag(sync=True)
    stages = traitlets.Int(1).tag(sync=True)
    blocks = traitlets.Int(1).tag(sync=True)
    time = traitlets.Float(0).tag(sync=True)

    def __init__(self, kernels: Sequence[TimedKernel] = (), **settings: Any) -> None:
        known = _checked_kernels(kernels)
        start = {name: known[0][name] for name in _LIMITS} if known else {}
        super().__init__(kernels=known, **{**start, **settings})

    @traitlets.validate("kernels")
    def _check_kernels(self, proposal: Any) -> list[dict[str, Any]]:
        return _checked_kernels(proposal["value"])

    @traitlets.validate(*_LIMITS)
    def _check_setting(self, proposal: Any) -> int:
        return _checked_setting(proposal["trait"].name, proposal["value"])

    @property
    def pipeline(self) -> Pipeline:
        """The settings as the model takes them."""
        return Pipeline(**{name: getattr(self, name) for name in _LIMITS})

    @property
    def kernel(self) -> dict[str, Any] | None:
        """The kernel whose times are set, if any; how many windows are drawn does not matter."""
        names = [name for name in _LIMITS if name != "windows"]
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


def _checked_kernels(kernels: object) -> list[dict[str, Any]]:
    if not isinstance(kernels, Sequence) or isinstance(kernels, str):
        raise LabError(f"kernels must be a list, not {type(kernels).__name__}.")
    found = []
    for kernel in kernels:
        missing = [name for name in ("label", *_LIMITS, "measured") if name not in kernel]
        if missing:
            raise LabError(f"A kernel of the timeline lacks '{missing[0]}'.")
        for name in _LIMITS:
            _checked_setting(name, kernel[name])
        found.append({"note": "", **kernel})
    return found


def _checked_setting(name: str, value: Any) -> int:
    low, high = _LIMITS[name]
    if not isinstance(value, int) or not low <= value <= high:
        raise LabError(f"{name} is {value!r}. It is a whole number from {low} to {high:,}.")
    return value
