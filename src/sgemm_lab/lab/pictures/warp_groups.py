"""A cluster that multiplies with warp groups: who copies which part of A and B, and who uses it.

Drawn from a simulated K tile: each element of A holds its row, each of B its column, so what a
copy brings says where it is from.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sgemm_lab.counting.kernel_counts import book_arguments
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import ENTRY, Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PANEL_WIDTH,
    colour,
    drawing,
    outline,
    panel,
    rectangle,
    stroke,
    words,
)
from sgemm_lab.lab.pictures.matrices import PALE
from sgemm_lab.simulator import simulate
from sgemm_lab.text import bytes_text, plural

BLOCKS = 2
"""Blocks that are watched, neighbours in a row of tiles: a cluster, where the kernel has one."""
_K = 8
"""k of one ``wgmma`` in TF32."""
_HALVES = 64
"""FP16 numbers in a row of the 128-byte swizzle: the width of a box of B."""
_LETTER, _GAP = 16, 14
_STAGES_STEP = 2
"""The step that draws shared memory."""


class Part(NamedTuple):
    """Rows of A or columns of B, from ``first`` to ``last``, copied by the thread of one block."""

    matrix: str
    first: int
    last: int
    block: int


class Watched(NamedTuple):
    """What the blocks do in one K tile."""

    copies: dict[Part, list[int]]
    """The blocks that receive each part."""
    columns: dict[tuple[int, int], tuple[int, int]]
    """By block and ``group``, as the kernels number those that multiply: its columns of C."""

    @property
    def of_a(self) -> dict[Part, list[int]]:
        """The copies of A."""
        return {part: into for part, into in self.copies.items() if part.matrix == "A"}


@lru_cache(maxsize=4)
def watched(kernel: Kernel) -> Watched:
    """Simulate one K tile in two neighbouring blocks, whose warp groups multiply."""
    tile = Tile.from_constants(kernel.values)
    m, n, k = tile.bm, BLOCKS * tile.bn, tile.bk
    shape = kernel.launch_shape(m, n, k, sms=BLOCKS)
    # A tells its rows, from 1 on, and B its columns, from -1 on.
    a = np.tile(np.arange(1, m + 1, dtype=np.float32)[:, None], (1, k))
    b = np.tile(-np.arange(1, n + 1, dtype=np.float32), (k, 1))
    result = simulate(
        kernel_ptx(kernel),
        ENTRY,
        shape.grid,
        shape.block,
        book_arguments(shape, a, b),
        shape.shared_bytes,
        check_hazards=False,
        count_requests=False,
        watch=["tile_moves"],
        cooperative=True,
    )
    seen = result.watched["tile_moves"]
    copies: dict[Part, list[int]] = {}
    for copy in seen["copies"]:
        copies.setdefault(_part(copy), []).append(copy["into"])
    columns = {
        (one["block"], one["warpGroup"] - 1): (one["first"], one["last"]) for one in seen["stores"]
    }
    return Watched(copies, dict(sorted(columns.items())))


def _part(copy: Mapping[str, Any]) -> Part:
    """What a copy brings: numbers above 0 are rows of A, from 1 on, below 0 columns of B."""
    matrix = "A" if copy["least"] > 0 else "B"
    first, last = sorted(int(abs(copy[end])) - 1 for end in ("least", "largest"))
    return Part(matrix, first, last, copy["block"])


def warp_group_steps(name: str | Kernel) -> dict[str, Output]:
    """Draw two blocks at work on a K tile: who makes which part of C, the copies, each ``wgmma``.

    The drawings are to scale, one px for an element. They are for ``frames``.
    """
    kernel = kernel_of(name)
    tile, seen = Tile.from_constants(kernel.values), watched(kernel)
    (_, number), (first, last) = next(iter(seen.columns.items()))
    wide, groups = last - first + 1, len(seen.columns) // BLOCKS
    stages, each = kernel.values["STAGES"], tile.bk * (tile.bm + tile.bn) * FLOAT_BYTES
    of_a = "half of the rows of A **for both blocks**" if _multicasts(seen) else "the rows of A"
    whose = " ".join(
        f"Warp group {group} of block {block} has columns {low} to {high} of C."
        for (block, group), (low, high) in seen.columns.items()
    )
    steps = [
        (
            "the tiles",
            whose,
            f"A block computes {tile.bm} × {tile.bn} of C, with "
            f"**{plural(groups, 'warp group')}** to multiply, {wide} columns each, and another to "
            "copy.",
        ),
        (
            "the copies",
            _copies_in_words(seen),
            f"A K tile is {tile.bk} deep. One thread of each block copies {of_a}, and its own "
            f"**{tile.bn} columns** of B.",
        ),
        (
            "the stages",
            f"A block has {stages} stages: one warp group fills them, the others multiply.",
            f"**{plural(stages, 'stage')}** of {bytes_text(each)} in shared memory. A group that "
            "multiplies reads all of **As** and its own columns of **Bs**.",
        ),
        *(
            (
                f"k = {k} to {k + _K - 1}",
                f"Warp group {number} of block 0 multiplies columns {first} to {last} of B.",
                f"One `wgmma` of one group: **{tile.bm} rows of A**, from shared memory, times "
                f"**{wide} columns of B**, in its registers.",
            )
            for k in range(0, tile.bk, _K)
        ),
    ]
    return {
        step: panel(
            step, drawing(_drawn(tile, seen, stages, at), _height(tile), described), described, says
        )
        for at, (step, described, says) in enumerate(steps)
    }


def _multicasts(seen: Watched) -> bool:
    return all(len(into) == BLOCKS for into in seen.of_a.values())


def _copies_in_words(seen: Watched) -> str:
    return " ".join(
        f"Block {part.block} copies rows {part.first} to {part.last} of A for "
        f"{'both blocks' if len(into) > 1 else 'itself'}."
        for part, into in seen.of_a.items()
    )


def _height(tile: Tile) -> float:
    return _LETTER + tile.bk + _GAP + tile.bm + 4


def _drawn(tile: Tile, seen: Watched, stages: int, step: int) -> Iterator[str]:
    return _block(seen, stages) if step == _STAGES_STEP else _cluster(tile, seen, step)


def _block(seen: Watched, stages: int) -> Iterator[str]:
    """Draw the warp groups of block 0, and between them the stages in shared memory."""
    groups = {number: columns for (block, number), columns in seen.columns.items() if not block}
    gap = 8
    wide = (PANEL_WIDTH + gap) / stages - gap
    yield outline(80, 20, 180, 36)
    yield words(170, 43, "one thread of a group copies", anchor="middle")
    yield words(170, 84, "▼ copied when emptied", anchor="middle", bold=True)
    for stage in range(stages):
        x = stage * (wide + gap)
        yield words(x + wide / 2, 116, f"stage {stage}", anchor="middle")
        half = wide / len(groups)
        for left, top, width, high, text in (
            (x, 124, wide, 64, "As"),
            *((x + i * half, 192, half, 32, f"Bs {group}") for i, group in enumerate(groups)),
        ):
            yield rectangle(left, top, width, high, "shared", PALE)
            yield outline(left, top, width, high, "shared")
            yield words(left + width / 2, top + high / 2 + 5, text, anchor="middle")
    yield words(170, 252, "▼ multiplied when filled", anchor="middle", bold=True)
    each = (PANEL_WIDTH + gap) / len(groups) - gap
    for i, (number, (first, last)) in enumerate(groups.items()):
        x = i * (each + gap)
        yield rectangle(x, 268, each, 36, "register", PALE)
        yield outline(x, 268, each, 36, "register")
        yield words(x + each / 2, 291, f"group {number}: columns {first}–{last}", anchor="middle")


def _cluster(tile: Tile, seen: Watched, step: int) -> Iterator[str]:
    """Draw A, B and C in one of the steps: 0 who makes what, 1 the copies, from 3 on ``wgmma``."""
    left = top = _LETTER
    x, y = left + tile.bk + _GAP, top + tile.bk + _GAP
    for letter, at in (("A", (left - 14, y + 12)), ("B", (x - 14, top + 12))):
        yield words(*at, letter, bold=True, size=14)
    yield words(x + BLOCKS * tile.bn + 4, y + 12, "C", bold=True, size=14)
    level = PALE if step else 0.0
    yield rectangle(left, y, tile.bk, tile.bm, "shared", level)
    yield rectangle(x, top, BLOCKS * tile.bn, tile.bk, "shared", level)
    yield outline(left, y, tile.bk, tile.bm)
    for (block, number), (first, last) in seen.columns.items():
        wide, middle = last - first + 1, x + (first + last + 1) / 2
        now = step > _STAGES_STEP and (block, number) == next(iter(seen.columns))
        if step != 1:
            yield rectangle(x + first, y, wide, tile.bm, "register", 0.7 if now else PALE / 2)
            ink = "bg" if now else "fg"
            yield words(middle, y + tile.bm / 2, f"group {number}", anchor="middle", hue=ink)
            yield words(middle, y + tile.bm / 2 + 16, f"of block {block}", anchor="middle", hue=ink)
            yield outline(x + first, y, wide, tile.bm, "register")
        if now:
            k = (step - _STAGES_STEP - 1) * _K
            yield rectangle(left + k, y, _K, tile.bm, "shared")
            yield rectangle(x + first, top + k, wide, _K, "register")
    for block in range(BLOCKS):
        yield outline(x + block * tile.bn, top, tile.bn, tile.bk)
        yield outline(x + block * tile.bn, y, tile.bn, tile.bm, "register")
        if step == 1:
            yield words(x + (block + 0.5) * tile.bn, y + 16, f"↑ block {block}", anchor="middle")
    if step == 1:
        for part, into in seen.of_a.items():
            high = part.last - part.first + 1
            yield outline(left, y + part.first, tile.bk, high, "fg")
            text = f"← block {part.block}, {'for both blocks' if len(into) > 1 else 'for itself'}"
            shift = 0 if high < tile.bm else 20 * part.block
            yield words(x + 8, y + part.first + high / 2 + shift, text, bold=True)


def warp_group_rows(title: str, name: str | Kernel) -> Output:
    """Draw the tiles of a block whose warp groups share the columns of C and part its rows."""
    values = kernel_of(name).values
    bm, bn, bk = (values[one] for one in ("BM", "BN", "BK"))
    groups = values["THREADS"] // 128 - 1
    rows = bm // groups
    left = top = _LETTER
    scale = (PANEL_WIDTH - left - _GAP - 1) / (bk + bn)
    x, y = left + bk * scale + _GAP, top + bk * scale + _GAP
    shapes = [
        words(left - 14, y + 12, "A", bold=True, size=14),
        words(x - 14, top + 12, "B", bold=True, size=14),
    ]
    for box in range(bn // _HALVES):
        at, wide = x + box * _HALVES * scale, _HALVES * scale
        shapes += [
            rectangle(at, top, wide, bk * scale, "shared", PALE),
            outline(at, top, wide, bk * scale, "shared"),
            words(at + wide / 2, top + bk * scale / 2 + 4, f"box {box}", anchor="middle"),
        ]
    for group in range(groups):
        at, high = y + group * rows * scale, rows * scale
        shapes += [
            rectangle(left, at, bk * scale, high, "shared", PALE),
            outline(left, at, bk * scale, high, "shared"),
            rectangle(x, at, bn * scale, high, "register", PALE),
            outline(x, at, bn * scale, high, "register"),
            words(x + bn * scale / 2, at + high / 2 + 4,
                  f"group {group}: {rows} rows of C", anchor="middle"),
        ]  # fmt: skip
    described = (
        f"A K tile: {bm} × {bk} of A and {bk} × {bn} of B, in {bn // _HALVES} boxes. Each of "
        f"{groups} warp groups computes {rows} × {bn} of C."
    )
    says = f"A block computes **{bm} × {bn}** of C, a warp group **{rows}** of its rows"
    return panel(title, drawing(shapes, y + bm * scale + 4, described), described, says)


def multicast(title: str, name: str | Kernel) -> Output:
    """Draw how the rows of A of one K tile come from L2 into the shared memory of two blocks."""
    kernel = kernel_of(name)
    tile, seen = Tile.from_constants(kernel.values), watched(kernel)
    left, wide, right, narrow = 20, 96, 226, 40
    high, low = 150.0, 72.0  # px of all rows of A, in L2 and in a block
    tops = [20 + block * (low + 16) for block in range(BLOCKS)]
    top = (tops[-1] + low + 20 - high) / 2
    parts = [words(left, top - 8, "A in L2"), words(right, 12, "shared memory")]
    for block, y in enumerate(tops):
        parts.append(words(right + narrow + 8, y + low / 2 + 4, f"block {block}"))
    read = 0
    for part, into in seen.of_a.items():
        rows, begin = part.last - part.first + 1, part.first / tile.bm
        share = rows / tile.bm
        read += rows * tile.bk * FLOAT_BYTES
        y = top + begin * high
        middle = y + share * high * (0.5 if share < 1 else (1 + part.block) / (1 + BLOCKS))
        parts += [
            rectangle(left, y, wide, share * high, "l2", PALE if share < 1 else PALE / BLOCKS),
            outline(left, y, wide, share * high, "l2"),
            words(
                left + wide / 2,
                middle + 4,
                f"block {part.block}{' copies' if share < 1 else ': all'}",
                anchor="middle",
            ),
        ]
        for block in into:
            there = tops[block] + begin * low
            end = there + share * low / 2
            parts += [
                rectangle(right, there, narrow, share * low, "shared", PALE),
                outline(right, there, narrow, share * low, "shared"),
                stroke(f"M{left + wide + 2} {middle:g}L{right - 6} {end:g}", "shared", thick=2),
                f'<circle cx="{right - 5}" cy="{end:g}" r="4" fill="{colour("shared")}"/>',
            ]
    described = _copies_in_words(seen)
    says = f"L2 delivers **{bytes_text(read)}** of A for each K tile of both blocks"
    return panel(title, drawing(parts, tops[-1] + low + 4, described), described, says)
