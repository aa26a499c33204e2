"""How far off kernels are: by class of inputs and K, and beside their speed."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from sgemm_lab import style
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size, load_kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, Picture, PictureOfTwoWidths, table
from sgemm_lab.lab.speeds import score_of
from sgemm_lab.measuring.accuracy import LENGTHS, SIDE
from sgemm_lab.records.data import CUBLAS_MODES, INPUTS, Accuracy, Measurement
from sgemm_lab.text import number, size_text

_LIBRARY = {name: f"cuBLAS {arithmetic.upper()}" for arithmetic, name in CUBLAS_MODES.items()}
_COLOURS = {
    "fp32": style.LEVEL_COLOURS["dram"],
    "3xtf32": style.KERNEL,
    "tf32": style.LEVEL_COLOURS["l2"],
    "fp16": style.LEVEL_COLOURS["shared"],
}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SIDE_BY_SIDE = 1.5
"""Errors of less than so many times the least stand at the left edge of all points."""
_LABEL_POINTS = 11.0
"""Height of a label beside a point."""
_WORDS = {"fp32": "FP32", "3xtf32": "three TF32 products", "tf32": "TF32", "fp16": "FP16"}


class Errors:
    """Errors of kernels and of cuBLAS as recorded; cuBLAS by the names in ``CUBLAS_MODES``."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._record = session.book_records()[0]

    def found(self, name: str, inputs: str, k: int) -> Accuracy:
        """Return what was measured of one kernel at one class of inputs and one K.

        Raises:
            LabError: it was not measured.
        """
        which = name if name in CUBLAS_MODES.values() else load_kernel(name)
        found = self._record.accuracy(which, inputs, k)
        if found is None:
            raise LabError(
                f"Errors of '{name}' are not recorded at K = {k}. Run 'sgemm-lab errors {name}' "
                "on a GPU."
            )
        return found

    def of(self, name: str, inputs: str = "half", k: int = 4096) -> float:
        """Return ‖C − A·B‖ over ‖A·B‖; infinity where elements of C are lost."""
        error = self.found(name, inputs, k).error
        return float("inf") if error is None else error

    def said(self, name: str, inputs: str = "half", k: int = 4096) -> str:
        """Return the same as a page writes it."""
        return _said(self.found(name, inputs, k))

    def worst(self, name: str, than: str, inputs: Sequence[str]) -> float:
        """Return the largest error of a kernel over that of another, over classes and all K."""
        return max(self.of(name, kind, k) / self.of(than, kind, k) for kind in inputs
                   for k in LENGTHS)  # fmt: skip

    def table(self, *kinds: str, k: int = 4096) -> Output:
        """List the errors by class of inputs, all or some, at one K."""
        kinds = kinds or tuple(INPUTS)
        rows = [
            [label(name), *(_said(self.found(name, kind, k)) for kind in kinds)]
            for name in self.names
        ]
        note = (
            f"‖C − A·B‖ over ‖A·B‖, A·B in float64, C of {SIDE}×{SIDE} elements, K = {k:,}. Lost: "
            f"C holds NaN or infinity. Recorded on {self._record.gpu.name}."
        )
        return table(["", *(INPUTS[kind] for kind in kinds)], rows, note=note)

    def by_length(self, inputs: str = "half") -> Output:
        """List the errors by K at one class of inputs."""
        rows = [
            [label(name), *(_said(self.found(name, inputs, k)) for k in LENGTHS)]
            for name in self.names
        ]
        note = f"Inputs {INPUTS[inputs]}. Recorded on {self._record.gpu.name}."
        return table(["", *(f"K = {k:,}" for k in LENGTHS)], rows, note=note)


def label(name: str) -> str:
    """Return a kernel's name, or how the page calls a mode of cuBLAS."""
    return _LIBRARY.get(name, name)


def _said(found: Accuracy) -> str:
    return "lost" if found.error is None else error_text(found.error)


def error_text(error: float) -> str:
    """Return an error to two digits, such as "2.4·10⁻⁷"; no line may break in it."""
    digits, _, power = f"{error:.1e}".partition("e")
    return f"{digits}·{_power_of_ten(int(power))}"


def _power_of_ten(power: int) -> str:
    return "10" + str(power).translate(_RAISED)


def library(arithmetic: str, size: Size) -> Measurement:
    """Return cuBLAS's latest measurement in an arithmetic.

    Raises:
        LabError: there is none.
    """
    found = session.book_records()[0].library(arithmetic, size)
    if found is None:
        raise LabError(
            f"cuBLAS in {arithmetic} is not recorded at {size_text(size)}. Run 'sgemm-lab record' "
            "with a kernel of tensor cores on a GPU."
        )
    return found


