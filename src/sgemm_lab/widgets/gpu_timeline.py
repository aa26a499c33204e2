"""The timeline one level up: when each GPU multiplies, and when it receives a tile."""

from collections.abc import Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.formulas import sentence
from sgemm_lab.text import number
from sgemm_lab.widgets.base import LabWidget, html_table

MULTIPLIES, RECEIVES = "multiplies", "receives"


class GpuSpan(TypedDict):
    """What a GPU does from one moment to another, in ms from its start."""

    gpu: int
    what: str  # MULTIPLIES or RECEIVES
    label: str  # the tile
    start: float
    end: float


class TimedRun(TypedDict):
    """A product from its start to its end."""

    label: str
    note: str  # where and when it was measured, or that it is a model
    spans: list[GpuSpan]


class GpuTimeline(LabWidget):
    """Products and transfers of several GPUs over time.

    Args:
        runs: the runs to choose from, see :class:`TimedRun`.
        run: the index of the one to begin with.

    ``run`` is state that the reader changes and Python can read or set.
    """

    runs: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    run = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(self, runs: Sequence[TimedRun], **state: Any) -> None:
        drawn = [
            {
                "label": run["label"],
                "note": run["note"],
                "words": hidden_words(run["spans"]),
                "spans": _in_lanes(run["spans"]),
            }
            for run in runs
        ]
        super().__init__(runs=drawn, **state)

    @property
    def chosen(self) -> dict[str, Any]:
        """The run chosen."""
        return self.runs[self.run]

    def table(self) -> str:
        """Return when each product and each transfer begins and ends as an HTML table."""
        rows = [
            [f"GPU {span['gpu']}", span["what"], span["label"], number(span["start"]),
             number(span["end"])]
            for span in self.chosen["spans"]
        ]  # fmt: skip
        heads = ["GPU", "It", "Tile", "From, ms", "To, ms"]
        return html_table(self.chosen["label"], heads, rows)


def hidden_words(spans: Sequence[GpuSpan]) -> str:
    """Return how long a run takes, and how much of its transfers passes while a GPU multiplies.

    The numbers are those of the GPU that receives longest.
    """
    gpus = {span["gpu"] for span in spans}
    moved, hidden = max(_received(spans, gpu) for gpu in gpus)
    return sentence(
        "spans.hidden" if moved else "spans.alone",
        total=max(span["end"] for span in spans),
        moved=moved,
        hidden=hidden / moved if moved else 0,
    )


def _received(spans: Sequence[GpuSpan], gpu: int) -> tuple[float, float]:
    """Return how long a GPU receives, and how much of that while it multiplies."""
    receives, multiplies = (
        _union([(s["start"], s["end"]) for s in spans if (s["gpu"], s["what"]) == (gpu, what)])
        for what in (RECEIVES, MULTIPLIES)
    )
    moved = sum(end - start for start, end in receives)
    hidden = sum(
        max(0.0, min(end, other_end) - max(start, other_start))
        for start, end in receives
        for other_start, other_end in multiplies
    )
    return moved, hidden


def _union(times: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return stretches of time as stretches that do not overlap."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(times):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _in_lanes(spans: Sequence[GpuSpan]) -> list[dict[str, Any]]:
    """Return spans with a lane each: products of a GPU that overlap are drawn below each other."""
    free: dict[int, list[float]] = {}
    found = []
    for span in sorted(spans, key=lambda span: span["start"]):
        lane = 0
        if span["what"] == MULTIPLIES:
            ends = free.setdefault(span["gpu"], [])
            busy = [lane for lane, end in enumerate(ends) if end > span["start"]]
            lane = next(lane for lane in range(len(ends) + 1) if lane not in busy)
            ends[lane : lane + 1] = [span["end"]]
        found.append({**span, "lane": lane})
    return found
