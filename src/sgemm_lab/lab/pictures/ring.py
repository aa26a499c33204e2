"""The stages of a pipeline as a ring: one K tile is multiplied, the others are on their way."""

from math import cos, pi, sin

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, colour, panel, words
from sgemm_lab.simulator.formulas import Pipeline, schedule

_OUTER, _INNER = 116, 36
_MIDDLE = (PANEL_WIDTH / 2, _OUTER + 4)
_GAP = 0.05
"""Radians between two stages."""
_LOOKS = {"in use": ("register", 1.0), "on its way": ("shared", 0.35)}


def ring_panel(title: str, pipeline: Pipeline, tile: int) -> Output:
    """Return a panel with the stages of one block at the moment when a K tile's product begins.

    Tiles count from 0; the pipeline has more than ``tile`` + ``stages`` of them.
    """
    windows = schedule(pipeline)
    now = windows[tile].begins
    held = {one.buffer: one for one in windows if one.asked <= now < one.done}
    parts, said = [], []
    for stage in range(pipeline.stages):
        state = "in use" if held[stage].begins <= now else "on its way"
        parts += _arc(stage, pipeline.stages, held[stage].number, state)
        said.append(f"stage {stage} holds K tile {held[stage].number}, {state}")
    x, y = _MIDDLE
    parts.append(words(x, y + 4, f"{pipeline.stages} stages", anchor="middle", bold=True))
    described = f"Ring of {pipeline.stages} stages: {'; '.join(said)}."
    return panel(title, parts, 2 * _OUTER + 8, described)


def _arc(stage: int, stages: int, tile: int, state: str) -> list[str]:
    """Draw one stage, the first at the top and the others clockwise, with what it holds."""
    begin = 2 * pi * (stage - 0.5) / stages - pi / 2 + _GAP
    end = begin + 2 * pi / stages - 2 * _GAP
    large = int(end - begin > pi)
    (x0, y0), (x1, y1) = _point(begin, _OUTER), _point(end, _OUTER)
    (x2, y2), (x3, y3) = _point(end, _INNER), _point(begin, _INNER)
    hue, opacity = _LOOKS[state]
    path = (
        f"M{x0:.1f} {y0:.1f}A{_OUTER} {_OUTER} 0 {large} 1 {x1:.1f} {y1:.1f}"
        f"L{x2:.1f} {y2:.1f}A{_INNER} {_INNER} 0 {large} 0 {x3:.1f} {y3:.1f}Z"
    )
    ink = "bg" if opacity == 1 else "fg"
    x, y = _point((begin + end) / 2, (_OUTER + _INNER) / 2)
    return [
        f'<path d="{path}" fill="{colour(hue)}" fill-opacity="{opacity}" stroke="{colour(hue)}"/>',
        words(x, y - 12, f"stage {stage}", hue=ink, anchor="middle"),
        words(x, y + 4, f"K tile {tile}", hue=ink, anchor="middle", bold=True),
        words(x, y + 20, state, hue=ink, anchor="middle"),
    ]


def _point(angle: float, radius: float) -> tuple[float, float]:
    x, y = _MIDDLE
    return x + radius * cos(angle), y + radius * sin(angle)
