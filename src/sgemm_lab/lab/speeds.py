"""Kernels beside cuBLAS: measured here, or read from the records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.ticker import FuncFormatter

from sgemm_lab import style
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, load_kernel, load_kernels
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, Picture, number, size_text, table
from sgemm_lab.record import Score, scores
from sgemm_lab.recorder import SQUARE_SIZES

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Speeds:
    """Kernels at one or more sizes, with cuBLAS in the same run."""

    scores: tuple[Score, ...]
    note: str

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def of(self, kernel: str, size: Size | None = None) -> Score:
        """Return the score of one kernel, at its only or the given size.

        Raises:
            LabError: it was not measured.
        """
        for score in self.scores:
            if score.kernel == kernel and size in (None, (score.m, score.n, score.k)):
                return score
        raise LabError(f"The kernel '{kernel}' was not measured at {size or 'any size'}.")

    def _repr_html_(self) -> str:
        return self._table().html

    def __repr__(self) -> str:
        return self._table().text

    def _table(self) -> Output:
        rows = []
        for score in self.scores:
            low, high = min(score.samples), max(score.samples)
            spread = f"{number(low)} to {number(high)}"
            size = size_text((score.m, score.n, score.k))
            rows.append(
                [_title(score.kernel), size, number(score.gflops), spread, f"{score.share:.1%}"]
            )
        library = {(s.m, s.n, s.k): s.cublas_gflops for s in self.scores}
        for shape, gflops in library.items():
            rows.append(["cuBLAS", size_text(shape), number(gflops), "", "100%"])
        heads = ["kernel", "M×N×K", "GFLOP/s, median", "all samples", "of cuBLAS"]
        return table(heads, rows, note=self.note)


def speeds(kernels: Sequence[Kernel], sizes: Sequence[Size]) -> Speeds:
    """Measure kernels at sizes here, or take them from the latest record where there is no GPU.

    Raises:
        LabError: nothing is recorded of a kernel.
    """
    if session.live():
        session.measure_here(kernels, sizes)
    found = find_scores(kernels, sizes)
    missing = [kernel.name for kernel in kernels if kernel.name not in {s.kernel for s in found}]
    if missing:
        raise LabError(
            f"There is no GPU here, and no record of {', '.join(missing)} at "
            f"{', '.join(size_text(size) for size in sizes)}."
        )
    record, run = next(
        (record, found[0].run) for record in session.all_records() if found[0].run in record.runs
    )
    return Speeds(tuple(found), f"{session.provenance(record.gpu, run)} cuBLAS: {run.cublas_call}.")


def find_scores(kernels: Sequence[Kernel], sizes: Sequence[Size]) -> list[Score]:
    """Return what is known of kernels at sizes on one GPU: this session's, or else the book's."""
    for record in session.all_records():
        known = {(s.kernel, s.m, s.n, s.k): s for s in scores([record])}
        found = [
            known[kernel.name, *size]
            for size in sizes
            for kernel in kernels
            if (kernel.name, *size) in known
        ]
        if found:
            return found
    return []


def speed_curves(names: Sequence[str], conclusion: str) -> Picture:
    """Draw recorded GFLOP/s over the size of square matrices, cuBLAS above. Log-log."""
    kernels = [load_kernel(name) for name in names]
    known = [
        score
        for record in session.all_records()[-1:]
        for score in scores([record])
        if (score.m, score.n, score.k) in SQUARE_SIZES
    ]
    fig = style.figure(7.0, 3.9)
    with style.book_style():
        ax = fig.subplots()
        ax.set(xscale="log", yscale="log", ylabel="GFLOP/s")
        ax.set_xlabel("M = N = K")
        sizes = sorted({score.m for score in known})
        library = {score.m: score.cublas_gflops for score in known}
        curves = [("cuBLAS", library, style.CUBLAS)]
        colours = [
            style.LEVEL_COLOURS["dram"],
            style.LEVEL_COLOURS["shared"],
            style.LEVEL_COLOURS["l2"],
        ]
        for kernel, colour in zip(kernels, colours, strict=False):
            points = {score.m: score.gflops for score in known if score.kernel == kernel.name}
            curves.append((kernel.title, points, colour))
        for label, points, colour in curves:
            xs = sorted(points)
            ax.plot(xs, [points[x] for x in xs], "o-", color=colour, markersize=4)
            ax.annotate(
                f" {label}", (xs[-1], points[xs[-1]]), xytext=(6, 0), textcoords="offset points",
                color=colour, va="center", fontsize=9,
            )  # fmt: skip
        ax.set_xlim(sizes[0] * 0.85, sizes[-1] * 4.5)
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        ax.grid(axis="y")
    return Picture(fig, "Speed over matrix size", conclusion)


def ladder_picture(size: Size, conclusion: str) -> Picture:
    """Draw every kernel at one size as a bar: its share of cuBLAS in the same run."""
    found = find_scores(load_kernels(), [size])
    fig = style.figure(7.0, 0.32 * len(found) + 0.5)
    with style.book_style():
        ax = fig.subplots()
        ax.barh(range(len(found)), [100 * s.share for s in found], color=style.KERNEL, height=0.66)
        for row, score in enumerate(found):
            ax.annotate(
                f"{score.share:.0%}", (100 * score.share, row), xytext=(5, 0),
                textcoords="offset points", va="center", fontsize=9, color=style.FOREGROUND,
            )  # fmt: skip
        ax.axvline(100, color=style.CUBLAS, linewidth=1.4)
        ax.annotate(
            "cuBLAS ",
            (100, -0.5),
            color=style.CUBLAS,
            ha="right",
            va="center",
            fontsize=9,
        )
        ax.set_yticks(range(len(found)), [_title(score.kernel) for score in found])
        ax.invert_yaxis()
        ax.set_xlim(0, 104)
        ax.set_xticks([])
        ax.spines["bottom"].set_visible(False)
        ax.spines["left"].set_visible(False)
        ax.tick_params(left=False)
    return Picture(fig, "The ladder of kernels", conclusion)


def _title(name: str) -> str:
    base, _, constants = name.partition(":")
    titles = {kernel.name: kernel.title for kernel in load_kernels()}
    title = titles.get(base, f"yours ({base})")
    return f"{title}, {constants.replace('=', ' ').replace(',', ', ')}" if constants else title
