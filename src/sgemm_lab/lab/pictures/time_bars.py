"""What a block or an SM does over time: a bar per case, in pieces of work and of waiting."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, box, outline, panel, words
from sgemm_lab.text import number

_BAR = 26
_ROW = _BAR + 44
_LETTER = 8
"""Room for a letter, in px: narrower pieces have their words below, in one line for neighbours."""
_HUES = {"measured": "kernel", "copy": "dram"}
"""Colours of pieces by their first word."""


def time_bars(
    title: str, rows: Mapping[str, Sequence[tuple[str, float]]], *, unit: str = "clocks"
) -> Output:
    """Draw a bar per row, all to one scale.

    Args:
        rows: by what stands above each bar, its pieces: what is done, and for how long. A piece
            called "wait" or "idle" is empty; ``_HUES`` has the colour of others.
        unit: of the times.
    """
    scale = PANEL_WIDTH / max(sum(clocks for _, clocks in pieces) for pieces in rows.values())
    parts: list[str] = []
    said = []
    for at, (name, pieces) in enumerate(rows.items()):
        y, x = at * _ROW, 0.0
        parts.append(words(0, y + 14, name, bold=True))
        for below, run in groupby(pieces, lambda one: one[1] * scale < _LETTER * len(one[0])):
            start, label = x, ""
            for what, clocks in run:
                parts.append(_piece(what, x, y + 20, clocks * scale, "" if below else what))
                x += clocks * scale
                label += f", {what}" if label else what
            half = _LETTER / 2 * len(label)
            middle = min(max((start + x) / 2, half), PANEL_WIDTH - half)
            parts.append(words(middle, y + 59, label, anchor="middle") * below)
        done = ", ".join(
            what if what[-1:].isdigit() else f"{what} {number(clocks)}".lstrip()
            for what, clocks in pieces
        )
        said.append(f"{name}: {done} {unit}")
    described = "; ".join(said) + "."
    return panel(title, parts, len(rows) * _ROW, described)


def _piece(what: str, x: float, y: float, width: float, label: str) -> str:
    idle = what.startswith(("wait", "idle"))
    hue = _HUES.get(what.partition(" ")[0], "shared")
    shape = outline(x + 0.5, y + 0.5, width - 1, _BAR - 1, "shared", dashed=True)
    shape = shape if idle else box(x, y, width, _BAR, hue, 0.36)
    return shape + words(x + width / 2, y + 17, label, anchor="middle") * bool(label)
