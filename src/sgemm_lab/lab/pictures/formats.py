"""What number formats keep of a number: their bits, and those of two parts."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, outline, panel, rectangle, words
from sgemm_lab.text import plural

FORMATS = {"FP32": (8, 23), "TF32": (8, 10), "FP16": (5, 10)}
"""Bits of exponent, and of the fraction behind the point. NVIDIA A100 white paper."""

_HIGH = 16
_BIT = 10
_NAME = 20


def formats(title: str, *, says: str = "") -> Output:
    """Draw the bits of each format: sign, exponent, fraction."""
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
        parts.append(_sign(_BIT / 2, y))
        y += _NAME + _HIGH + 12
    described = " ".join(
        f"{name} has {exponent} bits of exponent and {fraction} of fraction."
        for name, (exponent, fraction) in FORMATS.items()
    )
    return panel(title, parts, y - 4, described, says)


def _sign(middle: float, y: float) -> str:
    return words(middle, y + _NAME + 12, "±", anchor="middle")


def tf32_split(title: str, *, says: str = "") -> Output:
    """Draw the significant bits of an FP32 number and of its two TF32 parts.

    What is left of a number rounded to nearest has a sign, which stands for one bit more. The bits
    of the number have the colour of the part that holds them.
    """
    whole, part = 1 + FORMATS["FP32"][1], 1 + FORMATS["TF32"][1]
    wide = (PANEL_WIDTH - 10) / whole
    hues = ["register"] * part + ["line"] + ["shared"] * part
    rows = (
        (f"x, FP32: {whole} significant bits", 0, whole),
        (f"big, TF32: {part} bits", 0, part),
        (f"small, TF32: sign, {part} bits", part, len(hues)),
    )
    parts = [outline(len(hues) * wide + 0.5, _NAME, wide - 1, _HIGH)]
    for number, (said, first, end) in enumerate(rows):
        y = number * (_NAME + _HIGH + 10)
        parts.append(words(first * wide, y + 12, said))
        for bit, hue in list(enumerate(hues))[first:end]:
            parts.append(rectangle(bit * wide + 0.5, y + _NAME, wide - 1, _HIGH, hue, 0.6))
    parts.append(_sign((part + 0.5) * wide, y))
    described = (
        f"Of {whole} significant bits big has the first {part}. It is rounded to nearest, so the "
        f"sign of small stands for the next bit, and small has the {part} after it. "
        f"{plural(whole - 2 * part - 1, 'bit')} is left."
    )
    return panel(title, parts, 3 * (_NAME + _HIGH + 10), described, says)


def fp16_scaling() -> Output:
    """Draw how two scalings move the numbers of a column of A and a row of B into FP16's range."""
    low, high, lowest, largest = -38, 23, -14, 16  # exponents; FP16: IEEE 754 binary16
    unit, label, tall = (PANEL_WIDTH - 74) / (high - low), 74, 12

    def at(exponent: float) -> float:
        return label + (exponent - low) * unit

    parts = [rectangle(at(lowest), 18, (largest - lowest) * unit, 150, "line", 0.15),
             words(at(lowest) - 6, 12, "underflow", hue="muted", anchor="end"),
             words(at((lowest + largest) / 2), 12, "fits FP16", anchor="middle"),
             words(PANEL_WIDTH, 12, "overflow", hue="muted", anchor="end")]  # fmt: skip
    stages = (("as given", -26, 10), ("along k", -8, -8), ("by row, column", 5, 5))
    for number, (stage, *firsts) in enumerate(stages):
        y = 28 + number * 48
        parts.append(words(0, y + 10, stage, bold=True))
        for name, first, hue, below in zip("AB", firsts, ("dram", "shared"), (0, 16), strict=True):
            parts.append(rectangle(at(first - 11), y + below, 10 * unit, tall, hue, 0.2))
            parts.append(rectangle(at(first), y + below, 10 * unit, tall, hue, 0.6))
            parts.append(words(at(first) + 10 * unit + 4, y + below + 10, name))
    described = (
        "As given, numbers of a column of A are too small for FP16, those of a row of B too large. "
        "Scaled along k both have the same size, scaled by row and column they end just below "
        "2^15, and their small parts, 2^11 times smaller, are in FP16's range as well."
    )
    return panel("Column k of A and row k of B, from small to large numbers", parts, 170, described)
