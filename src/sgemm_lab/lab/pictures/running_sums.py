"""How the error of a running sum in FP32 grows: each sum rounded to nearest, or truncated."""

import numpy as np
from numpy.typing import NDArray

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, box, panel, stroke, words

_PRODUCTS = 4096
_SUMS = 256
_STEP = 64
_HIGH = 150


def running_sums(title: str) -> Output:
    """Draw the error of sums of products over their number, divided by the sum.

    It is the root mean square of 256 sums; factors are uniform in ±0.5. A tensor core adds 8
    products at once and truncates the sum, an FP32 unit adds one and rounds it.
    """
    truncated, rounded = _errors(8, truncate=True), _errors(1, truncate=False)
    base, least = _HIGH + 20, f"{truncated[-1] / rounded[-1]:.0f}"
    parts = [stroke(f"M0.5 8V{base}H{PANEL_WIDTH}", "line")]
    for errors, hue in ((truncated, "register"), (rounded, "dram")):
        xs = np.arange(_STEP, _PRODUCTS + 1, _STEP) * PANEL_WIDTH / _PRODUCTS
        ys = base - errors / truncated[-1] * _HIGH
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(xs, ys, strict=True))
        parts.append(stroke(f"M0 {base}L{path}", hue, thick=2.5))
    parts += [
        words(8, 18, "error ÷ sum, linear scale"),
        words(8, 70, "tensor core: truncated", hue="register", bold=True),
        words(
            PANEL_WIDTH - 8, base - 24, "FP32 unit: rounded", hue="dram", anchor="end", bold=True
        ),
        words(PANEL_WIDTH, base + 18, f"{_PRODUCTS:,} products", anchor="end"),
        words(0, base + 18, "0"),
    ]
    described = (
        "The error of truncated sums grows with the number of products, that of sums rounded to "
        f"nearest with its square root. After {_PRODUCTS:,} products it is {least} times as large."
    )
    return panel(title, parts, base + 22, described)


def promoted_sums(title: str) -> Output:
    """Draw the sums that tensor cores make of each K tile, and the sum of them in FP32."""
    count, gap = 4, 16
    wide = (PANEL_WIDTH - (count - 1) * gap) / count
    parts = [words(0, 18, "tensor cores: new sums for each K tile", hue="register", bold=True)]
    for x in (i * (wide + gap) for i in range(count)):
        parts.append(box(x, 28, wide, 32, "register", label="part"))
        parts.append(stroke(f"M{x + wide / 2:g} 60v38m-5 -8l5 8l5 -8", "line", thick=2))
    parts.append(box(0, 100, PANEL_WIDTH, 32, "dram", label="acc += part"))
    parts.append(words(0, 154, "FP32 units: rounded to nearest", hue="dram", bold=True))
    return panel(title, parts, 160, "FP32 units add the sum of each K tile to the running sum.")


def _errors(at_once: int, *, truncate: bool) -> NDArray[np.float64]:
    """Return the relative error of running sums after every 64 products."""
    random, found = np.random.RandomState(0), []
    exact, kept = np.zeros(_SUMS), np.zeros(_SUMS, np.float32)
    for _ in range(_PRODUCTS // at_once):
        a, b = random.uniform(-0.5, 0.5, (2, at_once, _SUMS))
        product = (a * b).sum(axis=0)
        exact += product
        whole = kept + product
        kept = whole.astype(np.float32)
        if truncate:
            past = np.abs(kept) > np.abs(whole)
            kept = np.where(past, np.nextafter(kept, np.float32(0)), kept)
        found.append(np.sqrt(np.mean((kept - exact) ** 2) / np.mean(exact**2)))
    return np.array(found[_STEP // at_once - 1 :: _STEP // at_once])
