"""Speed over error: kernels, cuBLAS and Strassen's products as points of one chart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator
from matplotlib.transforms import Bbox

from sgemm_lab import style
from sgemm_lab.catalogue import book_kernel, load_kernel, load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.accuracy import LIBRARY_NAMES
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.output import Picture
from sgemm_lab.lab.strassen import strassen_results
from sgemm_lab.records.gpu_record import CUBLAS_MODES
from sgemm_lab.records.strassen import STRASSEN_RECORDS
from sgemm_lab.text import number, ratio, size_text

KERNEL, LIBRARY, STRASSEN = "o", "D", "s"
"""Kinds of points, by Matplotlib's marker."""

_ARITHMETICS = {
    "fp32": ("FP32", style.LEVEL_COLOURS["dram"]),
    "3xtf32": ("3 × TF32", style.KERNEL),
    "3xfp16": ("3 × FP16", style.LEVEL_COLOURS["register"]),
    "tf32": ("TF32", style.LEVEL_COLOURS["l2"]),
    "fp16": ("FP16", style.LEVEL_COLOURS["shared"]),
}
"""Name and colour of each arithmetic."""

_LETTER_POINTS, _LINE_POINTS = 5.4, 11.0
"""Width of a letter and height of a line of a label, in points, as is all that a figure draws."""

_SPOTS = (
    ("left", 0.0, 9, 0), ("center", 0.5, 0, 11), ("right", 1.0, -9, 0), ("center", 0.5, 0, -11),
    ("left", 0.0, 9, 12), ("left", 0.0, 9, -12), ("right", 1.0, -9, 12), ("right", 1.0, -9, -12),
)  # fmt: skip
"""Where a label may stand: its alignment, the share of it left of the spot, and the offset."""


@dataclass(frozen=True)
class Point:
    """Speed and error of one measured product, on inputs uniform in ±0.5."""

    label: str
    kind: str
    """One of ``KERNEL``, ``LIBRARY``, ``STRASSEN``."""
    arithmetic: str
    """Of its products; of its leaves, where it is Strassen's."""
    tflops: float
    error: float
    """‖C − A·B‖ ÷ ‖A·B‖, against float64."""
    leaves: str = ""
    """What multiplies Strassen's leaves: a kernel, or "" for FP32 units."""


def speed_over_error(*names: str, size: AnySize = 4096, levels: bool = False) -> Picture:
    """Draw speed over error, as measured of the same product. Log-log.

    Args:
        names: of kernels. Default: the fastest of each arithmetic, and Strassen's products.
        size: of the products.
        levels: whether Strassen's products are drawn with the named kernels.

    Raises:
        LabError: nothing is recorded at this size.
    """
    found = points(names, size_of(size), levels or not names)
    if not found:
        raise LabError(f"No speed with an error is recorded at {size_text(size_of(size))}.")
    where = (
        f"{size_text(size_of(size))}, inputs uniform in ±0.5, {session.book_records()[0].gpu.name}."
    )
    return Picture(
        partial(_draw, found), "Speed over error", f"{conclusion(found)} {where}", (7.0, 4.2), 4.8
    )


def points(names: Sequence[str], size: Size, levels: bool) -> list[Point]:
    """Return what the first of the book's records has at a size, cuBLAS first."""
    kernels = [load_kernel(name) for name in names] or load_kernels()
    found = [point for kernel in kernels if (point := _of_kernel(kernel, size))]
    if not names:
        best = {one.arithmetic: one for one in sorted(found, key=lambda one: one.tflops)}
        found = list(best.values())
    strassen = list(_of_strassen(size)) if levels else []
    plain = {one.label: one for one in strassen if one.kind == KERNEL}
    found = [plain.get(one.label, one) for one in found]  # of the same run as its levels
    return [*_of_library(size), *found, *(one for one in strassen if one.kind == STRASSEN)]


def conclusion(found: Sequence[Point]) -> str:
    """Say which point is the fastest with at most the error of cuBLAS in FP32."""
    library = _fp32_library(found)
    if library is None:
        return "cuBLAS in FP32 is not recorded here, so there is nothing to compare with."
    best = max((one for one in found if one.error <= library.error), key=lambda one: one.tflops)
    faster = [one.error / library.error for one in found if one.tflops > best.tflops]
    if best is library:
        first = "Nothing with at most the error of cuBLAS in FP32 is faster than it."
    else:
        share = ratio(best.error / library.error)
        first = (
            f"{best.label} is the fastest with at most the error of cuBLAS in FP32: "
            f"{number(best.tflops)} TFLOP/s, at {share} times its error."
        )
    if any(one.kind == STRASSEN for one in found):
        first += " Each level of Strassen's algorithm has more error with these inputs."
    if not faster:
        return f"{first} Nothing here is faster."
    return f"{first} Everything faster has at least {number(min(faster))} times the error."


def _fp32_library(found: Sequence[Point]) -> Point | None:
    return next((one for one in found if (one.kind, one.arithmetic) == (LIBRARY, "fp32")), None)


def _of_kernel(kernel: Kernel, size: Size) -> Point | None:
    score = session.book_records()[0].score(kernel, size)
    if score is None or score.error is None:
        return None
    return Point(kernel.display_name, KERNEL, kernel.arithmetic, score.gflops / 1e3, score.error)


