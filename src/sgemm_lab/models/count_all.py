"""Recount the shipped counts: ``python -m sgemm_lab.models.count_all``."""

from collections.abc import Collection
from dataclasses import asdict

from sgemm_lab.catalogue import book_kernel, load_kernels
from sgemm_lab.counting.count_cache import BLOCKS, FILE, LAUNCHES, cached_count, entry, write
from sgemm_lab.counting.hardware_comparison import (
    RAGGED,
    REGULAR,
    counts_of_all,
    launch_name,
)
from sgemm_lab.cuda.shipped_ptx import archived_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel
from sgemm_lab.models.demand import BlockDemand, block_demand, simulated_demand
from sgemm_lab.records.store import load_records, scores


def main() -> None:
    """Count changed kernels: launches at two sizes, blocks, and the choices of sliders."""
    kernels = load_kernels(variants=True)
    launches = [(kernel, size) for kernel in kernels for size in (REGULAR, RAGGED)]
    blocks = [*kernels, *scored(kernels)]
    print(f"Counting {len(launches)} launches and {len(blocks)} blocks; changed ones take longer.")
    current = {
        kernel.name
        for kernel in kernels
        if cached_count(LAUNCHES, launch_name(kernel, REGULAR), archived_ptx(kernel)) is not None
    }
    counted = zip(launches, counts_of_all(launches), strict=True)
    write(
        {
            LAUNCHES: {
                launch_name(kernel, size): entry(archived_ptx(kernel), counts)
                for (kernel, size), counts in counted
            },
            BLOCKS: {
                kernel.name: entry(kernel.fingerprint, asdict(demand))
                for kernel in blocks
                if (demand := _demand(kernel, recount=kernel.name not in current)) is not None
            },
        }
    )
    print(f"Wrote {FILE.name}.")


def scored(kernels: Collection[Kernel]) -> list[Kernel]:
    """Return the kernels of the scoreboard that are not in ``kernels``: it needs their bounds.

    Their constants come from a search.
    """
    names = sorted({score.picked or score.kernel for score in scores(load_records())})
    found = (book_kernel(name) for name in names)
    return [kernel for kernel in found if kernel is not None and kernel not in kernels]


def _demand(kernel: Kernel, *, recount: bool) -> BlockDemand | None:
    """Return the per-block demand; None if the blocks are not tiles of C."""
    try:
        return simulated_demand(kernel) if recount else block_demand(kernel)
    except LabError:
        return None


if __name__ == "__main__":
    main()
