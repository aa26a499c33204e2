"""Which SM multiplies which K tiles of which output tile."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from sgemm_lab.counting.kernel_counts import book_arguments
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.kernel import ENTRY, Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PALE,
    PANEL_WIDTH,
    outline,
    panel,
    rectangle,
    stroke,
    words,
)
from sgemm_lab.simulator import simulate
from sgemm_lab.text import plural

WINDOWS = 3
"""Windows of K in every tile of the launch that is watched: few enough to be drawn one by one."""
_ROW = 44
_BAR = 22
_LEFT = 46
_RIGHT = 16
_LABEL = 40  # px of "tile 1"


class Piece(NamedTuple):
    """A window of a tile that an SM multiplies; both are counted from 0."""

    tile: int
    window: int


def shares_of(kernel: Kernel, tiles: int, sms: int, windows: int = WINDOWS) -> list[list[Piece]]:
    """Simulate a row of tiles on so many SMs; return what each multiplies, in order.

    A is zero, and each number of B encodes its tile and its window. So what a thread reads of
    ``Bs`` says what it multiplies: a window that is copied and never read does not count. Blocks
    that each compute one tile go to the SMs in turn.
    """
    return [list(share) for share in _shares(kernel, tiles, sms, windows)]


@lru_cache(maxsize=8)
def _shares(kernel: Kernel, tiles: int, sms: int, windows: int) -> tuple[tuple[Piece, ...], ...]:
    tile = Tile.from_constants(kernel.values)
    m, n, k = tile.bm, tiles * tile.bn, windows * tile.bk
    shape = kernel.launch_shape(m, n, k, sms=sms)
    if shape.grid not in ((sms, 1), (tiles, 1)):
        raise LabError(
            f"The kernel '{kernel.name}' has neither one block for each SM nor one for each tile: "
            f"its grid for {plural(tiles, 'tile')} and {plural(sms, 'SM')} is "
            f"{shape.grid[0]}×{shape.grid[1]}."
        )
    down, across = np.arange(k)[:, None] // tile.bk, np.arange(n)[None, :] // tile.bn
    result = simulate(
        kernel_ptx(kernel),
        ENTRY,
        shape.grid,
        shape.block,
        book_arguments(
            shape,
            np.zeros((m, k), np.float32),
            (1 + across * windows + down).astype(np.float32),
        ),
        shape.shared_bytes,
        check_hazards=False,
        count_requests=False,
        watch=["shared_reads"],
        cooperative=True,
    )
    reads = dict(result.watched["shared_reads"])
    return tuple(
        tuple(
            Piece(*divmod(code - 1, windows))
            for block in range(sm, shape.grid[0], sms)
            for code in reads.get(block, ())
        )
        for sm in range(sms)
    )


def k_split(
    title: str,
    name: str | Kernel,
    *,
    tiles: int = 4,
    sms: int = 3,
    windows: int = WINDOWS,
) -> Output:
    """Draw which K tiles of a row of tiles of C each SM multiplies, with one block on each SM.

    ``windows`` is how many K tiles a tile of C has. An arrow goes from the SM that finishes its
    part of a cut tile first to the one that adds it.
    """
    kernel = kernel_of(name)
    shares = shares_of(kernel, tiles, sms, windows)
    most = max(map(len, shares))
    # Panels have an axis in common: it holds the busiest SM where tiles stay whole.
    wide = (PANEL_WIDTH - _LEFT - _RIGHT) / max(most, -(-tiles // sms) * windows)
    parts = []
    for number, share in enumerate(shares):
        y = number * _ROW + 2
        parts.append(words(0, y + 16, f"SM {number + 1}"))
        parts += _bars(share, y, wide) or [words(_LEFT, y + 16, "idle", hue="muted")]
    parts += _flags(shares, wide)
    end = _LEFT + most * wide
    height = sms * _ROW + 10
    parts.append(rectangle(end, 0, 1.5, height - 20, "fg"))
    parts.append(words(end, height - 4, plural(most, "K tile"), anchor="end"))
    described = " ".join(
        f"SM {number + 1} {_in_words(share)}." for number, share in enumerate(shares)
    )
    return panel(title, parts, height, described)


def _bars(share: Sequence[Piece], y: float, wide: float) -> list[str]:
    """Draw one SM's K tiles, those of one tile of C framed and named, in that tile's colour."""
    parts, x = [], float(_LEFT)
    for tile, pieces in groupby(share, key=lambda piece: piece.tile):
        count = len(list(pieces))
        hue = ("register", "shared", "kernel", "dram")[tile % 4]
        for _ in range(count):
            parts.append(rectangle(x + 1.5, y + 1.5, wide - 3, _BAR - 3, hue, PALE))
            x += wide
        left, width = x - count * wide, count * wide
        parts.append(outline(left + 0.5, y, width - 1, _BAR, hue))
        name = f"tile {tile + 1}" if wide > _LABEL else f"{tile + 1}"
        middle = left + ((count - 1) // 2 + 0.5) * wide  # of a window: no line crosses the name
        parts.append(words(middle, y + 15, name, anchor="middle", bold=True))
    return parts


def _flags(shares: Sequence[Sequence[Piece]], wide: float) -> Iterator[str]:
    """Draw an arrow from the part of a tile that is done first to the SM that waits for it."""
    ends = {
        (piece.tile, sm): at + 1
        for sm, share in enumerate(shares)
        for at, piece in enumerate(share)
    }
    for (tile, sm), done in ends.items():
        later = ends.get((tile, sm + 1), 0)
        if later > done:
            x, y, to = _LEFT + done * wide - 8, sm * _ROW + 24, _LEFT + later * wide - 8
            yield stroke(f"M{x:g} {y}v14H{to:g}v5m-4 -4l4 4l4 -4", "fg", thick=1.5)
            yield words(x + 6, y + 11, "flag")


def _in_words(share: Sequence[Piece]) -> str:
    runs = [
        (tile, len(list(pieces))) for tile, pieces in groupby(share, key=lambda piece: piece.tile)
    ]
    said = " and ".join(f"{plural(count, 'K tile')} of tile {tile + 1}" for tile, count in runs)
    return f"multiplies {said}" if said else "is idle"
