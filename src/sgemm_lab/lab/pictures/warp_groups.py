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
    PALE,
    box,
    colour,
    outline,
    panel,
    rectangle,
    stroke,
    words,
)
from sgemm_lab.simulator import simulate
from sgemm_lab.text import bytes_text

BLOCKS = 2
"""Blocks that are watched, neighbours in a row of tiles: a cluster, where the kernel has one."""
_K = 8
"""k of one ``wgmma`` in TF32."""
_BAND = 16
"""Columns of C of a warp."""
_LETTER = 20
_TOP, _BETWEEN, _PER_K, _PER_COLUMN, _DOWN = 34, 34, 3, 1.25, 320
"""px: above B, between the matrices, of a k, of a column of B, of all rows of A."""


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
    """Draw a block at work on a K tile: the copies, then each ``wgmma`` of one warp group.

    They are for ``frames``.
    """
    kernel = kernel_of(name)
    tile = Tile.from_constants(kernel.values)
    groups = [columns for (block, _), columns in watched(kernel).columns.items() if not block]
    first, last = groups[0]
    wide = last - first + 1
    steps = [
        (
            "the copies",
            f"One thread copies {tile.bk} k of A and of B. Rows are contiguous in memory.",
            f"One thread copies **{tile.bk} values of k** of A and of B into shared memory.",
        ),
        *(
            (
                f"k = {k} to {k + _K - 1}",
                f"{wide} columns of B times {tile.bm} rows of A, k {k} to {k + _K - 1}.",
                f"One `wgmma`: **{wide} columns of B**, from registers, times "
                f"**{tile.bm} rows of A**, from shared memory.",
            )
            for k in range(0, tile.bk, _K)
        ),
    ]
    height = _TOP + _PER_K * tile.bk + _BETWEEN + _DOWN + 26
    return {
        step: panel(step, _tile_at_work(tile, groups, at), height, described, says)
        for at, (step, described, says) in enumerate(steps)
    }


def _tile_at_work(tile: Tile, groups: list[tuple[int, int]], step: int) -> Iterator[str]:
    """Draw A, B and C in a step: 0 the copies, then each ``wgmma``."""
    deep, across = _PER_K * tile.bk, _PER_COLUMN * tile.bn
    x, y = _LETTER + deep + 60, _TOP + deep + _BETWEEN
    yield words(_LETTER, y - 20, "A", bold=True, size=14)
    yield words(x - 20, _TOP - 8, "B", bold=True, size=14)
    yield words(x, y - 8, "C by warp", bold=True)
    yield from _contiguous(_LETTER, y + _DOWN + 8, deep, y + _DOWN + 24)
    yield from _contiguous(x, _TOP - 8, across, _TOP - 16)
    yield rectangle(_LETTER, y, deep, _DOWN, "shared", PALE)
    yield rectangle(x, _TOP, across, deep, "shared", PALE)
    for k in range(0, tile.bk, _K):
        at = k * _PER_K
        yield words(_LETTER + at, y - 4, f"{k}", anchor="middle")
        yield words(x - 5, _TOP + at + 8, f"{k}", anchor="end")
    yield words(_LETTER - 8, y - 4, "k", hue="muted", anchor="end")
    yield words(x - 28, _TOP + 8, "k", hue="muted", anchor="end")
    for first, last in groups:
        for band in range(first, last + 1, _BAND):
            mine = step if first == groups[0][0] else 0
            ink = "bg" if 2 * mine * _K > tile.bk else "fg"
            opacity = mine * _K / tile.bk * 0.9
            left, wide = x + band * _PER_COLUMN, _BAND * _PER_COLUMN
            yield box(left, y, wide, _DOWN, "register", opacity, f"{band // _BAND}", ink=ink)
    if step:
        k, (first, last) = (step - 1) * _K, groups[0]
        left, wide = x + first * _PER_COLUMN, (last - first + 1) * _PER_COLUMN
        yield rectangle(left, _TOP + k * _PER_K, wide, _K * _PER_K, "register")
        yield rectangle(_LETTER + k * _PER_K, y, _K * _PER_K, _DOWN, "shared")
    yield outline(_LETTER, y, deep, _DOWN)
    yield outline(x, _TOP, across, deep)


def _contiguous(x: float, y: float, wide: float, label: float) -> Iterator[str]:
    """Draw the direction in which memory runs along a matrix."""
    yield stroke(f"M{x:g} {y:g}h{wide:g}m-6 -4l6 4l-6 4", "muted", thick=1.5)
    yield words(x + wide / 2, label, "contiguous", hue="muted", anchor="middle")


def _copies_in_words(seen: Watched) -> str:
    return " ".join(
        f"Block {part.block} copies rows {part.first} to {part.last} of A for "
        f"{'both blocks' if len(into) > 1 else 'itself'}."
        for part, into in seen.of_a.items()
    )


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
        middle = y + share * high / 2
        label = f"block {part.block} copies" if share < 1 else "read twice" * (not part.block)
        opacity = PALE if share < 1 else PALE / BLOCKS
        parts.append(box(left, y, wide, share * high, "l2", opacity))
        parts.append(words(left + wide / 2, middle + 4, label, anchor="middle"))
        for block in into:
            there = tops[block] + begin * low
            end = there + share * low / 2
            parts += [
                box(right, there, narrow, share * low, "shared"),
                stroke(f"M{left + wide + 2} {middle:g}L{right - 6} {end:g}", "shared", thick=2),
                f'<circle cx="{right - 5}" cy="{end:g}" r="4" fill="{colour("shared")}"/>',
            ]
    described = _copies_in_words(seen)
    says = f"L2 delivers **{bytes_text(read)}** of A for each K tile of both blocks"
    return panel(title, parts, tops[-1] + low + 4, described, says)
