"""How Strassen's product loses bits of a small quadrant of C, whose large products cancel."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.gemm.strassen.numpy_backend import run
from sgemm_lab.gemm.strassen.plan import WIDE, Plan
from sgemm_lab.gemm.strassen.winograd import PRODUCTS, QUADRANTS, terms
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import box, panel, rectangle, stroke, words

Matrix = npt.NDArray[Any]

_SIDE = 128
_BITS = 24
"""Significant bits of FP32."""
_STEPS = range(0, 25, 4)
"""Powers of two by which the lower half of A is smaller."""
_QUADRANT = "C22"
_LEFT, _TOP, _ROW, _BAR = 70, 26, 26, 18
_AXIS = {0: "1", -12: "2⁻¹²", -24: "2⁻²⁴", -36: "2⁻³⁶"}
_HIGHEST = 6
"""The power of two at the left end of the axis."""
_PX = 5
"""Width of a bit."""


def cancellation_steps() -> dict[str, Output]:
    """Draw which bits of a quadrant of C one level keeps, for ``frames``.

    A and B are uniform in ±0.5; from frame to frame the lower half of A is smaller.
    """
    return {f"1/{2**step:,}" if step else "1": _step(step) for step in _STEPS}


def _step(step: int) -> Output:
    random = np.random.default_rng(0)
    a, b = (random.uniform(-0.5, 0.5, (_SIDE, _SIDE)).astype(np.float32) for _ in "AB")
    a[_SIDE // 2 :] *= np.float32(2.0**-step)
    exact = _quadrant(a.astype(float) @ b.astype(float))
    made = _quadrant(run(Plan((_SIDE, _SIDE, _SIDE), (WIDE,)), a, b))
    kept, usual = (_right(exact, one) for one in (made, _quadrant(a @ b)))
    sizes = {name: _power(one) for name, one in _products(a, b).items()}
    own = _power(exact)
    described = (
        f"{_QUADRANT} is the sum of {', '.join(sizes)}, which are up to "
        f"{2.0 ** (max(sizes.values()) - own):,.0f} times as large."
    )
    says = (
        f"**{kept} of {_BITS} bits** of {_QUADRANT} are right. The usual method, which also "
        f"rounds, keeps **{usual}**."
    )
    rows = list(_bars(sizes, own, kept))
    height = _TOP + (len(sizes) + 1) * _ROW + 2
    return panel(f"1/{2**step:,}", rows, height, described, says)


def _quadrant(c: Matrix) -> Matrix:
    return c[_SIDE // 2 :, _SIDE // 2 :]


def _products(a: Matrix, b: Matrix) -> dict[str, Matrix]:
    """Return the products whose sum the quadrant is."""
    half = _SIDE // 2
    known = {
        f"{name}{place}": whole[i * half : (i + 1) * half, j * half : (j + 1) * half].astype(float)
        for name, whole in (("A", a), ("B", b))
        for place, (i, j) in zip(QUADRANTS, np.ndindex(2, 2), strict=True)
    }

    def added(name: str) -> Matrix:
        return sum((sign * known[part] for part, sign in terms(name)), np.zeros((half, half)))

    named = {one.name: one for one in PRODUCTS}
    return {
        name: added(named[name].left) @ added(named[name].right) for name, _ in terms(_QUADRANT)
    }


def _power(values: Matrix) -> float:
    """Return the power of two that numbers have in the quadratic mean."""
    return float(np.log2(np.sqrt(np.mean(values.astype(float) ** 2))))


def _right(exact: Matrix, made: Matrix) -> int:
    """Return how many of the leading bits are right in the quadratic mean."""
    return round(max(0.0, min(_BITS, _power(exact) - _power(made - exact))))


def _bars(sizes: Mapping[str, float], own: float, kept: int) -> Iterator[str]:
    """Draw the 24 bits of each product, and those of their sum that are right."""

    def x(power: float) -> float:
        return _LEFT + (_HIGHEST - power) * _PX

    height = (len(sizes) + 1) * _ROW
    yield words(0, 12, "value of a bit", hue="muted")
    for power, text in _AXIS.items():
        yield stroke(f"M{x(power):g} {_TOP - 6}v{height}", "grid")
        yield words(x(power), 12, text, anchor="middle", hue="muted")
    for row, (name, size) in enumerate(sizes.items()):
        y = _TOP + row * _ROW
        yield words(0, y + 14, name)
        yield box(x(size), y, _BITS * _PX, _BAR, "register")
    y = _TOP + len(sizes) * _ROW
    yield words(0, y + 14, f"{_QUADRANT} = sum", bold=True)
    yield box(x(own), y, _BITS * _PX, _BAR, "line")
    yield rectangle(x(own), y, kept * _PX, _BAR, "register")
