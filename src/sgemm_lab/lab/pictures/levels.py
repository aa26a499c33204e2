"""What two kernels move at every level of memory, beside each other, in bytes."""

from collections.abc import Mapping, Sequence

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import outline, panel, rectangle, words
from sgemm_lab.text import bytes_moved_text, number

HUES = {"L2": "l2", "L1": "shared", "shared": "shared"}
_ROW = 46
_BAR = 15
_WIDEST = 190
_LETTER_WIDTH = 7
"""At most, on average; a label longer than its bar stands right of it."""


def levels_panel(
    title: str, names: Sequence[str], moved: Sequence[Mapping[str, float]], *, says: str = ""
) -> Output:
    """Return a panel with a row per level: the bytes of the first kernel, then of the second.

    ``moved`` has for each of the two bytes by level: "L2", "L1", "shared"; not all are needed. All
    bars have one scale. ``says`` is the line below.
    """
    before, after = moved
    most = max(value for one in moved for level, value in one.items() if level in HUES)
    parts: list[str] = []
    labels: list[str] = []
    y = 4.0
    for level, hue in HUES.items():
        values = [one.get(level, 0.0) for one in (before, after)]
        if not any(values):
            continue
        parts.append(words(0, y + 12, level, hue=hue, bold=True))
        parts.append(words(0, y + 28, _change(*values), hue="muted"))
        for i, (name, value) in enumerate(zip(names, values, strict=True)):
            if not value:
                continue
            width = _WIDEST * value / most
            top = y + i * (_BAR + 3)
            if i == 0:
                parts.append(outline(78.5, top + 0.5, max(1, width), _BAR - 1, hue))
            else:
                parts.append(rectangle(78, top, max(1, width), _BAR, hue, 0.45))
            label = f"{name} {bytes_moved_text(value)}"
            inside = width > _LETTER_WIDTH * len(label) + 8
            parts.append(words(82 if inside else 82 + width, top + 12, label))
            labels.append(f"{level}: {label}")
        y += _ROW
    described = "; ".join(labels) + "."
    return panel(title, parts, y, described, says)


def _change(before: float, after: float) -> str:
    if not before:
        return "new"
    if not after:
        return "none left"
    ratio = after / before
    return f"× {number(ratio)}" if ratio >= 1 else f"÷ {number(1 / ratio)}"
