"""How far off kernels are: by class of inputs and K, and beside their speed."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox

from sgemm_lab import style
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size, load_kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.fewer import fewer
from sgemm_lab.lab.output import Output, Picture, PictureOfTwoWidths, table
from sgemm_lab.lab.speeds import find_scores, score_of
from sgemm_lab.measuring.accuracy import LENGTHS, SIDE
from sgemm_lab.records.data import CUBLAS_MODES, INPUTS, Accuracy, Measurement
from sgemm_lab.text import error_text, number, power_of_ten, size_text

_LIBRARY = {name: f"cuBLAS {arithmetic.upper()}" for arithmetic, name in CUBLAS_MODES.items()}
_COLOURS = {
    "fp32": style.LEVEL_COLOURS["dram"],
    "3xtf32": style.KERNEL,
    "tf32": style.LEVEL_COLOURS["l2"],
    "fp16": style.LEVEL_COLOURS["shared"],
}
_SIDE_BY_SIDE = 1.5
"""Errors of less than so many times the least stand at the left edge of all points."""
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


@dataclass(frozen=True)
class Point:
    """A product's speed and error, both at one size, on inputs uniform in ±0.5."""

    name: str
    arithmetic: str
    """Of its products: of the leaves, where it is Strassen's."""
    tflops: float
    error: float
    marker: str


_KERNEL, _CUBLAS, _STRASSEN = "o", "D", "s"


def speed_and_error(
    names: Sequence[str], conclusion: str, size: Size, levels: bool = False
) -> Picture:
    """Draw speed over error, each kernel and each mode of cuBLAS a point. Log-log.

    Errors are those of inputs uniform in ±0.5 at the same size, so of the very product whose speed
    is drawn: where a kernel shares out K otherwise at another size, it errs otherwise there.

    Args:
        names: of kernels.
        conclusion: what to read from it.
        size: M, N, K.
        levels: whether Strassen's product stands there too, by levels and by what is inside.

    Raises:
        LabError: speed or error of one was not measured.
    """
    points, chains = points_of(names, size), by_levels(size) if levels else []
    return PictureOfTwoWidths(partial(_draw_points, points, chains), "Speed over error", conclusion)


def points_of(names: Sequence[str], size: Size) -> list[Point]:
    """Return the points of kernels at a size, and those of all modes of cuBLAS.

    Raises:
        LabError: speed or error of one was not measured.
    """
    points = [_of_kernel(name, size) for name in names]
    return points + [_of_library(arithmetic, size) for arithmetic in CUBLAS_MODES]


def _of_kernel(name: str, size: Size) -> Point:
    kernel = load_kernel(name)
    found = score_of(kernel, size)
    # What a session measures has no error; the kernel errs as it did when it was recorded.
    known = [found, *find_scores([kernel], [size], session.book_records())]
    error = next((one.error for one in known if one.error is not None), None)
    return _point(name, kernel.arithmetic, found.gflops, error, size, _KERNEL)


def _of_library(arithmetic: str, size: Size) -> Point:
    name, found = _LIBRARY[CUBLAS_MODES[arithmetic]], library(arithmetic, size)
    return _point(name, arithmetic, found.gflops, found.error, size, _CUBLAS)


def _point(
    name: str, arithmetic: str, gflops: float, error: float | None, size: Size, marker: str
) -> Point:
    if error is None:
        raise LabError(
            f"The error of {name} is not recorded at {size_text(size)}. Run 'sgemm-lab record' on "
            "a GPU."
        )
    return Point(name, arithmetic, gflops / 1e3, error, marker)


def by_levels(size: Size) -> list[list[Point]]:
    """Return Strassen's products from 0 levels on, over FP32 units and over what is inside.

    Nothing where times or errors of the size were not recorded.
    """
    strassen = fewer()
    found = {"fp32": strassen}
    found |= {one.arithmetic: strassen.inside(one.kernel) for one in strassen.run.inside}
    n = size[0]
    chains = []
    for arithmetic, one in found.items():
        if size != (n, n, n) or not one.has(n):
            continue
        chain = [
            Point(f"{way.levels}", arithmetic, one.tflops(n, way), error, _STRASSEN)
            for way, error in zip(one.levels(n), one.errors(n).levels, strict=False)
        ]
        # Without levels it is a kernel like others.
        chains.append([replace(chain[0], name=one.plain(n).kernel, marker=_KERNEL), *chain[1:]])
    return chains


