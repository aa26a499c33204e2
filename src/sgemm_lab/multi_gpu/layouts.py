"""Layouts: distributions of A, B and C over the GPUs, and their plans.

Each accepts M, N, K of 1 or more and any number of GPUs. With fewer rows than GPUs some GPUs are
idle; empty tiles are omitted from the plan.
"""

import itertools
import math
from collections.abc import Callable

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size
from sgemm_lab.multi_gpu.plan import Multiply, Plan, Receive, Share, Step, Tile

Range = tuple[int, int]
"""Start and length."""


def rows(size: Size, gpus: int) -> Plan:
    """Cut A and C by rows, and B by columns; the parts of B rotate through the GPUs.

    A GPU keeps its rows of A. It starts with its own part of B and continues with that of the next
    GPU, and so on. Each part gives a separate tile of C, so no product accumulates.
    """
    m, n, k = _checked(size, gpus)
    bands, parts = _cuts(m, gpus), _cuts(n, gpus)
    builders = [_Builder() for _ in range(gpus)]
    for gpu, builder in enumerate(builders):
        builder.own("A", _of_a(bands[gpu], (0, k)))
        builder.own("B", _of_b((0, k), parts[gpu]))
    for turn in range(gpus):
        for gpu, builder in enumerate(builders):
            source = (gpu + turn) % gpus
            buffer = f"got{turn % 2}" if turn else "B"
            tile = _of_b((0, k), parts[source])
            if not bands[gpu][1] or not tile.elements:
                continue
            if turn:
                builder.receive(turn - 1, source, "B", buffer, tile)
            c = Tile("C", bands[gpu][0], tile.column, bands[gpu][1], tile.columns)
            builder.multiply(turn, "A", buffer, f"C{turn}", c, (0, k))
    return _plan("rows", size, (gpus, 1), builders)


def summa(size: Size, gpus: int) -> Plan:
    """Cut all three matrices into tiles; broadcast strips of K along rows and columns of GPUs.

    The GPUs form the squarest grid. The owner of a strip of A sends it along its row of GPUs, the
    owner of a strip of B along its column; then all multiply them. Source: R. van de Geijn and
    J. Watts, "SUMMA: scalable universal matrix multiplication algorithm", 1997.
    """
    m, n, k = _checked(size, gpus)
    down, across = squarest_grid(gpus)
    strips = _cuts(k, math.lcm(down, across))
    down_cuts, across_cuts = _cuts(m, down), _cuts(n, across)
    builders = [_Builder() for _ in range(gpus)]
    turn = 0
    for number, strip in enumerate(strips):
        if not strip[1]:
            continue
        column, row = number * across // len(strips), number * down // len(strips)
        for gpu, builder in enumerate(builders):
            i, j = divmod(gpu, across)
            a, b = _of_a(down_cuts[i], strip), _of_b(strip, across_cuts[j])
            suffix = {True: f"{number}", False: f" got{turn % 2}"}
            buffers = f"A{suffix[j == column]}", f"B{suffix[i == row]}"
            if j == column:
                builder.own(buffers[0], a)
            if i == row:
                builder.own(buffers[1], b)
            if not a.rows or not b.columns:
                continue
            if j != column:
                builder.receive(turn, i * across + column, f"A{number}", buffers[0], a)
            if i != row:
                builder.receive(turn, row * across + j, f"B{number}", buffers[1], b)
            c = Tile("C", *(down_cuts[i][0], across_cuts[j][0]), a.rows, b.columns)
            builder.multiply(turn + 1, *buffers, "C", c, strip)
        turn += 1
    return _plan("summa", size, (down, across), builders)


