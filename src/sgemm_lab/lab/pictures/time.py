"""When windows of K are loaded and when they are multiplied: one block, one buffer or several."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, drawing, panel, rectangle, words
from sgemm_lab.rules.overlap import Pipeline, schedule
from sgemm_lab.text import number

_ROW = 26
_LEFT = 58
_MOST_LABELLED = 14
"""A bar narrower than this, in px, carries no number."""


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
    for window in windows:
        parts += _bar(window.asked, window.there, 4, "shared", window.number + 1, scale)
        for piece in window.pieces:
            parts += _bar(piece.start, piece.end, 4 + _ROW, "register", window.number + 1, scale)
    end = windows[-1].done
    parts.append(rectangle(_LEFT + end * scale, 2, 1.5, 2 * _ROW + 2, "fg"))
    height = 2 * _ROW + 24
    parts.append(
        words(
            min(_LEFT + end * scale, PANEL_WIDTH), height - 4, f"{number(end)} clocks", anchor="end"
        )
    )
    described = (
        f"{pipeline.windows} windows with {pipeline.stages} buffer"
        f"{'' if pipeline.stages == 1 else 's'} take {number(end)} clocks."
    )
    return panel(title, drawing(parts, height, described), described, says)


def _bar(start: float, end: float, y: float, hue: str, number_: int, scale: float) -> list[str]:
    x, width = _LEFT + start * scale, max(1.0, (end - start) * scale - 1)
    parts = [rectangle(x, y, width, _ROW - 6, hue, 0.26), rectangle(x, y, 2, _ROW - 6, hue)]
    if width > _MOST_LABELLED:
        parts.append(words(x + width / 2, y + 14, str(number_), anchor="middle"))
    return parts
