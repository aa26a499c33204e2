"""Find the launch of a matrix product by trial.

For a file without host code, candidates for the block come from the file, and those for the tile
from block, template and shared arrays. The first launch with a correct C and no hazard is taken; a
kernel that is wrong with all candidates has none.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product as pairs

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.launch import Prepared, host_blocks
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Size
from sgemm_lab.simulator.limits import MAX_THREADS
from sgemm_lab.text import size_text

SECONDS = 4.0
"""How long launches are tried, in time of the processor."""

MOST_BLOCKS = 6
"""Blocks of threads along x alone that are tried."""

DEPTH = 64
"""K of a trial: what usual windows divide."""

_TILES = range(8, 257)
_SQUARES = (16, 32)
_FLOAT = 4


def launch_by_trial(
    prepared: Prepared, is_right: Callable[[Prepared, Size], bool]
) -> Prepared | None:
    """Return a kernel with the first launch that makes it right; None where none does."""
    end = time.process_time() + SECONDS
    for grid, block, size in _candidates(prepared):
        if time.process_time() > end:
            return None
        tried = replace(prepared, kernel=replace(prepared.kernel, grid=grid, block=block))
        try:
            right = is_right(tried, size)
        except LabError:
            continue
        if right:
            note = (
                f"Launch, found by trial: a grid of {' × '.join(grid)} blocks of "
                f"{' × '.join(block)} threads makes C right at {size_text(size)}. "
                "Say --grid and --block where it is another."
            )
            return replace(tried, assumed=note, certain=False)
    return None


def _candidates(prepared: Prepared) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], Size]]:
    """First what names tell; then large tiles before small ones.

    One that is too large leaves elements out, a small one repeats some.
    """
    named = _named(prepared)
    shapes = [] if named is None else [named]
    for block in _blocks(prepared):
        tiles = sorted(_tiles(prepared, block), key=math.prod, reverse=True)
        shapes += [(block, tile) for tile in tiles]
    for block, (across, down) in dict.fromkeys(shapes):
        for turned in (False, True):
            parts = [f"ceil(N/{across})", f"ceil(M/{down})"]
            grid = prepared.kernel.grid or tuple(reversed(parts) if turned else parts)
            side = 2 * math.lcm(across, down)
            square = (side, side, side)
            size = square if prepared.sizes == 1 else (2 * down, 3 * across, DEPTH)
            yield grid, tuple(map(str, block)), size


def _named(prepared: Prepared) -> tuple[tuple[int, ...], tuple[int, int]] | None:
    """The block and the tile that a template's own names tell: BM, BN, and TM, TN of a thread."""
    opened = prepared.opened
    values = {
        name.lower().replace("_", ""): int(value)
        for name, value in opened.values.items()
        if value.isdecimal()
    }
    down, across = values.get("bm", 0), values.get("bn", 0)
    each = values.get("tm", 0) * values.get("tn", 1)
    plane = "%tid.y" in opened.compiled.special_registers
    if prepared.kernel.block or plane or host_blocks(prepared):
        return None
    if not (down and across and each) or down * across % each:
        return None
    threads = down * across // each
    return ((threads,), (across, down)) if threads <= MAX_THREADS else None


def _blocks(prepared: Prepared) -> list[tuple[int, ...]]:
    kernel, told = prepared.opened.compiled, prepared.kernel.block
    if told and all(text.isdecimal() for text in told):
        return [tuple(map(int, told))]
    known = host_blocks(prepared)
    if known:
        return known
    found = [kernel.most_threads] if kernel.most_threads else []
    if "%tid.y" in kernel.special_registers:
        sides = sorted({math.isqrt(size // _FLOAT) for size in kernel.shared})
        squares = [side for side in dict.fromkeys([*sides, *_SQUARES]) if side in _TILES]
        found += [(side, side) for side in squares if side * side <= MAX_THREADS]
    elif not found:
        found = [(threads,) for threads in _flat_blocks(prepared)]
    return found


def _flat_blocks(prepared: Prepared) -> list[int]:
    """Threads along x alone: a tile's elements, each thread one of them, or as many as it sums."""
    opened = prepared.opened
    own = [int(v) for v in opened.values.values() if v.isdecimal()]
    large, small = [v for v in own if v in _TILES], [v for v in own if 1 < v < _TILES[-1]]
    tiles = {a * b for a, b in pairs(large, repeat=2)}
    each = {1, *small, *(a * b for a, b in pairs(small, repeat=2))}
    found = {tile // part for tile, part in pairs(tiles, each) if tile % part == 0}
    fitting = sorted(n for n in {*found, 256} if n % WARP == 0 and n <= MAX_THREADS)
    return fitting[:MOST_BLOCKS]


def _tiles(prepared: Prepared, block: tuple[int, ...]) -> set[tuple[int, int]]:
    opened = prepared.opened
    values = opened.values.values()
    own = {int(value) for value in values if value.isdecimal() and int(value) in _TILES}
    x, y = (*block, 1)[:2]
    if y == 1:
        side = math.isqrt(x)
        return {(a, b) for a, b in pairs({*own, side}, repeat=2) if a * b >= x}
    return {(x, y), *((a, b) for a, b in pairs(own, repeat=2) if a * b >= x * y)}
