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

from sgemm_lab.counting.count_cache import BLOCKS, cached_count
from sgemm_lab.cuda.shipped_ptx import archived_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.simulator import worker

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
    """Return the demand of one block, simulated at two values of K: see ``demand.ts``."""
    given = {"kernel": kernel.name, "source": kernel.source}
    worker.ask("refuse_other_grids", given)  # before it is compiled
    return BlockDemand(**worker.ask("demand", {**given, "ptx": archived_ptx(kernel)}))
