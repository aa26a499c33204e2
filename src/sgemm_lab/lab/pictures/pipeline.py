"""When windows of K are loaded and when they are multiplied: one block, one buffer or several.

Two views of one schedule: a row for loads and one for multiplications, or a row for each buffer.
"""

from sgemm_lab.formulas.overlap import Pipeline, schedule
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, drawing, panel, rectangle, words
from sgemm_lab.text import number

_ROW = 26
_LEFT = 58
_LEAST_LABELLED = 9
"""Where less than this of a bar is free, in px, it carries no number."""


def time_panel(title: str, pipeline: Pipeline, clocks: float, *, says: str = "") -> Output:
    """Return a panel with a row for loads and one for multiplications, over ``clocks`` clocks.

    The same ``clocks`` in two panels makes their lengths comparable.
    """
    windows = schedule(pipeline)
    scale = (PANEL_WIDTH - _LEFT - 4) / clocks
    parts = [
        words(0, 18, "load", hue="shared"),
        words(0, 18 + _ROW, "multiply", hue="register"),
    ]
    before = 0.0  # when the last window was there: bars of loads may lie over each other
    for window in windows:
        name = str(window.number + 1)
        free = max(before, window.asked)
        parts += _bar(window.asked, window.there, 4, "shared", scale)
        parts += _number(free, window.there, 4, name, scale)
        before = window.there
        for piece in window.pieces:
            parts += _bar(piece.start, piece.end, 4 + _ROW, "register", scale)
            parts += _number(piece.start, piece.end, 4 + _ROW, name, scale)
    end = windows[-1].done
    height = 2 * _ROW + 24
    parts += _end(end, height, scale)
    described = (
        f"{pipeline.windows} windows with {pipeline.stages} buffer"
        f"{'' if pipeline.stages == 1 else 's'} take {number(end)} clocks."
    )
    return panel(title, drawing(parts, height, described), described, says)


def ring_panel(title: str, pipeline: Pipeline, clocks: float, *, says: str = "") -> Output:
    """Return a panel with a row for each buffer: what fills it, and when it is multiplied.

    A window is pale from when it is asked for until it is there, and solid while it is multiplied.
    """
    windows = schedule(pipeline)
    scale = (PANEL_WIDTH - _LEFT - 4) / clocks
    parts = [words(0, 18 + row * _ROW, f"place {row + 1}") for row in range(pipeline.stages)]
    for window in windows:
        y = 4 + window.buffer * _ROW
        name = str(window.number + 1)
        parts += _bar(window.asked, window.there, y, "shared", scale)
        parts += _number(window.asked, window.there, y, name, scale)
        for piece in window.pieces:
            width = (piece.end - piece.start) * scale - 1
            parts.append(rectangle(_LEFT + piece.start * scale, y, width, _ROW - 6, "register"))
            parts += _number(piece.start, piece.end, y, name, scale, hue="bg")
    end = windows[-1].done
    height = pipeline.stages * _ROW + 24
    parts += _end(end, height, scale)
    described = (
        f"{pipeline.windows} windows go through {pipeline.stages} places in turn and take "
        f"{number(end)} clocks."
    )
    return panel(title, drawing(parts, height, described), described, says)


def _end(clocks: float, height: float, scale: float) -> list[str]:
    """A line where the last window is done, and what clock that is, at the foot of the drawing."""
    x, said = _LEFT + clocks * scale, f"{number(clocks)} clocks"
    return [
        rectangle(x, 2, 1.5, height - 22, "fg"),
        words(min(x, PANEL_WIDTH), height - 4, said, anchor="end"),
    ]


def _bar(start: float, end: float, y: float, hue: str, scale: float) -> list[str]:
    x, width = _LEFT + start * scale, max(1.0, (end - start) * scale - 1)
    return [rectangle(x, y, width, _ROW - 6, hue, 0.26), rectangle(x, y, 2, _ROW - 6, hue)]


def _number(
    start: float, end: float, y: float, name: str, scale: float, hue: str = "fg"
) -> list[str]:
    """Write a window's number where its bar is free, if there is room."""
    if (end - start) * scale < _LEAST_LABELLED:
        return []
    return [words(_LEFT + (start + end) / 2 * scale, y + 14, name, hue=hue, anchor="middle")]
