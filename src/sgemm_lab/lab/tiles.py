"""Which elements of C a thread owns and what it reads for them, from the kernel's requests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from sgemm_lab import style
from sgemm_lab.counting.warp_requests import Request, warp_requests
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Picture, PictureOfTwoWidths

Interval = tuple[int, int]
"""First and last index of a run of neighbours."""

_COLOURS = (style.LEVEL_COLOURS["shared"], style.LEVEL_COLOURS["register"], style.CUBLAS)
_GAP = 0.07
"""Room between C and the strips of A and B, as a share of C's side."""


@dataclass(frozen=True)
class Part:
    """What one thread of the first block owns and reads. Rows and columns of the block tile."""

    thread: int
    rows: list[Interval]
    columns: list[Interval]
    read_rows: list[Interval]
    """Rows of A that it reads from shared memory for one k."""
    read_columns: list[Interval]
    transposed: bool
    """Whether As holds the rows of A as its columns."""


def part_of(kernel: Kernel, thread: int) -> Part:
    """Simulate one block for one window, and return what a thread stores and reads.

    Raises:
        LabError: the kernel has no BM, BN and BK, or its block no such thread.
    """
    values = kernel.values
    if not {"BM", "BN", "BK"} <= set(values):
        raise LabError(f"'{kernel.name}' has no block tile of BM × BN, so no part of it is drawn.")
    size = (values["BM"], values["BN"], values["BK"])
    requests = warp_requests(kernel, size, warp=thread // WARP, every=True)
    lane = thread % WARP
    stored = _cells(requests, "C", "store", lane)
    a = _cells(requests, "As", "load", lane)
    b = [column for k, column in _cells(requests, "Bs", "load", lane) if k == 0]
    shape = next(r["shape"] for r in requests if r["array"] == "As")
    transposed = shape[0] == values["BK"]
    rows = [c for r, c in a if r == 0] if transposed else [r for r, c in a if c == 0]
    return Part(
        thread,
        intervals(row for row, _ in stored),
        intervals(column for _, column in stored),
        intervals(rows),
        intervals(b),
        transposed,
    )


def intervals(numbers: Iterable[int]) -> list[Interval]:
    """Return whole numbers as runs of neighbours: 0, 1, 2, 8, 9 becomes (0, 2), (8, 9)."""
    runs: list[Interval] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def runs_text(runs: Iterable[Interval]) -> str:
    """Write runs for people: "0–3 and 64–67"."""
    return " and ".join(f"{first}–{last}" if first != last else f"{first}" for first, last in runs)


def owners(*names: str | Kernel, threads: Sequence[int]) -> Picture:
    """Draw the block tile of each kernel, with what some of its threads own and read.

    Raises:
        LabError: as ``part_of`` does.
    """
    kernels = [kernel_of(name) for name in names]
    parts = []
    for kernel in kernels:
        last = part_of(kernel, threads[-1])
        parts.append(
            f"in {kernel.name} thread {last.thread} owns rows {runs_text(last.rows)} "
            f"and columns {runs_text(last.columns)}"
        )
    conclusion = f"{'; '.join(parts)}. It reads these rows of A from As and these columns of Bs."
    if last.transposed:
        conclusion += " As is drawn the way A lies; it holds each row of A as a column."
    return PictureOfTwoWidths(
        partial(_draw_tiles, kernels, threads),
        "Which elements a thread owns",
        conclusion[0].upper() + conclusion[1:],
    )


def _draw_tiles(kernels: Sequence[Kernel], threads: Sequence[int], phone: bool) -> Figure:
    """Draw the tiles beside each other, or for a phone one under the other."""
    size = (style.PHONE_WIDTH, 3.6 * len(kernels)) if phone else (7.0, 3.9)
    fig = style.figure(*size)
    with style.book_style():
        rows, columns = (len(kernels), 1) if phone else (1, len(kernels))
        panels = fig.subplots(rows, columns, squeeze=False).flat
        for ax, kernel in zip(panels, kernels, strict=True):
            _draw(ax, kernel, [part_of(kernel, thread) for thread in threads])
    return fig


def _cells(requests: list[Request], array: str, op: str, lane: int) -> list[tuple[int, int]]:
    """Row and column of every element that a lane loads or stores, in the last two dimensions."""
    cells = []
    for request in requests:
        address = request["addresses"][lane]
        if request["array"] != array or request["op"] != op or address is None:
            continue
        width = request["shape"][-1]
        first = (address - request["start"]) // 4
        cells += [divmod(first + i, width) for i in range(request["bits"] // 32)]
    return cells


def _draw(ax: Axes, kernel: Kernel, parts: Sequence[Part]) -> None:
    height, width = kernel.values["BM"], kernel.values["BN"]
    gap, strip = _GAP * width, _GAP * width
    frame: dict[str, Any] = {"facecolor": "none", "edgecolor": style.LINE, "linewidth": 0.8}
    ax.add_patch(Rectangle((0, 0), width, height, **frame))
    ax.add_patch(Rectangle((-gap - strip, 0), strip, height, **frame))
    ax.add_patch(Rectangle((0, -gap - strip), width, strip, **frame))
    for part, colour in zip(parts, _COLOURS, strict=False):
        fill: dict[str, Any] = {"facecolor": colour, "edgecolor": "none"}
        for first, last in part.rows:
            for left, right in part.columns:
                size = (right - left + 1, last - first + 1)
                ax.add_patch(Rectangle((left, first), *size, **fill))
    for rows, colour, several in _readers([part.read_rows for part in parts]):
        for first, last in rows:
            ax.add_patch(Rectangle((-gap - strip, first), strip, 1 + last - first, fc=colour))
            if several:
                middle = (first + last + 1) / 2
                ax.text(-gap - strip - 2, middle, "both", ha="right", va="center", fontsize=9)
    for columns, colour, several in _readers([part.read_columns for part in parts]):
        for first, last in columns:
            ax.add_patch(Rectangle((first, -gap - strip), 1 + last - first, strip, fc=colour))
            if several:
                ax.text((first + last + 1) / 2, -gap - strip - 2, "both", ha="center", fontsize=9)
    if any(len(part.rows) > 1 for part in parts):
        halves: dict[str, Any] = {"color": style.LINE, "linewidth": 0.8, "linestyle": (0, (2, 3))}
        ax.plot([0, width], [height / 2, height / 2], **halves)
        ax.plot([width / 2, width / 2], [0, height], **halves)
    below = max(part.rows[0][1] for part in parts) + 1
    for i, (part, colour) in enumerate(zip(parts, _COLOURS, strict=False)):
        ax.annotate(
            f"thread {part.thread}", (0, below), xytext=(3, -3 - 11 * i), fontsize=9,
            textcoords="offset points", color=colour, va="top",
        )  # fmt: skip
    ax.text(-gap - strip / 2, height + gap / 2, "Asᵀ" if parts[0].transposed else "As",
            ha="center", va="top", fontsize=9)  # fmt: skip
    ax.text(width + gap / 2, -gap - strip / 2, "Bs", ha="left", va="center", fontsize=9)
    ax.text(
        width / 2, height + gap / 2, f"C, {height} × {width}", ha="center", va="top", fontsize=9
    )
    ax.set_title(kernel.name)
    ax.set(xlim=(-3.5 * gap - strip, width + 2 * gap), ylim=(height + 3 * gap, -1.5 * gap - strip))
    ax.set_aspect("equal")
    ax.axis("off")


def _readers(read: Sequence[list[Interval]]) -> list[tuple[list[Interval], str, bool]]:
    """Return what threads read, each once: its colour, and whether several threads read it."""
    found = []
    for lines, colour in zip(read, _COLOURS, strict=False):
        several = read.count(lines) > 1
        one = (lines, style.KERNEL if several else colour, several)
        if one not in found:
            found.append(one)
    return found
