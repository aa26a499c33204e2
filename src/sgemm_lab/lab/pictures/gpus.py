"""How A, B and C lie on several GPUs when a plan begins, and what each asks of the others."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    drawing,
    outline,
    panel,
    rectangle,
    words,
)
from sgemm_lab.multi_gpu.layouts import make_plan
from sgemm_lab.multi_gpu.plan import Tile
from sgemm_lab.text import plural
from sgemm_lab.widgets.gpu_tiles import GPU_HUES

_SIDE = 92
_GAP = 18
_HEAD = 18
_DIVISIBLE = 5040
"""Rows of the matrices that are drawn: few numbers of GPUs leave uneven tiles."""


def gpu_layout(title: str, layout: str, gpus: int, *, says: str = "") -> Output:
    """Draw which GPU has which tiles of A, B and C when a plan begins.

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
            for tile in tiles:
                if tile.matrix == matrix:
                    parts += _drawn(tile, gpu, left)
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


def _drawn(tile: Tile, gpu: int, left: float) -> list[str]:
    """Draw a tile in the matrix that begins at ``left``, with the number of its GPU."""
    scale, hue = _SIDE / _DIVISIBLE, GPU_HUES[gpu % len(GPU_HUES)]
    x, y = left + tile.column * scale, _HEAD + tile.row * scale
    width, height = tile.columns * scale, tile.rows * scale
    return [
        rectangle(x, y, width, height, hue, 0.26),
        outline(x, y, width, height, hue),
        words(x + width / 2, y + height / 2 + 4, f"{gpu}", anchor="middle"),
    ]
