"""What a block or an SM does over time: a bar per case, in pieces of work and of waiting."""

from collections.abc import Mapping, Sequence

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, box, outline, panel, words
from sgemm_lab.text import number

_BAR = 26
_ROW = _BAR + 44
_LETTER = 8
"""Room for a letter, in px: a piece that is too narrow for its word has it below."""


def time_bars(
    title: str, rows: Mapping[str, Sequence[tuple[str, float]]], *, unit: str = "clocks"
) -> Output:
    """Draw a bar per row, all to one scale.

    Args:
        rows: by what stands above each bar, its pieces: what is done, and for how long. A piece
            called "wait" or "idle" is empty, "measured" has the colour of kernels.
        unit: of the times.
    """
    scale = PANEL_WIDTH / max(sum(clocks for _, clocks in pieces) for pieces in rows.values())
    parts: list[str] = []
    said = []
    for at, (name, pieces) in enumerate(rows.items()):
        y, x = at * _ROW, 0.0
        parts.append(words(0, y + 14, name, bold=True))
        for what, clocks in pieces:
            parts += _piece(what, x, y + 20, clocks * scale)
            x += clocks * scale
        done = ", ".join(f"{what} {number(clocks)}".lstrip() for what, clocks in pieces)
        said.append(f"{name}: {done} {unit}")
    described = "; ".join(said) + "."
    return panel(title, parts, len(rows) * _ROW, described)


def _piece(what: str, x: float, y: float, width: float) -> list[str]:
    middle, base = x + width / 2, y + (39 if width < _LETTER * len(what) else 17)
    label = words(middle, base, what, anchor="middle")
    if what.startswith(("wait", "idle")):
        return [outline(x + 0.5, y + 0.5, width - 1, _BAR - 1, "shared", dashed=True), label]
    hue = "kernel" if what == "measured" else "shared"
    return [box(x, y, width, _BAR, hue, 0.36), label]
