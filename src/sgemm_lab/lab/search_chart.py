"""What a search for the fastest kernels found, as a picture, beside what was predicted."""

import statistics
from collections.abc import Sequence
from contextlib import suppress

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from sgemm_lab import style
from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.gemm.dispatch.shapes import SQUARES
from sgemm_lab.gemm.dispatch.summary import rank_correlation
from sgemm_lab.kernel import Size
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.output import Output, PictureOfTwoWidths, table
from sgemm_lab.models.ladder import GPU
from sgemm_lab.records.dispatch_table import Point, Table, load_tables
from sgemm_lab.text import percent, plural, size_text

_LEAST, _FAINTEST = 0.3, 0.06
"""Shares below the first are drawn alike, in the second's depth of colour."""

_INNER = ("BM", "BN", "BK", "WM", "WN", "TM", "TN", "STAGES")
"""Constants that the label of a candidate leaves out: its tile says which they are."""

_ROW, _MARGIN = 0.21, 1.1
"""Inches: the height of a candidate's row, and what the labels of the sizes take."""


class SearchMap(PictureOfTwoWidths):
    """Every measured candidate at every size, as a share of the fastest there."""

    def __init__(self, table: Table, sizes: Sequence[Size]) -> None:
        """Draw the points that are of today's kernels.

        Raises:
            LabError: the table has no point at these sizes.
        """
        points = [p for p in table.points if p.size in sizes and p.is_current]
        if not points:
            raise LabError(
                f"No search on {table.gpu.name} measured these sizes with today's kernels. "
                "Run 'sgemm-lab tune' on a GPU."
            )
        self.gpu = table.gpu.name
        self.sizes = [size for size in sizes if any(p.size == size for p in points)]
        self.points = tuple(points)
        super().__init__(self._draw, f"Search on {self.gpu}", self._words())

    @property
    def winners(self) -> list[Point]:
        """The fastest point of each size."""
        return [min(self._at(size), key=lambda point: point.seconds) for size in self.sizes]

    @property
    def correlation(self) -> float:
        """The middle one of the sizes' rank correlations: predicted against measured GFLOP/s.

        Raises:
            LabError: no size has two candidates that were measured and predicted apart.
        """
        found = [value for size in self.sizes if (value := self._correlation(size)) is not None]
        if not found:
            raise LabError("A rank correlation needs a size at which two candidates were measured.")
        return statistics.median(found)

    def _correlation(self, size: Size) -> float | None:
        pairs = [(p.bound_gflops, p.gflops) for p in self._at(size) if p.bound_gflops]
        try:
            return rank_correlation([one for one, _ in pairs], [other for _, other in pairs])
        except LabError:
            return None

    def _at(self, size: Size) -> list[Point]:
        return [point for point in self.points if point.size == size]

    def wrong_picks(self) -> Output:
        """Return a table: how many times as long each size's winner takes at the other sizes."""
        winners = dict.fromkeys(winner.kernel for winner in self.winners)
        seconds = {(point.kernel, point.size): point.seconds for point in self.points}
        fastest = {winner.size: winner.seconds for winner in self.winners}
        rows = []
        for kernel, label in zip(winners, _labels(list(winners)), strict=True):
            found = [(size, seconds.get((kernel, size))) for size in self.sizes]
            cells = [f"{taken / fastest[size]:.2f}" if taken else "–" for size, taken in found]
            rows.append([label, *cells])
        return table(
            ["time over the fastest", *(f"{m}³" for m, _, _ in self.sizes)],
            rows,
            note=f"The winners of a search on {self.gpu}. 1.00: the fastest of all candidates. "
            "–: ruled out by the models, so not measured.",
        )

    def _words(self) -> str:
        winners = self.winners
        kernels = {winner.kernel for winner in winners}
        shares = [winner.share for winner in winners]
        text = (
            f"No kernel suits all sizes: of {plural(len(self._rows()), 'candidate')} "
            f"{len(kernels)} win at {plural(len(winners), 'size')}"
            if len(kernels) > 1
            else f"One kernel wins at {plural(len(winners), 'size')}, {winners[0].kernel}"
        )
        text += f", at {percent(min(shares))} to {percent(max(shares))} of cuBLAS."
        with suppress(LabError):
            text += (
                " What the models foretell ranks the measured candidates of a size with a "
                f"correlation of {_signed(self.correlation)} in the middle case; 1 is the same "
                "order, 0 is none."
            )
        return f"{text} Searched on {self.gpu}; blank: ruled out unmeasured."

    def _rows(self) -> list[str]:
        """Return the candidates that were measured, in the book's order, small tiles first."""
        order = [kernel.name for kernel in load_kernels()]

        def place(name: str) -> tuple[int, int, str]:
            kernel = load_kernel(name)
            tile = Tile.from_constants(kernel.values)
            return order.index(kernel.base_name), tile.bm * tile.bn, name

        return sorted({point.kernel for point in self.points}, key=place)

    def _draw(self, phone: bool) -> Figure:
        rows = self._rows()
        fig = style.figure(style.PHONE_WIDTH if phone else 5.8, _MARGIN + _ROW * len(rows))
        with style.book_style():
            ax = fig.subplots()
            for column, size in enumerate(self.sizes):
                points = self._at(size)
                best = min(point.seconds for point in points)
                for point in points:
                    share = best / point.seconds
                    row = rows.index(point.kernel)
                    ax.add_patch(_cell(column, row, share))
                    if share == 1:
                        ax.plot(column, row, "*", color=style.BACKGROUND, markersize=8)
            ax.set_xlim(-0.5, len(self.sizes) - 0.5)
            ax.set_ylim(len(rows) - 0.5, -0.5)
            ax.set_xticks(range(len(self.sizes)), [size_text(size) for size in self.sizes])
            many = 90 if phone else 45
            ax.tick_params(axis="x", rotation=many if len(self.sizes) > 5 else 0)
            ax.set_yticks(range(len(rows)), _labels(rows), fontsize=8.5 if phone else None)
            ax.tick_params(length=0)
            ax.spines[:].set_visible(False)
            meaning = "the darker, the nearer to the fastest of the size (★)"
            if phone:  # over the labels too: the map alone is narrower than the words
                fig.suptitle(meaning, fontsize=9)
            else:
                ax.set_title(meaning)
        return fig


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _cell(column: int, row: int, share: float) -> Rectangle:
    """Return the field of a candidate at a size, the deeper the larger its share."""
    depth = max(_FAINTEST, (share - _LEAST) / (1 - _LEAST))
    return Rectangle(
        (column - 0.5, row - 0.5), 1, 1,
        facecolor=style.LEVEL_COLOURS["dram"], alpha=depth, edgecolor=style.GRID, linewidth=0.5,
    )  # fmt: skip