def _of_library(size: Size) -> Iterator[Point]:
    for arithmetic, name in CUBLAS_MODES.items():
        found = session.book_records()[0].library(arithmetic, size)
        if found and found.error is not None:
            label = LIBRARY_NAMES[name]
            yield Point(label, LIBRARY, arithmetic, found.gflops / 1e3, found.error)


def _of_strassen(size: Size) -> Iterator[Point]:
    """Yield Strassen's products by levels, of FP32 units and of each kernel; level 0 as kernel."""
    if not STRASSEN_RECORDS.load_all() or len(set(size)) > 1:
        return
    plain = strassen_results(session.book_records()[0].gpu.name)
    inside = [one for one in plain.run.inside if book_kernel(one.kernel)]
    chains = [
        ("fp32", "", plain),
        *((one.arithmetic, one.kernel, plain.inside(one.kernel)) for one in inside),
    ]
    for arithmetic, leaves, results in chains:
        if not (results.is_timed(size[0]) and results.has(size[0])):
            continue
        timed, errors = results.levels(size[0]), results.errors(size[0]).levels
        for level, (way, error) in enumerate(zip(timed, errors, strict=False)):
            label, kind = (f"Strassen, {level}", STRASSEN) if level else (way.kernel, KERNEL)
            tflops = results.tflops(size[0], way)
            yield Point(label, kind, arithmetic, tflops, error, leaves)


def _draw(found: Sequence[Point], ax: Axes, phone: bool) -> None:
    ax.set(xscale="log", yscale="log", xlabel="error: ‖C − A·B‖ ÷ ‖A·B‖", ylabel="TFLOP/s")
    errors, speeds = [one.error for one in found], [one.tflops for one in found]
    ax.set_xlim(min(errors) / (20 if phone else 5), max(errors) * (2 if phone else 12))
    ax.set_ylim(min(speeds) / 1.4, max(speeds) * 1.4)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(lambda value, _: number(value))
    if library := _fp32_library(found):
        ax.axvspan(ax.get_xlim()[0], library.error, color=style.GRID, alpha=0.6, linewidth=0)
        ax.axvline(library.error, color=style.LINE, linewidth=1, linestyle="--")
        ax.annotate(
            "no worse than\ncuBLAS FP32", (library.error, 1), xycoords=("data", "axes fraction"),
            xytext=(-5, -5), textcoords="offset points", ha="right", va="top",
            color=style.MUTED, fontsize=9,
        )  # fmt: skip
    strassen = [one for one in found if one.kind == STRASSEN]
    for leaves in dict.fromkeys(one.leaves for one in strassen):
        chain = [one for one in strassen if one.leaves == leaves]
        path = [one.error for one in chain], [one.tflops for one in chain]
        ax.plot(*path, color=_ARITHMETICS[chain[0].arithmetic][1], linewidth=1, alpha=0.6)
    for one in found:
        ax.add_line(_mark(one.kind, _ARITHMETICS[one.arithmetic][1], [one.error], [one.tflops]))
    keys = [
        _mark(KERNEL, colour, label=name)
        for arithmetic, (name, colour) in _ARITHMETICS.items()
        if any(one.arithmetic == arithmetic for one in found)
    ]
    keys.append(_mark(LIBRARY, style.LINE, label="cuBLAS"))
    if strassen:
        keys.append(_mark(STRASSEN, style.LINE, label="Strassen levels"))
    columns = 3 if phone else 4
    ax.figure.legend(handles=keys, loc="outside upper left", ncols=columns, fontsize=9)
    ax.figure.canvas.figure.draw_without_rendering()  # places the axes
    _write_labels(found, ax)


def _mark(
    kind: str, colour: str, x: Sequence[float] = (), y: Sequence[float] = (), label: str = ""
) -> Line2D:
    inside = style.BACKGROUND if kind == STRASSEN else colour
    edge = style.BACKGROUND if kind == KERNEL else colour  # tells a kernel from cuBLAS below it
    return Line2D(x, y, color=colour, markerfacecolor=inside, markeredgecolor=edge, marker=kind,
                  linestyle="none", label=label)  # fmt: skip


def _write_labels(found: Sequence[Point], ax: Axes) -> None:
    """Write each label where it covers no mark and no other label, if there is such a place."""
    at = [ax.transData.transform((one.error, one.tflops)) for one in found]
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in at]
    if library := _fp32_library(found):
        line = ax.transData.transform((library.error, 1))[0]
        taken.append(Bbox.from_bounds(line - 1, ax.bbox.y0, 2, ax.bbox.height))
    for one, (x, y) in zip(found, at, strict=True):
        text = one.label.removeprefix("Strassen, ")
        width = _LETTER_POINTS * len(text)
        boxes = {
            (align, dx, dy): Bbox.from_bounds(
                x + dx - part * width, y + dy - _LINE_POINTS / 2, width, _LINE_POINTS
            )
            for align, part, dx, dy in _SPOTS
        }
        free = [
            spot
            for spot, box in boxes.items()
            if ax.bbox.x0 < box.x0 and box.x1 < ax.bbox.x1 and not box.count_overlaps(taken)
        ]
        align, dx, dy = spot = (free or list(boxes))[0]
        taken.append(boxes[spot])
        label = ax.annotate(
            text, (one.error, one.tflops), xytext=(dx, dy), textcoords="offset points",
            ha=align, va="center", fontsize=9, color=_ARITHMETICS[one.arithmetic][1],
            bbox={"facecolor": style.BACKGROUND, "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
        label.set_in_layout(False)
