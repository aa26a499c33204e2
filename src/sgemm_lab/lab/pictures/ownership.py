"""Who computes what: one number of C as a row of A times a column of B; thread, warp and block."""

from collections.abc import Sequence

from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PALE,
    PANEL_WIDTH,
    box,
    colour,
    lattice,
    outline,
    panel,
    rectangle,
    stroke,
    words,
)
from sgemm_lab.lab.pictures.matrices import cells_drawn, reading
from sgemm_lab.text import plural

_CELL = 20
_LEFT = 18
_GAP = 14
_WARP = 3
"""Number of the warp that is drawn; the thread is in its middle."""
_SIDE = 250
"""Width of the corner of C that is drawn, in px."""
_PITCH = PANEL_WIDTH / WARP


def one_element(
    title: str, row: Sequence[int], column: Sequence[int], step: int, *, says: str = ""
) -> Output:
    """Draw how one element of C is the sum over a row of A and a column of B, up to a step along K.

    Args:
        row: K small whole numbers of A.
        column: K of B.
        step: the k whose product is being added; it and all before it make the sum.
    """
    k, m, n = len(row), 4, 5
    i, j = m // 2, n // 2
    c_left, c_top = _LEFT + k * _CELL + _GAP, _LEFT + k * _CELL + _GAP
    sum_ = sum(a * b for a, b in zip(row[: step + 1], column[: step + 1], strict=True))
    parts: list[str] = []
    for name, x, y, rows, columns in (
        ("A", _LEFT, c_top, m, k),
        ("B", c_left, _LEFT, k, n),
        ("C", c_left, c_top, m, n),
    ):
        parts.append(lattice(x, y, range(rows + 1), range(columns + 1), _CELL, _CELL))
        beside = x + columns * _CELL + 6 if name == "C" else x - 16
        parts.append(words(beside, y + 13, name, bold=True, size=14))
    places = [(_LEFT + at * _CELL, c_top + i * _CELL, value) for at, value in enumerate(row)]
    places_b = [(c_left + j * _CELL, _LEFT + at * _CELL, value) for at, value in enumerate(column)]
    for line in (places, places_b):
        for at, (x, y, value) in enumerate(line):
            now = at == step
            parts.append(rectangle(x, y, _CELL, _CELL, "dram", 1 if now else PALE))
            hue = "bg" if now else "fg"
            middle = x + _CELL / 2
            parts.append(words(middle, y + 14, str(value), hue=hue, anchor="middle", bold=now))
    x, y = c_left + j * _CELL, c_top + i * _CELL
    parts.append(box(x, y, _CELL, _CELL, "register", label=str(sum_), bold=True))
    described = (
        f"A row of A and a column of B, {k} numbers each. Step {step} multiplies {row[step]} by "
        f"{column[step]}; the sum so far is {sum_}."
    )
    return panel(title, parts, c_top + m * _CELL + 4, described, says)


def owns(title: str, name: str | Kernel, *, says: str = "") -> Output:
    """Draw a corner of C in blocks of a kernel, a warp in one of them, and the warp's threads."""
    kernel = kernel_of(name)
    rows, columns = _block_of(kernel)
    size = (rows, columns, 8)
    warp = min(_WARP, kernel.launch_shape(*size).threads // WARP - 1)
    many = reading(kernel, size, "warp", number=warp).owned
    one = reading(kernel, size, "thread", number=warp * WARP + WARP // 2).owned
    cell = _SIDE / (2 * columns)
    wide, high, top = columns * cell, rows * cell, 56
    rows_of_warp = {row for row, _ in many}
    first, dots, bottom = top + min(rows_of_warp) * cell, 26, top + 2 * high
    parts = [
        rectangle(0, top, wide, high, "register", PALE),
        *(
            outline(x * wide + 1, top + y * high, wide - 1, high, "register")
            for x in (0, 1)
            for y in (0, 1)
        ),
        cells_drawn(many, 0, top, cell, cell, "register", 1),
        rectangle(wide / 2 - 46, top + high / 2 - 18, 92, 36, "bg", 1),
        words(wide / 2, top + high / 2 - 3, "this block", bold=True, anchor="middle"),
        words(wide / 2, top + high / 2 + 12, f"{rows} × {columns} of C", anchor="middle"),
        *(
            words(
                (x + 0.5) * wide,
                top + (y + 0.5) * high,
                "another block",
                hue="register",
                anchor="middle",
            )
            for x, y in ((1, 0), (0, 1), (1, 1))
        ),
        stroke(f"M1 {first:g}V{dots + 8}M{wide:g} {first:g}L{PANEL_WIDTH - 2} {dots + 8}", "fg"),
        *(_dot(lane, dots, now=lane == WARP // 2) for lane in range(WARP)),
        words(0, 12, f"a warp: {WARP} threads", bold=True),
        words(WARP // 2 * _PITCH, 12, "a thread"),
    ]
    if len(many) == len(rows_of_warp) * columns:  # a warp is whole rows
        step = len(rows_of_warp) * cell
        lines = (f"M0 {top + n * step:g}h{wide:g}" for n in range(1, round(high / step)))
        parts.insert(1, stroke("".join(lines), "register", thick=0.4))
    described = (
        f"In '{kernel.name}' a thread owns {plural(len(one), 'element')} of C, a warp "
        f"{len(many):,} and a block {rows * columns:,}."
    )
    return panel(title, parts, bottom + 4, described, says)


def _block_of(kernel: Kernel) -> tuple[int, int]:
    """Rows and columns of C that a block of a kernel computes."""
    values = kernel.values
    side = values.get("TILE", 1)
    return values.get("BM", side), values.get("BN", side)


def _dot(lane: int, y: float, *, now: bool) -> str:
    """A thread in the row of a warp."""
    opacity = 1 if now else 0.4
    return (
        f'<circle cx="{(lane + 0.5) * _PITCH:g}" cy="{y:g}" r="4" fill="{colour("register")}" '
        f'fill-opacity="{opacity:g}"/>'
    )
