"""A, B and C to scale, with what a thread, a warp or a block reads of A and B for its C.

A stands left, B on top, C in the corner, from the accesses that the kernel really makes. They are
to scale, but for one k, which is drawn wider where it would be a hairline.
Pale is what was fetched, solid what is in use in one step along K. Hue is the level of memory: blue
where A and B were put, orange once copied into shared memory, purple what threads own.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from sgemm_lab.counting.kernel_counts import launch
from sgemm_lab.counting.shared_arrays import shared_parts, shared_shapes
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PALE,
    PANEL_WIDTH,
    colour,
    intervals,
    lattice,
    outline,
    panel,
    words,
)
from sgemm_lab.text import plural, size_text

Group = Literal["thread", "warp", "block"]
Cell = tuple[int, int]
"""Row and column of an element."""

_COARSE = 8
"""Elements between the lines of a grid where each would be too small."""
_LETTER = 16
_GAP = 14
_LARGEST_CELL = 14
_SMALLEST_CELL = 3.5
_LEAST_STEP = 5
"""How wide one k is drawn at least, so that what one step reads is no hairline."""
_LEAST_MARK = 7
"""How large a group of cells is drawn at least."""


@dataclass(frozen=True)
class Reading:
    """What a group of threads reads and owns, as cells of A (M×K), B (K×N) and C (M×N)."""

    fetched: dict[str, set[Cell]] = field(repr=False)
    """Of A and B: what moved for it; of a warp without copies, what one step uses."""
    used: dict[str, set[Cell]] = field(repr=False)
    """Of A and B: what one step along K multiplies."""
    owned: set[Cell] = field(repr=False)
    """Elements of C that the group computes."""
    copied: bool
    """Whether A and B are read from copies in shared memory."""

    def past(self, name: str) -> set[Cell]:
        """Return the elements of A or B in the K tiles before this one: used, and overwritten."""
        if not self.copied:
            return set()
        place = 1 if name == "A" else 0
        lines = {cell[1 - place] for cell in self.fetched[name]}
        first = min((cell[place] for cell in self.fetched[name]), default=0)
        return {(line, k) if place else (k, line) for line in lines for k in range(first)}


def reading(kernel: Kernel, size: Size, group: Group, *, number: int = 0, step: int = 0) -> Reading:
    """Return what the threads of the first block read in step ``step`` along K, and what they own.

    The launch is small enough to draw. ``number`` is the thread's in the block, or the warp's. The
    step is below K; of a kernel without K tiles of a constant width it is inside the first.
    """
    accesses = _accesses(kernel, size)
    first, count = {"thread": (number, 1), "warp": (number * WARP, WARP)}.get(group, (0, 1 << 30))
    mine = [access for access in accesses if first <= access.thread < first + count]
    copied = any(access.array == "As" for access in mine)
    width = kernel.values.get("BK", kernel.values.get("TILE", size[2])) if copied else size[2]
    tile, start = step // width, step // width * width
    read = {
        name: _copies_read(mine, name, kernel, tile, start)
        if copied
        else {access.cell for access in mine if access.array == name}
        for name in ("A", "B")
    }
    used = {
        "A": {cell for cell in read["A"] if cell[1] == step},
        "B": {cell for cell in read["B"] if cell[0] == step},
    }
    if not (used["A"] and used["B"]):
        raise LabError(f"No {group} {number} of '{kernel.name}' reads A and B in step {step}.")
    if copied:
        fetched = {
            name: {access.cell for access in _of_tile(loads, tile)}
            for name in ("A", "B")
            if (loads := [access for access in accesses if access.array == name])
        }
    else:
        fetched = read if group == "thread" else used
    return Reading(fetched, used, {access.cell for access in mine if access.array == "C"}, copied)


def reads(
    title: str,
    name: str | Kernel,
    size: Size,
    group: Group,
    *,
    number: int = 0,
    step: int = 0,
    says: str = "",
) -> Output:
    """Draw what a "thread", a "warp" or a "block" of a kernel reads of A and B, and owns of C.

    Args:
        size: M, N and K of a launch, small enough to draw.
        number: the number of the thread or warp in its block.
        step: the k that is in use.
    """
    kernel = kernel_of(name)
    found = reading(kernel, size, group, number=number, step=step)
    described = _described(kernel, group, found)
    parts, height = matrices(size, found)
    return panel(title, parts, height, described, says)


class _Access(NamedTuple):
    """One element that one thread of the first block loads or stores."""

    thread: int
    array: str
    cell: Cell
    epoch: int
    """Barriers that the block had passed."""
    store: bool


@lru_cache(maxsize=16)
def _accesses(kernel: Kernel, size: Size) -> list[_Access]:
    m, n, k = size
    trace = launch(
        kernel_ptx(kernel),
        kernel.launch_shape(m, n, k),
        np.ones((m, k), np.float32),
        np.ones((k, n), np.float32),
        check_hazards=False,
        trace=True,
        shared_parts=shared_parts(kernel),
    ).trace
    assert trace is not None
    if not trace.complete:
        raise LabError(f"'{kernel.name}' makes too many accesses at {size_text(size)} to be drawn.")
    shapes = {"A": [m, k], "B": [k, n], "C": [m, n], **shared_shapes(kernel)}
    names = [array["name"] for array in trace.arrays]
    columns = {name: column.tolist() for name, column in trace.columns.items()}
    order = ("block", "thread", "array", "element", "epoch", "store")
    return [
        _Access(
            thread,
            names[array],
            divmod(element % math.prod(shape[-2:]), shape[-1]),
            epoch,
            bool(store),
        )
        for block, thread, array, element, epoch, store in zip(
            *(columns[name] for name in order), strict=True
        )
        if block == 0 and (shape := shapes[names[array]])
    ]


def _of_tile(loads: Sequence[_Access], tile: int) -> list[_Access]:
    """Return the accesses of a K tile; those of one K tile lie between the same two barriers."""
    between = sorted({access.epoch for access in loads})
    return [a for a in loads if tile < len(between) and a.epoch == between[tile]]


def _copies_read(
    mine: Iterable[_Access], name: str, kernel: Kernel, tile: int, start: int
) -> set[Cell]:
    """What threads read of ``As`` or ``Bs`` in a K tile that begins at ``start``, as cells."""
    loads = [access for access in mine if access.array == f"{name}s" and not access.store]
    cells = {access.cell for access in _of_tile(loads, tile)}
    # As holds rows × k, or k × rows where the kernel transposes it. Bs holds k × columns.
    sides, values = shared_shapes(kernel).get(f"{name}s", [0, 0]), kernel.values
    turned = sides[-2] == values.get("BK") != values.get("BM", values.get("BK"))
    if name == "B":
        return {(k + start, column) for k, column in cells}
    return {(row, k + start) for k, row in cells} if turned else {(r, k + start) for r, k in cells}


def _described(kernel: Kernel, group: Group, found: Reading) -> str:
    """Say what the drawing shows, for readers who cannot see it."""
    where = "copies in shared memory" if found.copied else "global memory"
    a, b = len(found.used["A"]), len(found.used["B"])
    return (
        f"In '{kernel.name}' a {group} owns {plural(len(found.owned), 'element')} of C. In one "
        f"step along K it reads {plural(a, 'element')} of A and {b:,} of B from {where}."
    )


def matrices(size: Size, found: Reading) -> tuple[list[str], float]:
    """Return the shapes of A, B and C, with what a group reads and owns, and their height."""
    m, n, k = size
    room = PANEL_WIDTH - 2 * _LETTER - _GAP
    cell = min(_LARGEST_CELL, room / (k + n))
    step = max(cell, min(_LEAST_STEP, room / (2 * k)))
    cell = min(cell, (room - k * step) / n)
    left, top = _LETTER, _LETTER
    c_left, c_top = left + k * step + _GAP, top + k * step + _GAP
    level = "shared" if found.copied else "dram"
    parts = []
    for name, x, y, rows, columns, wide, high in (
        ("A", left, c_top, m, k, step, cell),
        ("B", c_left, top, k, n, cell, step),
        ("C", c_left, c_top, m, n, cell, cell),
    ):
        parts.append(_grid(x, y, rows, columns, wide, high))
        if name == "C":
            parts.append(cells_drawn(found.owned, x, y, wide, high, "register", 1.0, _LEAST_MARK))
            parts.append(words(x + columns * wide + 4, y + 12, name, bold=True, size=14))
        else:
            parts.append(cells_drawn(found.past(name), x, y, wide, high, "line", PALE))
            parts.append(cells_drawn(found.fetched[name], x, y, wide, high, level, PALE))
            parts.append(cells_drawn(found.used[name], x, y, wide, high, level, 1.0, _LEAST_MARK))
            parts.append(words(x - 14, y + 12, name, bold=True, size=14))
    return parts, c_top + m * cell + 4


def _grid(x: float, y: float, rows: int, columns: int, wide: float, high: float) -> str:
    """Return the lines between elements, or where these are small, between every eight."""
    down, across = (1 if side >= _SMALLEST_CELL else _COARSE for side in (high, wide))
    lines = lattice(x, y, range(0, rows + 1, down), range(0, columns + 1, across), wide, high)
    return lines + outline(x, y, columns * wide, rows * high, "grid")


def cells_drawn(
    cells: Iterable[Cell],
    x: float,
    y: float,
    wide: float,
    high: float,
    hue: str,
    opacity: float,
    least: float = 0,
) -> str:
    """Draw cells as few rectangles: the runs of each row, joined where rows are alike.

    ``wide`` and ``high`` are the sides of one cell. A rectangle with smaller sides than ``least``
    grows around its middle.
    """
    rows: dict[int, list[int]] = {}
    for row, column in cells:
        rows.setdefault(row, []).append(column)
    runs = {row: tuple(intervals(columns)) for row, columns in rows.items()}
    path = []
    for pattern in dict.fromkeys(runs.values()):
        for first, last in intervals(row for row, own in runs.items() if own == pattern):
            for left, right in pattern:
                across, down = (right - left + 1) * wide, (last - first + 1) * high
                grown = max(0.0, least - max(across, down))
                across, down = across + grown, down + grown
                corner = f"{x + left * wide - grown / 2:g} {y + first * high - grown / 2:g}"
                path.append(f"M{corner}h{across:g}v{down:g}h{-across:g}z")
    return f'<path d="{"".join(path)}" fill="{colour(hue)}" fill-opacity="{opacity:g}"/>'
