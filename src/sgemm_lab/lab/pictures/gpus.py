"""How A, B and C lie on several GPUs when a plan begins, and when each multiplies and receives."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, box, panel, rectangle, words
from sgemm_lab.multi_gpu.layouts import make_plan
from sgemm_lab.multi_gpu.plan import Tile
from sgemm_lab.records.multi_gpu import Timeline
from sgemm_lab.text import number, plural
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
                    parts.append(_drawn(tile, gpu, left))
    described = (
        f"A, B and C in tiles on {plural(gpus, 'GPU')}, "
        + "; ".join(
            f"GPU {gpu} has {' and '.join(str(tile) for tile in share.own.values())} and makes "
            f"{' and '.join(str(tile) for tile in share.results.values())}"
            for gpu, share in enumerate(plan.shares)
        )
        + "."
    )
    return panel(title, parts, _HEAD + _SIDE + 3, described, says)


def _drawn(tile: Tile, gpu: int, left: float) -> str:
    """Draw a tile in the matrix that begins at ``left``, with the number of its GPU."""
    scale, hue = _SIDE / _DIVISIBLE, GPU_HUES[gpu % len(GPU_HUES)]
    x, y = left + tile.column * scale, _HEAD + tile.row * scale
    return box(x, y, tile.columns * scale, tile.rows * scale, hue, label=f"{gpu}")


def timeline_panel(title: str, timeline: Timeline, seconds: float) -> Output:
    """Draw when each GPU multiplies and when it receives a tile, over so many seconds."""
    left, row, gpus = 50, 36, timeline.case.gpus
    scale, height = (PANEL_WIDTH - left - 1) / seconds, gpus * row + 20
    parts = [words(0, gpu * row + 20, f"GPU {gpu}") for gpu in range(gpus)]
    received = [0.0] * gpus
    for piece in timeline.pieces:
        x, y = left + piece.start * scale, piece.gpu * row
        wide = max(1.0, (piece.end - piece.start) * scale)
        if piece.what == "multiply":
            parts.append(box(x, y + 2, wide, 16, "register", 0.45))
        else:
            received[piece.gpu] += piece.end - piece.start
            parts.append(rectangle(x, y + 20, wide, 10, "shared"))
    ends = max(piece.end for piece in timeline.pieces)
    parts.append(words(left, height - 4, "0"))
    parts.append(words(PANEL_WIDTH, height - 4, f"{number(1e3 * seconds)} ms", anchor="end"))
    described = (
        f"The last product ends after {number(1e3 * ends)} ms. A GPU receives for "
        f"{number(1e3 * max(received))} ms."
    )
    says = f"Ends after **{number(1e3 * ends)} ms**"
    return panel(title, parts, height, described, says)
