"""When windows of K are loaded and when they are multiplied: one block, one buffer or several.

Two views of one schedule: a row for loads and one for multiplications, or a row for each buffer.
"""

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


def ring_panel(title: str, pipeline: Pipeline, clocks: float, *, says: str = "") -> Output:
    """Return a panel with a row for each buffer: what fills it, and when it is multiplied.

    A window is pale from when it is asked for until it is there, and solid while it is multiplied.
    """
    windows = schedule(pipeline)
    scale = (PANEL_WIDTH - _LEFT - 4) / clocks
    parts = [words(0, 18 + row * _ROW, f"place {row + 1}") for row in range(pipeline.stages)]
    for window in windows:
        y = 4 + window.buffer * _ROW
        parts += _bar(window.asked, window.there, y, "shared", window.number + 1, scale)
        for piece in window.pieces:
            start, width = piece.start * scale, (piece.end - piece.start) * scale - 1
            parts.append(rectangle(_LEFT + start, y, width, _ROW - 6, "register"))
            if width > _MOST_LABELLED:
                middle = _LEFT + start + width / 2
                number_ = str(window.number + 1)
                parts.append(words(middle, y + 14, number_, hue="bg", anchor="middle", bold=True))
    end = windows[-1].done
    height = pipeline.stages * _ROW + 24
    parts.append(rectangle(_LEFT + end * scale, 2, 1.5, height - 22, "fg"))
    parts.append(
        words(
            min(_LEFT + end * scale, PANEL_WIDTH), height - 4, f"{number(end)} clocks", anchor="end"
        )
    )
    described = (
        f"{pipeline.windows} windows go through {pipeline.stages} places in turn and take "
        f"{number(end)} clocks."
    )
    return panel(title, drawing(parts, height, described), described, says)


def _bar(start: float, end: float, y: float, hue: str, number_: int, scale: float) -> list[str]:
    x, width = _LEFT + start * scale, max(1.0, (end - start) * scale - 1)
    parts = [rectangle(x, y, width, _ROW - 6, hue, 0.26), rectangle(x, y, 2, _ROW - 6, hue)]
    if width > _MOST_LABELLED:
        parts.append(words(x + width / 2, y + 14, str(number_), anchor="middle"))
    return parts
