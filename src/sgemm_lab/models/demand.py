"""Demand of a kernel on the units of an SM, per step, from the simulation of one block.

A *step* is one FMA of a warp: 32 multiply-adds, 64 FLOP. A product of M, N, K takes M·N·K / 32
steps. Demands are counts per step, which makes kernels and sizes comparable.

An SM moves the data of L1 and of shared memory through one pipe, one wavefront per clock, and looks
up global addresses in L1 before it, also one wavefront per clock. Sources, by NVIDIA's engineers:
https://forums.developer.nvidia.com/t/165293/4 (a wavefront passes a stage in one clock) and
https://forums.developer.nvidia.com/t/273699/8 (a lookup resolves four lines).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sgemm_lab.counting.count_cache import BLOCKS, cached_count
from sgemm_lab.counting.kernel_counts import book_arguments
from sgemm_lab.cuda.shipped_ptx import archived_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import ENTRY, Kernel, Size
from sgemm_lab.simulator import simulate

SHARED, GLOBAL, REQUESTS, LOOKUPS, PRODUCTS = "shared", "global", "requests", "lookups", "products"
"""Counts of a block: wavefronts of shared memory; wavefronts of global loads and stores in the data
pipe; their requests; lookups of loads; FMAs of a warp, or 32 multiply-adds on tensor cores."""

_ALIGNED = WARP
"""Rows that start at a multiple of this many floats start at an L1 line and at bank 0."""


@dataclass(frozen=True)
class BlockDemand:
    """Demand of one interior block: ``fixed[x] + per_k[x] · K`` for each count x."""

    rows: int
    columns: int
    window: int
    fixed: Mapping[str, float]
    per_k: Mapping[str, float]

    def per_step(self, size: Size) -> dict[str, float]:
        """Return the counts per step of a product of M, N, K.

        Exact if blocks and K tiles divide the matrices and rows start at L1 lines. Otherwise a
        lower bound: edge padding is ignored, and a global request counts as one wavefront,
        since its lanes may then avoid bank conflicts.
        """
        m, n, k = size
        steps = self.rows * self.columns / WARP
        if m % self.rows or n % self.columns or k % self.window or n % _ALIGNED or k % _ALIGNED:
            least = {name: count / steps for name, count in self.per_k.items()}
            return {**least, GLOBAL: least[REQUESTS], PRODUCTS: 1.0}
        return {name: (self.fixed[name] / k + self.per_k[name]) / steps for name in self.per_k}


def block_demand(kernel: Kernel) -> BlockDemand:
    """Return the demand of one block of a kernel, from the shipped cache or a simulation.

    Raises:
        LabError: the block is not a tile of C given by the kernel's constants, or the kernel cannot
            be compiled here.
    """
    cached = cached_count(BLOCKS, kernel.name, kernel.fingerprint)
    found = BlockDemand(**cached) if cached else _simulated_or_why_not(kernel)
    if isinstance(found, LabError):
        raise found
    return found


@lru_cache(maxsize=256)
def _simulated_or_why_not(kernel: Kernel) -> BlockDemand | LabError:
    try:
        return simulated_demand(kernel)
    except LabError as reason:
        return reason


def simulated_demand(kernel: Kernel) -> BlockDemand:
    """Simulate one block of a kernel at two values of K and return its demand.

    Raises:
        LabError: the block is not a tile of C given by the kernel's constants, or it cannot be
            simulated.
    """
    if "wgmma" in kernel.source:
        raise LabError(
            f"What a block of '{kernel.name}' asks for cannot be told: its tensor cores read "
            "shared memory themselves, which no request counts."
        )
    _refuse_other_grids(kernel)
    ptx = archived_ptx(kernel)
    tile = Tile.from_constants(kernel.values)
    window = max(WARP, tile.bk)
    short, long = 2 * window, 3 * window
    first, second = (_count_block(kernel, ptx, tile, k) for k in (short, long))
    per_k = {name: (second[name] - first[name]) / (long - short) for name in first}
    if per_k[PRODUCTS] and per_k[PRODUCTS] * WARP != tile.bm * tile.bn:
        raise LabError(
            f"What a block of '{kernel.name}' asks for cannot be told: it makes other "
            "multiply-adds than those of a tile of C, BM × BN."
        )
    fixed = {name: first[name] - short * per_k[name] for name in first}
    return BlockDemand(tile.bm, tile.bn, tile.bk, fixed, per_k)


def _count_block(kernel: Kernel, ptx: str, tile: Tile, k: int) -> dict[str, float]:
    """Count one tile: the first block of a product that is more than one tile wide.

    A persistent kernel computes all tiles in one block on a GPU with one SM.
    """
    columns, tiles = _columns(tile), _tiles(tile)
    shares_out = _shares_out(kernel)
    if shares_out and kernel.copies_factors:
        return _tile_alone(kernel, ptx, (tile.bm, columns, k), columns // tile.bn)
    found = _count_launch(kernel, ptx, (tile.bm, 2 * columns, k))
    if kernel.arithmetic != "fp32":
        found[PRODUCTS] = tile.bm * tile.bn * k * (tiles if shares_out else 1) / WARP
    return {name: count / tiles for name, count in found.items()} if shares_out else found


def _columns(tile: Tile) -> int:
    return max(tile.bn, _ALIGNED)


def _tiles(tile: Tile) -> int:
    """Number of tiles in the counted product."""
    return 2 * _columns(tile) // tile.bn


def _shares_out(kernel: Kernel) -> bool:
    """Whether a kernel is persistent: one block per SM, which loops over tiles."""
    tile = Tile.from_constants(kernel.values)
    size = tile.bm, 2 * _columns(tile), WARP
    one, two = (kernel.launch_shape(*size, sms=sms).grid for sms in (1, 2))
    return one == (1, 1) != two


def _refuse_other_grids(kernel: Kernel) -> None:
    tile = Tile.from_constants(kernel.values)
    grid = kernel.launch_shape(tile.bm, 2 * _columns(tile), WARP).grid
    if not _shares_out(kernel) and grid != (_tiles(tile), 1):
        raise LabError(
            f"What a block of '{kernel.name}' asks for cannot be told: its grid is no "
            "grid of tiles of C, BM × BN each."
        )


def _tile_alone(kernel: Kernel, ptx: str, size: Size, tiles: int) -> dict[str, float]:
    """Count a tile without the preceding pass over A and B.

    The demand of that pass is proportional to the rows of tiles and to the columns of tiles. The
    mixed difference over both removes it. ``size`` is a row of ``tiles``.
    """
    m, n, k = size
    one, wide, tall, all_four = (
        _count_launch(kernel, ptx, (rows * m, columns * n, k))
        for rows, columns in ((1, 1), (1, 2), (2, 1), (2, 2))
    )
    found = {name: all_four[name] - wide[name] - tall[name] + one[name] for name in one}
    found[PRODUCTS] = m * n * k / WARP
    return {name: count / tiles for name, count in found.items()}


def _count_launch(kernel: Kernel, ptx: str, size: Size) -> dict[str, float]:
    """Count the first block of a launch on one SM."""
    m, n, k = size
    shape = kernel.launch_shape(m, n, k, sms=1)
    result = simulate(
        ptx,
        ENTRY,
        (1, 1),
        shape.block,
        book_arguments(shape, np.ones((m, k), np.float32), np.ones((k, n), np.float32)),
        shape.shared_bytes,
        check_hazards=False,
        watch=["global_pipe"],
    )
    counts, pipe = result.counts.total, result.watched["global_pipe"]
    return {
        SHARED: counts.shared_load_wavefronts + counts.shared_store_wavefronts,
        GLOBAL: pipe["wavefronts"],
        REQUESTS: pipe["requests"],
        LOOKUPS: pipe["lookups"],
        PRODUCTS: counts.ffma_thread_instructions / WARP,
    }
