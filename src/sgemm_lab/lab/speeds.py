"""Kernels beside cuBLAS: measured here, or read from the records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.ticker import FuncFormatter

from sgemm_lab import style
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, load_kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, Picture, number, size_text, table
from sgemm_lab.record import Score, scores

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
            rows.append([_title(score.kernel), size, number(score.gflops), spread, f"{score.share:.1%}"])
        for size, gflops in {(s.m, s.n, s.k): s.cublas_gflops for s in self.scores}.items():
            rows.append(["cuBLAS", size_text(size), number(gflops), "", "100%"])
        heads = ["kernel", "M×N×K", "GFLOP/s, median", "all samples", "of cuBLAS"]
        return table(heads, rows, note=self.note)


def speeds(names: Sequence[str], sizes: Sequence[Size]) -> Speeds:
    """Measure kernels at sizes here, or take them from the latest record where there is no GPU.

    Raises:
        LabError: an unknown kernel, or nothing recorded of it.
    """
    kernels = [load_kernel(name) for name in names]
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
        (record, found[0].run)
        for record in session.all_records()
        if found[0].run in record.runs
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
    known = [s for record in session.all_records()[-1:] for s in scores([record]) if s.m == s.n == s.k]
    fig = style.figure(7.0, 3.9)
    with style.book_style():
        ax = fig.subplots()
        ax.set(xscale="log", yscale="log", ylabel="GFLOP/s")
        ax.set_xlabel("M = N = K")
        sizes = sorted({score.m for score in known})
        library = {score.m: score.cublas_gflops for score in known}
        curves = [("cuBLAS", library, style.CUBLAS)]
        colours = [style.LEVEL_COLOURS["dram"], style.LEVEL_COLOURS["shared"], style.LEVEL_COLOURS["l2"]]
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


def _title(name: str) -> str:
    base, _, constants = name.partition(":")
    title = load_kernel(base).title
    return f"{title}, {constants.replace('=', ' ').replace(',', ', ')}" if constants else title