def _labels(names: Sequence[str]) -> list[str]:
    """Return a short label of each candidate: kernel, tile, and what else it was given."""
    short = [_label(name) for name in names]
    return [
        label if short.count(label) == 1 else name for label, name in zip(short, names, strict=True)
    ]


def _label(name: str) -> str:
    kernel = load_kernel(name)
    base = load_kernel(kernel.base_name)
    values = kernel.values
    tile = f" {values['BM']}×{values['BN']}" if {"BM", "BN"} <= values.keys() else ""
    others = [
        f", {constant} {value}"
        for constant, value in values.items()
        if constant not in _INNER and (value != base.values[constant] or "SPLIT" in constant)
    ]
    return f"{kernel.base_name}{tile}{''.join(others)}"


def wrong_picks(*sizes: AnySize) -> Output:
    """Return a table of what it costs to use one size's fastest kernel at the other sizes.

    Without ``sizes`` at the squares.

    Raises:
        LabError: there is no table of a search, or it has no point at these sizes.
    """
    return search_map(*sizes).wrong_picks()


def search_map(*sizes: AnySize) -> SearchMap:
    """Draw what a search found: every candidate at every size, as a share of the fastest there.

    Without ``sizes`` at the squares. ``search_map().correlation`` is the rank correlation of
    predicted and measured speeds; ``winners`` are the fastest candidates.

    Raises:
        LabError: there is no table of a search, or it has no point at these sizes.
    """
    tables = load_tables()
    if not tables:
        raise LabError("There is no table of a search yet. Run 'sgemm-lab tune' on a GPU.")
    quoted = next((table for table in tables if table.gpu.name == GPU), tables[0])
    return SearchMap(quoted, [size_of(size) for size in sizes] or SQUARES)