def _draw_points(points: Sequence[Point], chains: Sequence[Sequence[Point]], phone: bool) -> Figure:
    fig = style.figure(style.PHONE_WIDTH, 6.2) if phone else style.figure(7.0, 4.4)
    every = [*points, *(point for chain in chains for point in chain)]
    with style.book_style():
        ax = fig.subplots()
        if phone and not chains:
            # The fastest err most: their names stand beside the axes.
            fig.set_layout_engine("constrained", rect=(0, 0, _BESIDE, 1))
        ax.set(xscale="log", yscale="log", ylabel="TFLOP/s")
        ax.set_xlabel("error: ‖C − A·B‖ over ‖A·B‖")
        for chain in chains:
            colour = _COLOURS[chain[0].arithmetic]
            ax.plot([one.error for one in chain], [one.tflops for one in chain],
                    color=colour, linewidth=0.8, alpha=0.6)  # fmt: skip
        for point in every:
            ax.plot([point.error], [point.tflops], point.marker, markersize=6,
                    color=_COLOURS[point.arithmetic],
                    markerfacecolor=_face(point))  # fmt: skip
        for arithmetic in dict.fromkeys(point.arithmetic for point in every):
            ax.plot([], [], "o", color=_COLOURS[arithmetic], label=_WORDS[arithmetic])
        if chains:
            ax.plot([], [], _STRASSEN, color=style.LINE, markerfacecolor="none", markersize=6,
                    label="Strassen, by levels")  # fmt: skip
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: power_of_ten(round(math.log10(value))))
        )
        left, right = _ROOM[bool(chains), phone]
        errors = [point.error for point in every]
        ax.set_xlim(min(errors) / left, max(errors) * right)
        ax.grid(axis="both")
        fig.legend(loc="outside upper left", fontsize=9, ncols=2 if phone else 5)
        _label_points(fig, ax, every, chains, 9 if phone else 10)
    return fig


_BESIDE = 0.7
"""What axes have of the width of a phone, where names stand beside them."""
_ROOM = {
    (False, False): (40, 25), (False, True): (4, 3),
    (True, False): (14, 6), (True, True): (9, 4),
}  # fmt: skip
"""How far the axis of errors goes beyond the points, for their names: with levels, on a phone."""


def _face(point: Point) -> str:
    return style.BACKGROUND if point.marker == _STRASSEN else _COLOURS[point.arithmetic]


def _label_points(
    fig: Figure, ax: Axes, points: Sequence[Point], chains: Sequence[Sequence[Point]], letters: int
) -> None:
    """Write each name where it lies on no mark, line or other name, as near as can be.

    Levels are one digit, which stands above its mark, or beside it where a line comes from above.
    """
    fig.draw_without_rendering()  # settles where the axes are
    marks, *lines = (
        ax.transData.transform([(one.error, one.tflops) for one in some])
        for some in (points, *chains)
    )
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in marks]
    shares = np.linspace(0, 1, 30)[:, None]
    for line in lines:
        for start, end in itertools.pairwise(line):
            taken += [Bbox([at, at + 1]) for at in start + shares * (end - start)]
    least = min(one.error for one in points)
    for point in sorted(points, key=lambda one: (one.marker != _STRASSEN, -one.error)):
        sides = [-1, 1] if point.error < _SIDE_BY_SIDE * least else [1, -1]
        places = [(0.0, 11.0), (9.0, 0.0)] if point.marker == _STRASSEN else _places(sides)
        for dx, dy in places:
            text = ax.annotate(
                point.name, (point.error, point.tflops), xytext=(dx, dy), va="center",
                textcoords="offset points", fontsize=letters, color=_COLOURS[point.arithmetic],
                ha="center" if not dx else "left" if dx > 0 else "right", in_layout=False,
            )  # fmt: skip
            box = text.get_window_extent()
            inside = ax.bbox.x0 <= box.x0 and box.x1 <= fig.bbox.x1
            if (dx, dy) == places[-1] or (inside and not any(map(box.overlaps, taken))):
                taken.append(box)
                break
            text.remove()


def _places(sides: Sequence[int]) -> list[tuple[float, float]]:
    """Return where a name may stand, in points off its mark: beside it, then above and below."""
    rows = [0.0, *(sign * step for step in _ROWS for sign in (1, -1))]
    return [(9.0 * side, row) for row in rows for side in sides] + [(0.0, row) for row in rows[1:]]


_ROWS = (4.0, 8.0, 12.0, 18.0, 24.0, 32.0, 40.0)


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