def speed_and_error(names: Sequence[str], conclusion: str, size: Size) -> Picture:
    """Draw speed over error, each kernel and each mode of cuBLAS a point. Log-log.

    Errors are those of inputs uniform in ±0.5 with the size's K.

    Raises:
        LabError: speed or error of one was not measured.
    """
    off = Errors(names)
    points = [
        (name, load_kernel(name).arithmetic, score_of(load_kernel(name), size).gflops)
        for name in names
    ] + [(name, one, library(one, size).gflops) for one, name in CUBLAS_MODES.items()]
    return PictureOfTwoWidths(
        partial(_draw_points, off, points, size), "Speed over error", conclusion
    )


def _draw_points(
    off: Errors, points: Sequence[tuple[str, str, float]], size: Size, phone: bool
) -> Figure:
    fig = style.figure(style.PHONE_WIDTH, 5.0) if phone else style.figure(7.0, 4.4)
    with style.book_style():
        ax = fig.subplots()
        ax.set(xscale="log", yscale="log", ylabel="TFLOP/s")
        ax.set_xlabel("error: ‖C − A·B‖ over ‖A·B‖")
        errors: list[float] = []
        labels: list[tuple[str, str, tuple[float, float]]] = []
        for name, arithmetic, gflops in points:
            error, speed, colour = off.of(name, k=size[2]), gflops / 1e3, _COLOURS[arithmetic]
            marker = "D" if name in _LIBRARY else "o"
            ax.plot([error], [speed], marker, color=colour, markersize=6)
            labels.append((label(name), colour, (error, speed)))
            errors.append(error)
        for arithmetic, colour in _COLOURS.items():
            ax.plot([], [], "o", color=colour, label=_WORDS[arithmetic])
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: _power_of_ten(round(math.log10(value))))
        )
        left, right = (5e6, 3e2) if phone else (40, 25)  # room for the names
        ax.set_xlim(min(errors) / left, max(errors) * right)
        ax.grid(axis="both")
        fig.legend(loc="outside upper left", fontsize=9, ncols=2 if phone else 4)
        _label_points(ax, labels, phone)
    return fig


def _label_points(
    ax: Axes, labels: list[tuple[str, str, tuple[float, float]]], phone: bool
) -> None:
    """Write each label beside its point, clear of the others: left of those that err least.

    On a phone a name reaches over other errors, so that all of one side keep clear of each other.
    """
    least = min(error for _, _, (error, _) in labels)
    lowest: dict[tuple[bool, int], float] = {}
    for text, colour, (error, speed) in sorted(labels, key=lambda found: found[2][1]):
        y = ax.transData.transform((error, speed))[1] * 72 / ax.figure.dpi
        left = error < _SIDE_BY_SIDE * least
        column = (left, 0 if phone else round(math.log10(error)))
        middle = max(y, lowest.get(column, -math.inf) + _LABEL_POINTS)
        lowest[column] = middle
        ax.annotate(
            text, (error, speed), xytext=(-9 if left else 9, middle - y), va="center",
            textcoords="offset points", ha="right" if left else "left", fontsize=10, color=colour,
        )  # fmt: skip


def contributions(side: int = 256, terms: int = 1024) -> dict[str, float]:
    """Return the error that is left by each count of products of parts, their sums exact.

    Of inputs uniform in ±0.5, split as the kernels split them: by big·big alone; with small·big
    and big·small; and with small·small too.
    """
    random = np.random.RandomState(0)
    a, b = (random.uniform(-0.5, 0.5, (side, terms)).astype(np.float32) for _ in range(2))
    (big_a, small_a), (big_b, small_b) = _split(a), _split(b)
    right = a.astype(float) @ b.T.astype(float)
    one = big_a @ big_b.T
    three = one + small_a @ big_b.T + big_a @ small_b.T
    four = three + small_a @ small_b.T
    norm = np.linalg.norm(right)
    parts = {"one": one, "three": three, "four": four}
    return {name: float(np.linalg.norm(c - right) / norm) for name, c in parts.items()}


def _split(
    x: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]",
) -> tuple[
    "np.ndarray[tuple[int, ...], np.dtype[np.float64]]",
    "np.ndarray[tuple[int, ...], np.dtype[np.float64]]",
]:
    """Return x as two TF32 numbers each, in float64: the second's low bits are ignored."""
    big = ((x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    small = ((x - big).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return big.astype(float), small.astype(float)
