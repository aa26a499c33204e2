"""Kernels beside cuBLAS: measured here, or read from the records."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, PercentFormatter

from sgemm_lab import style
from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of
from sgemm_lab.lab.output import Output, Picture, of_gpus, sentence, table
from sgemm_lab.measuring.recorder import SQUARE_SIZES
from sgemm_lab.records.gpu_record import Record, Score
from sgemm_lab.records.store import not_yet_measured, scores
from sgemm_lab.text import number, size_text

_DASHES = (("Dashed", "--"), ("Dotted", ":"), ("Dash-dotted", "-."))
"""How the curves of other GPUs are drawn, and the word for it."""
_MOST_CURVES = 5
_LINE_POINTS = 11.0
"""Height of a line of a label beside a curve."""
_LETTER_POINTS, _AXIS_POINTS = 5.2, 430
"""About the width of a letter of such a label, and of the plot."""
_COLOURS = (
    style.CUBLAS,
    *(style.LEVEL_COLOURS[level] for level in ("dram", "shared", "l2", "register")),
    style.KERNEL,
)
_MARKERS = "osD^vP"
"""What tells curves apart whose names do not stand beside them."""


@dataclass(frozen=True)
class Speeds:
    """Kernels at one or more sizes, with cuBLAS in the same run.

    Asking for what was not measured raises a LabError.
    """

    scores: tuple[Score, ...]
    note: str
    """Where the numbers come from, and what is not yet measured."""
    waiting: tuple[str, ...] = ()
    """Kernels that were asked for and not measured at any of the sizes."""
    elsewhere: tuple[tuple[Score, ...], ...] = ()
    """The same kernels and sizes on each other GPU that measured all of them."""

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def of(self, kernel: str, size: Size | None = None) -> Score:
        """Return the score of one kernel, at its only or the given size."""
        for score in self.scores:
            if score.kernel == kernel and size in (None, score.size):
                return score
        raise LabError(not_yet_measured([kernel], f" at {size_text(size)}" if size else ""))

    def __getitem__(self, kernel: str) -> float:
        """Return the GFLOP/s of one kernel at its only size, as ``of(kernel).gflops``."""
        return self.of(kernel).gflops

    def _repr_html_(self) -> str:
        if not self.scores:
            return self._table().html
        parts = [(self.scores[0].gpu, self._table().html)]
        for found in self.elsewhere:
            gpu = found[0].gpu
            parts.append((gpu, Speeds(found, f"{gpu}, {found[0].date[:10]}.")._table().html))
        return of_gpus(parts)

    def __repr__(self) -> str:
        return self._table().text

    def _table(self) -> Output:
        rows = []
        for score in self.scores:
            low, high = min(score.samples), max(score.samples)
            spread = f"{number(low)} to {number(high)}"
            rows.append(
                [
                    title_of(score.kernel),
                    size_text(score.size),
                    number(score.gflops),
                    spread,
                    f"{score.share:.1%}",
                ]
            )
        library = {score.size: score.cublas_gflops for score in self.scores}
        for shape, gflops in library.items():
            rows.append(["cuBLAS", size_text(shape), number(gflops), "", "100%"])
        heads = ["kernel", "M×N×K", "GFLOP/s, median", "all samples", "of cuBLAS"]
        return table(heads, rows, note=self.note) if rows else sentence(self.note)


def speeds(kernels: Sequence[Kernel], sizes: Sequence[Size]) -> Speeds:
    """Measure kernels at sizes here, or take them from the latest record where there is no GPU.

    Kernels that nothing is known of are named in the result. Where this machine's GPU lacks what
    one of them needs, all come from the book's records, so that they can be compared.
    """
    lacking = session.lacking(kernels) if session.live() else []
    if session.measures() and not lacking:
        session.measure_here(kernels, sizes)
    records = session.book_records() if lacking else session.all_records()
    found = find_scores(kernels, sizes, records)
    known = {score.kernel for score in found}
    waiting = tuple(kernel.name for kernel in kernels if kernel.name not in known)
    notes = [f"{session.lacking_words(lacking)} So this is the record."] if lacking else []
    notes += [origin(found[0])] if found else []
    if waiting:
        notes.append(not_yet_measured(waiting, f" at {', '.join(map(size_text, sizes))}"))
    others = [] if session.here() else [find_scores(kernels, sizes, [one]) for one in records]
    elsewhere = [
        tuple(scores)
        for scores in others
        if found and len(scores) == len(found) and scores[0].gpu != found[0].gpu
    ]
    return Speeds(tuple(found), " ".join(notes), waiting, tuple(elsewhere))


def origin(score: Score) -> str:
    """Say where, when and how a score was measured, and how cuBLAS was called beside it."""
    start = session.provenance(score.device, score.run)
    return f"{start} cuBLAS FP32: {score.run.cublas_call}."


def score_of(kernel: Kernel, size: Size) -> Score:
    """Return the score of one kernel: what this session measured, else measured or read now."""
    known = {(s.kernel, s.m, s.n, s.k): s for s in scores(session.here())}
    found = known.get((kernel.name, *size))
    return found or speeds([kernel], [size]).of(kernel.name, size)


def find_scores(
    kernels: Sequence[Kernel], sizes: Sequence[Size], records: Sequence[Record]
) -> list[Score]:
    """Return what is known of kernels at sizes on one GPU: of the first record that has any."""
    for record in records:
        found = [
            score
            for size in sizes
            for kernel in kernels
            if (score := record.score(kernel, size)) is not None
        ]
        if found:
            return found
    return []


def curves(*names: str, conclusion: str, every_gpu: bool = False, shares: bool = False) -> Picture:
    """Draw recorded GFLOP/s over the size of square matrices, with cuBLAS. Log-log.

    This session's measurements are drawn over it, with open marks. The conclusion names kernels
    that were not recorded.

    Args:
        names: of kernels.
        conclusion: what the picture shows, in a sentence or two.
        every_gpu: whether the other recorded GPUs are drawn too, each with its own dashes.
        shares: whether shares of cuBLAS are drawn, on a linear axis, in place of GFLOP/s.

    Raises:
        LabError: there are too many kernels to tell their curves apart, or nothing is recorded.
    """
    kernels = [load_kernel(name) for name in names]
    if len(kernels) > _MOST_CURVES:
        raise LabError(
            f"{len(kernels)} curves cannot be told apart. Choose {_MOST_CURVES} kernels at most."
        )
    known = [s for s in scores(session.book_records()[:1]) if s.size in SQUARE_SIZES]
    measured = {score.kernel for score in known}
    waiting = [name for name in names if name not in measured]
    if not measured:
        raise LabError(not_yet_measured(names))
    if waiting:
        conclusion += f" {not_yet_measured(waiting)}"
    others: dict[str, list[Score]] = {}
    for record in session.book_records()[1:] if every_gpu else ():
        squares = [s for s in scores([record]) if s.size in SQUARE_SIZES]
        if squares:
            others[record.gpu.name] = squares
    if others:
        dashed = [f"{word}: {gpu}" for gpu, (word, _) in zip(others, _DASHES, strict=False)]
        conclusion += f" Solid: {known[0].gpu}. {'. '.join(dashed)}."
    else:
        conclusion += f" {known[0].gpu}."
    here = [s for s in scores(session.here()) if s.kernel in names and s.m == s.n == s.k]
    if here:
        conclusion += f" Open marks: {here[0].gpu}, measured here."
    shown = [kernel.name for kernel in kernels if kernel.name in measured]
    draw = partial(_draw_curves, known, here, shown, list(others.values()), shares)
    return Picture(draw, "Speed over matrix size", conclusion, (7.0, 3.9), 4.4)


def _draw_curves(
    known: Sequence[Score],
    here: Sequence[Score],
    names: Sequence[str],
    others: Sequence[Sequence[Score]],
    shares: bool,
    ax: Axes,
    phone: bool,
) -> None:
    """Draw the curves of cuBLAS and some kernels. On a phone their names stand above."""
    ax.set(xscale="log", ylabel="share of cuBLAS" if shares else "GFLOP/s")
    ax.set_xlabel("M = N = K")
    sizes = sorted({score.m for score in known})
    ends: list[tuple[str, str, tuple[float, float]]] = []
    for name, colour, marker in zip([None, *names], _COLOURS, _MARKERS, strict=False):
        label = title_of(name) if name else "cuBLAS"
        points = _points(known, name, shares)
        xs = list(points)
        ax.plot(xs, list(points.values()), f"{marker if phone else 'o'}-", color=colour,
                markersize=4, label=label)  # fmt: skip
        ends.append(("\n".join(wrap(label, 27)), colour, (xs[-1], points[xs[-1]])))
        for found, (_, dashes) in zip(others, _DASHES, strict=False):
            theirs = _points(found, name, shares)
            ax.plot(list(theirs), list(theirs.values()), linestyle=dashes, color=colour,
                    linewidth=1.2)  # fmt: skip
        yours = _points(here, name, shares)
        ax.plot(list(yours), list(yours.values()), "D:", color=colour, markersize=7,
                markerfacecolor="none", linewidth=1.0)  # fmt: skip
    shown = [*sizes, *(score.m for score in here)]
    longest = max(len(line) for label, *_ in ends for line in label.split("\n"))
    ax.set_xlim(min(shown) * 0.85, max(shown) * (1.15 if phone else _room(longest, shown)))
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.xaxis.set_minor_locator(NullLocator())
    if shares:
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(PercentFormatter(1))
    else:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_formatter(lambda value, _: number(value))
    ax.grid(axis="y")
    if phone:
        ax.figure.legend(loc="outside upper left", fontsize=9)
    else:
        _label_ends(ax, ends)


def _room(letters: int, sizes: Sequence[int]) -> float:
    """Return by which factor the axis goes on behind the largest size, for labels there."""
    share = (letters * _LETTER_POINTS + 14) / _AXIS_POINTS
    return math.pow(max(sizes) / min(sizes), share / (1 - share))


def _label_ends(ax: Axes, ends: list[tuple[str, str, tuple[float, float]]]) -> None:
    """Write each label (text, colour, end of its curve) beside its curve, clear of the others."""
    lowest = -math.inf
    for label, colour, end in sorted(ends, key=lambda found: found[2][1]):
        height = _LINE_POINTS * (1 + label.count("\n"))
        at = ax.transData.transform(end)[1] * 72 / ax.figure.dpi
        middle = max(at, lowest + height / 2)
        lowest = middle + height / 2
        ax.annotate(
            label, end, xytext=(9, middle - at), textcoords="offset points",
            color=colour, va="center", fontsize=9, linespacing=1.1,
        )  # fmt: skip


def _points(known: Sequence[Score], name: str | None, shares: bool) -> dict[int, float]:
    """Return GFLOP/s by size, smallest first, of a kernel, or of cuBLAS where there is no name.

    ``shares`` divides them by those of cuBLAS in the same run.
    """
    return {
        score.m: (score.gflops if name else score.cublas_gflops)
        / (score.cublas_gflops if shares else 1)
        for score in sorted(known, key=lambda score: score.m)
        if name in (None, score.kernel)
    }


def title_of(name: str) -> str:
    """Return a kernel's title; a variant's with its constants, a reader's own as theirs."""
    base, _, constants = name.partition(":")
    if base in {kernel.name for kernel in load_kernels()}:
        return load_kernel(name).display_title
    given = constants.replace("=", " = ").split(",") if constants else []
    return ", ".join([f"yours ({base})", *given])


def measure(*names: str | Kernel, size: AnySize = 4096) -> Speeds:
    """Measure kernels against cuBLAS at one size; without a GPU, take the recorded samples.

    ``measure("split")["split"]`` is a speed in GFLOP/s.
    """
    return speeds([kernel_of(name) for name in names], [size_of(size)])


def speed(name: str | Kernel, size: AnySize = 4096) -> float:
    """Return a kernel's GFLOP/s at one size: measured in this session, else recorded.

    Raises:
        LabError: there is no GPU, and nothing is recorded of the kernel at that size.
    """
    return score_of(kernel_of(name), size_of(size)).gflops