def cannon(size: Size, gpus: int) -> Plan:
    """Cut all three matrices in tiles on a square of GPUs, A and B skewed; tiles go to neighbours.

    GPU (i, j) of q×q begins with A's tile (i, i+j) and B's (i+j, j), counted cyclically. After each
    product A's tiles go one GPU to the left and B's one up. Source: L. E. Cannon, "A cellular
    computer to implement the Kalman filter algorithm", 1969.
    """
    m, n, k = _checked(size, gpus)
    side = math.isqrt(gpus)
    if side * side != gpus:
        raise LabError(
            f"Cannon's layout needs a square number of GPUs, and {gpus} is not one. "
            f"Take {side * side} or {(side + 1) ** 2}, or the layout 'rows' or 'summa'."
        )
    rows_cuts, columns_cuts, strips = _cuts(m, side), _cuts(n, side), _cuts(k, side)

    def of_a(i: int, j: int, turn: int) -> Tile:
        return _of_a(rows_cuts[i], strips[(i + j + turn) % side])

    def of_b(i: int, j: int, turn: int) -> Tile:
        return _of_b(strips[(i + j + turn) % side], columns_cuts[j])

    def wants_a(i: int, j: int, turn: int) -> bool:
        """Whether GPU (i, j) multiplies A's tile of this turn or forwards it."""
        multiplies = of_a(i, j, turn).elements > 0 and columns_cuts[j][1] > 0
        return multiplies or (turn + 1 < side and wants_a(i, (j - 1) % side, turn + 1))

    def wants_b(i: int, j: int, turn: int) -> bool:
        multiplies = of_b(i, j, turn).elements > 0 and rows_cuts[i][1] > 0
        return multiplies or (turn + 1 < side and wants_b((i - 1) % side, j, turn + 1))

    builders = [_Builder() for _ in range(gpus)]
    for gpu, builder in enumerate(builders):
        i, j = divmod(gpu, side)
        builder.own("A", of_a(i, j, 0))
        builder.own("B", of_b(i, j, 0))
    for turn in range(side):
        place = f" got{turn % 2}" if turn else ""
        before = f" got{(turn - 1) % 2}" if turn > 1 else ""
        for gpu, builder in enumerate(builders):
            i, j = divmod(gpu, side)
            a, b = of_a(i, j, turn), of_b(i, j, turn)
            if turn and a.elements and wants_a(i, j, turn):
                right = i * side + (j + 1) % side
                builder.receive(turn - 1, right, f"A{before}", f"A{place}", a)
            if turn and b.elements and wants_b(i, j, turn):
                below = (i + 1) % side * side + j
                builder.receive(turn - 1, below, f"B{before}", f"B{place}", b)
            if a.elements and b.elements:
                c = Tile("C", a.row, b.column, a.rows, b.columns)
                builder.multiply(turn, f"A{place}", f"B{place}", "C", c, (a.column, a.columns))
    return _plan("cannon", size, (side, side), builders)


LAYOUTS: dict[str, Callable[[Size, int], Plan]] = {"rows": rows, "summa": summa, "cannon": cannon}


def make_plan(layout: str, size: Size, gpus: int) -> Plan:
    """Return the plan of one of ``LAYOUTS``.

    Raises:
        LabError: the layout is unknown, or does not support the arguments.
    """
    if layout not in LAYOUTS:
        raise LabError(f"There is no layout '{layout}'. Take one of {', '.join(LAYOUTS)}.")
    return LAYOUTS[layout](size, gpus)


def layouts(gpus: int) -> tuple[str, ...]:
    """Return the layouts for a number of GPUs, the fastest with cuBLAS first."""
    square = gpus > 1 and math.isqrt(gpus) ** 2 == gpus
    return ("cannon", "rows") if square else ("rows",)


def squarest_grid(gpus: int) -> tuple[int, int]:
    """Return rows and columns of the squarest grid, with rows ≤ columns."""
    down = next(side for side in range(math.isqrt(gpus), 0, -1) if gpus % side == 0)
    return down, gpus // down


class _Builder:
    """Build a ``Share`` step by step."""

    def __init__(self) -> None:
        self._own: dict[str, Tile] = {}
        self._results: dict[str, Tile] = {}
        self._steps: list[Step] = []

    def own(self, buffer: str, tile: Tile) -> None:
        if tile.elements:
            self._own[buffer] = tile

    def multiply(self, turn: int, a: str, b: str, c: str, tile: Tile, terms: Range) -> None:
        size = (tile.rows, tile.columns, terms[1])
        adds = c in self._results
        self._results[c] = tile
        self._steps.append(Multiply(turn, a, b, c, size, terms[0], adds))

    def receive(self, turn: int, source: int, its: str, buffer: str, tile: Tile) -> None:
        self._steps.append(Receive(turn, source, its, buffer, tile))

    def share(self) -> Share:
        # Products first within a round; sorted() is stable.
        order = sorted(self._steps, key=lambda s: (s.round, not isinstance(s, Multiply)))
        return Share(self._own, self._results, tuple(order))


def _plan(layout: str, size: Size, grid: tuple[int, int], builders: list[_Builder]) -> Plan:
    return Plan(layout, size, grid, tuple(builder.share() for builder in builders))


def _cuts(length: int, parts: int) -> list[Range]:
    """Cut a length into parts whose sizes differ by at most 1; some may be empty."""
    ends = [part * length // parts for part in range(parts + 1)]
    return [(first, end - first) for first, end in itertools.pairwise(ends)]


def _of_a(rows_: Range, terms: Range) -> Tile:
    return Tile("A", rows_[0], terms[0], rows_[1], terms[1])


def _of_b(terms: Range, columns: Range) -> Tile:
    return Tile("B", terms[0], columns[0], terms[1], columns[1])


def _checked(size: Size, gpus: int) -> Size:
    if min(size) < 1:
        raise LabError(f"M, N and K must be 1 or more, not {', '.join(map(str, size))}.")
    if gpus < 1:
        raise LabError(f"A plan needs at least 1 GPU, not {gpus}.")
    return size
