"""How A, B and C lie on several GPUs when a plan begins, and what each asks of the others."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PANEL_WIDTH,
    drawing,
    outline,
    panel,
    rectangle,
    words,
)
from sgemm_lab.several.layouts import make_plan
from sgemm_lab.several.plan import Tile
from sgemm_lab.text import plural
from sgemm_lab.widgets.gpu_tiles import GPU_HUES

_SIDE = 96
_GAP = (PANEL_WIDTH - 3 * _SIDE) / 2 - 1
_HEAD = 18
_DIVISIBLE = 5040
"""Rows of the matrices that are drawn: few numbers of GPUs leave uneven tiles."""


def gpus_panel(title: str, layout: str, gpus: int, *, says: str = "") -> Output:
    """Return a panel with A, B and C, each tile in the colour of the GPU that has it first.

    Raises:
        LabError: there is no such layout, or it does not take the number of GPUs.
    """
    plan = make_plan(layout, (_DIVISIBLE,) * 3, gpus)
    parts = []
    for place, matrix in enumerate("ABC"):
        left = 1 + place * (_SIDE + _GAP)
        parts.append(words(left + _SIDE / 2, 12, matrix, anchor="middle", bold=True))
        for gpu, share in enumerate(plan.shares):
            tiles = (*share.own.values(), *share.results.values())
            mine = [tile for tile in tiles if tile.matrix == matrix]
            for tile in mine:
                parts += _drawn(tile, left, GPU_HUES[gpu % len(GPU_HUES)])
            x, y, width, height = _around(mine, left)
            parts.append(words(x + width / 2, y + height / 2 + 4, f"{gpu}", anchor="middle"))
    described = (
        f"A, B and C in tiles on {plural(gpus, 'GPU')}, "
        + "; ".join(
            f"GPU {gpu} has {' and '.join(str(tile) for tile in share.own.values())} and makes "
            f"{' and '.join(str(tile) for tile in share.results.values())}"
            for gpu, share in enumerate(plan.shares)
        )
        + "."
    )
    return panel(title, drawing(parts, _HEAD + _SIDE + 3, described), described, says)


def _drawn(tile: Tile, left: float, hue: str) -> list[str]:
    x, y, width, height = _around([tile], left)
    return [rectangle(x, y, width, height, hue, 0.26), outline(x, y, width, height, hue)]


def _around(tiles: list[Tile], left: float) -> tuple[float, float, float, float]:
    """Return the place in the drawing that tiles take together."""
    scale = _SIDE / _DIVISIBLE
    first = min(tile.column for tile in tiles), min(tile.row for tile in tiles)
    last = (
        max(tile.column + tile.columns for tile in tiles),
        max(tile.row + tile.rows for tile in tiles),
    )
    x, y = left + first[0] * scale, _HEAD + first[1] * scale
    return x, y, (last[0] - first[0]) * scale, (last[1] - first[1]) * scale
