"""A cluster that multiplies with warp groups: who copies which part of A and B, and who uses it.

Drawn from a simulated K tile: each element of A holds its row, each of B its column, so what a
copy brings says where it is from.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
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
    PANEL_WIDTH,
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
_LANE = 5
"""The lane whose numbers of B are marked."""
_LETTER = 16
_TOP_OF_A, _BETWEEN, _PER_K, _PER_COLUMN = 22, 34, 3, 2
"""px: above A, between the matrices, of a k, of a column of B."""


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

    Drawn as ``wgmma`` multiplies, transposed: columns of B and C go down, rows of A and C across.
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
            f"One thread copies {tile.bk} k of A and of B.",
            f"One thread copies a K tile of **{tile.bk} k** of A and of B into shared memory.",
        ),
        *(
            (
                f"k = {k} to {k + _K - 1}",
                f"k {k} to {k + _K - 1} of {wide} columns of B times those of {tile.bm} rows of A.",
                f"One `wgmma`: **{wide} columns of B**, in registers, times **{tile.bm} rows of "
                f"A**, in shared memory. Dots: what lane {_LANE} of warp 0 reads.",
            )
            for k in range(0, tile.bk, _K)
        ),
    ]
    height = _TOP_OF_A + _PER_K * tile.bk + _BETWEEN + _PER_COLUMN * tile.bn + 4
    return {
        step: panel(step, _tile_at_work(tile, groups, at), height, described, says)
        for at, (step, described, says) in enumerate(steps)
    }


def _tile_at_work(tile: Tile, groups: list[tuple[int, int]], step: int) -> Iterator[str]:
    """Draw B, A and C, transposed, in a step: 0 the copies, then each ``wgmma``."""
    deep = _PER_K * tile.bk
    x, y = _LETTER + deep + _BETWEEN, _TOP_OF_A + deep + _BETWEEN
    per_row = (PANEL_WIDTH - x - 2) / tile.bm
    across, down = tile.bm * per_row, tile.bn * _PER_COLUMN
    yield words(0, y - 18, "Bᵀ", bold=True, size=14)
    yield words(x, _TOP_OF_A - 8, "Aᵀ", bold=True, size=14)
    yield words(x + across, _TOP_OF_A - 8, f"{tile.bm} rows of A", anchor="end")
    yield words(x, y - 8, "Cᵀ", bold=True, size=14)
    yield words(x + across, y - 8, f"{tile.bn} columns of C", anchor="end")
    yield rectangle(_LETTER, y, deep, down, "shared", PALE)
    yield rectangle(x, _TOP_OF_A, across, deep, "shared", PALE)
    for k in range(0, tile.bk, _K):
        at = k * _PER_K
        yield words(_LETTER + at, y - 4, f"{k}", anchor="middle")
        yield words(x - 5, _TOP_OF_A + at + 8, f"{k}", anchor="end")
    yield words(_LETTER + 10, y - 18, "k", hue="muted")
    yield words(x - 28, _TOP_OF_A + 8, "k", hue="muted", anchor="end")
    for first, last in groups:
        for band in range(first, last + 1, _BAND):
            top, high = y + band * _PER_COLUMN, _BAND * _PER_COLUMN
            mine = step if first == groups[0][0] else 0
            ink = "bg" if 2 * mine * _K > tile.bk else "fg"
            said = f"warp {band // _BAND}" if band else f"warp 0: {_BAND} columns"
            opacity = mine * _K / tile.bk * 0.9
            yield box(x, top, across, high, "register", opacity, said, ink=ink)
    if step:
        k, (first, last) = (step - 1) * _K, groups[0]
        high = (last - first + 1) * _PER_COLUMN
        yield rectangle(
            _LETTER + k * _PER_K, y + first * _PER_COLUMN, _K * _PER_K, high, "register"
        )
        yield rectangle(x, _TOP_OF_A + k * _PER_K, across, _K * _PER_K, "shared")
        group, t = divmod(_LANE, 4)
        for column, own in product((group, group + 8), (t, t + 4)):
            left, top = _LETTER + (k + own) * _PER_K - 1, y + column * _PER_COLUMN - 1
            yield rectangle(left, top, _PER_K + 2, _PER_COLUMN + 2, "bg")
    yield outline(_LETTER, y, deep, down)
    yield outline(x, _TOP_OF_A, across, deep)


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
        label = f"block {part.block} copies" if share < 1 else "copied twice" * (not part.block)
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
