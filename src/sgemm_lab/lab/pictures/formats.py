"""What number formats keep of a number: their bits, and those of two parts."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, panel, rectangle, words
from sgemm_lab.text import plural

FORMATS = {"FP32": (8, 23), "TF32": (8, 10), "FP16": (5, 10)}
"""Bits of exponent, and of the fraction behind the point. NVIDIA A100 white paper."""

_HIGH = 16
_BIT = 10
_NAME = 20


def formats(title: str, *, says: str = "") -> Output:
    """Draw the bits of FP32, TF32 and FP16: sign, exponent, fraction."""
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
    return panel(title, parts, y - 4, described, says)


def tf32_split(title: str, *, says: str = "") -> Output:
    """Draw the significant bits of an FP32 number and of its two TF32 parts.

    What is left of a number rounded to nearest has a sign, which stands for one bit more.
    """
    whole, part = 1 + FORMATS["FP32"][1], 1 + FORMATS["TF32"][1]
    wide = (PANEL_WIDTH - 10) / whole
    parts: list[str] = []
    rows = (
        ("x, FP32", 0, whole, "fg"),
        ("big, TF32", 0, part, "register"),
        ("small, TF32", part, 1 + part, "shared"),
    )
    for number, (name, first, count, hue) in enumerate(rows):
        y = number * (_NAME + _HIGH + 10)
        said = f"sign, {part} bits" if first else f"{count} significant bits"
        parts.append(words(first * wide, y + 12, f"{name}: {said}"))
        for bit in range(first, first + count):
            filled = "line" if first and bit == first else hue
            parts.append(rectangle(bit * wide + 0.5, y + _NAME, wide - 1, _HIGH, filled, 0.6))
    described = (
        f"Of {whole} significant bits big has the first {part}. It is rounded to nearest, so the "
        f"sign of small stands for the next bit, and small has the {part} after it. "
        f"{plural(whole - 2 * part - 1, 'bit')} is left."
    )
    return panel(title, parts, 3 * (_NAME + _HIGH + 10), described, says)
