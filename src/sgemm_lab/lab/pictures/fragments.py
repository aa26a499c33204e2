"""What tensor cores take: which lane holds which element, and what number formats keep."""

from typing import Any

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PANEL_WIDTH,
    drawing,
    outline,
    panel,
    rectangle,
    words,
)
from sgemm_lab.simulator.tensor_operations import lanes_of_elements

LANE = 5
"""The lane whose elements are marked."""

FORMATS = {"FP32": (8, 23), "TF32": (8, 10), "FP16": (5, 10)}
"""Bits of exponent, and of the fraction behind the point. NVIDIA A100 white paper."""

_CELL, _HIGH = 20, 16
_GAP = 12
_PALE = 0.16
_BIT = 10
_NAME = 20


def fragments_panel(title: str, *, says: str = "") -> Output:
    """Return a panel: A left, B above, C between, each element with the lane that holds it."""
    a, b, c = lanes_of_elements()
    left, top = a.shape[1] * _CELL + _GAP, b.shape[0] * _HIGH + _GAP
    parts = [words(left - _GAP - _CELL, top - _GAP, "A", bold=True, anchor="middle")]
    parts.append(words(left - _GAP, b.shape[0] * _HIGH / 2, "B", bold=True, anchor="end"))
    for matrix, x, y, hue in (
        (a, 0, top, "dram"),
        (b, left, 0, "shared"),
        (c, left, top, "register"),
    ):
        parts += _matrix(matrix, x, y, hue)
    counts = [int((matrix == LANE).sum()) for matrix in (a, b, c)]
    described = (
        f"A has 16 by 8 elements, B 8 by 8, C 16 by 8. Lane {LANE} holds {counts[0]} of A, "
        f"{counts[1]} of B and {counts[2]} of C."
    )
    return panel(title, drawing(parts, top + a.shape[0] * _HIGH + 2, described), described, says)


def _matrix(lanes: Any, left: float, top: float, hue: str) -> list[str]:
    rows, columns = lanes.shape
    parts = [outline(left + 0.5, top + 0.5, columns * _CELL - 1, rows * _HIGH, hue)]
    for row in range(rows):
        for column in range(columns):
            lane = int(lanes[row, column])
            x, y = left + column * _CELL, top + row * _HIGH
            mine = lane == LANE
            parts.append(
                rectangle(x + 1, y + 1.5, _CELL - 2, _HIGH - 2, hue, 0.45 if mine else _PALE)
            )
            parts.append(
                words(x + _CELL / 2, y + 13, f"{lane}", anchor="middle", bold=mine, size=11)
            )
    return parts


def formats_panel(title: str, *, says: str = "") -> Output:
    """Return a panel with a row of bits for each format: sign, exponent, fraction."""
    parts: list[str] = []
    y = 0.0
    for name, (exponent, fraction) in FORMATS.items():
        said = f"{name}: {1 + fraction} significant bits, {exponent} of the exponent"
        parts.append(words(0, y + 12, said, bold=False))
        x = 0.0
        for count, hue in ((1, "line"), (exponent, "dram"), (fraction, "register")):
            for _ in range(count):
                parts.append(rectangle(x + 0.5, y + _NAME, _BIT - 1, _HIGH, hue, 0.6))
                x += _BIT
        y += _NAME + _HIGH + 12
    described = " ".join(
        f"{name} has {exponent} bits of exponent and {fraction} of fraction."
        for name, (exponent, fraction) in FORMATS.items()
    )
    return panel(title, drawing(parts, y - 4, described), described, says)


def split_panel(title: str, *, says: str = "") -> Output:
    """Return a panel: the significant bits of a number, and those of its two TF32 parts."""
    whole, part = 1 + FORMATS["FP32"][1], 1 + FORMATS["TF32"][1]
    wide = (PANEL_WIDTH - 10) / whole
    parts: list[str] = []
    rows = (
        ("x, FP32", 0, whole, "fg"),
        ("big, TF32", 0, part, "register"),
        ("small, TF32", part, part, "shared"),
    )
    for number, (name, first, count, hue) in enumerate(rows):
        y = number * (_NAME + _HIGH + 10)
        parts.append(words(first * wide, y + 12, f"{name}: {count} significant bits"))
        for bit in range(first, first + count):
            parts.append(rectangle(bit * wide + 0.5, y + _NAME, wide - 1, _HIGH, hue, 0.6))
    described = (
        f"Of {whole} significant bits big has the first {part}, small the next {part}. "
        f"{whole - 2 * part} are left."
    )
    return panel(title, drawing(parts, 3 * (_NAME + _HIGH + 10), described), described, says)
