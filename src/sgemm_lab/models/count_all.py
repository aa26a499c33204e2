"""Counts what travels with the package anew: ``python -m sgemm_lab.models.count_all``."""

from dataclasses import asdict

from sgemm_lab.counting.against_gpu import (
    RAGGED,
    REGULAR,
    counts_of_all,
    launch_name,
)
from sgemm_lab.counting.kept import BLOCKS, FILE, LAUNCHES, entry, write
from sgemm_lab.cuda.shipped_ptx import settled_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, load_kernels
from sgemm_lab.models import slides
from sgemm_lab.models.demand import BlockDemand, block_demand


def main() -> None:
    """Count what has changed: launches at two sizes, blocks, and the choices of sliders."""
    kernels = load_kernels(variants=True)
    launches = [(kernel, size) for kernel in kernels for size in (REGULAR, RAGGED)]
    print(f"Counting {len(launches)} launches and {len(kernels)} blocks; changed ones take longer.")
    counted = zip(launches, counts_of_all(launches), strict=True)
    write(
        {
            LAUNCHES: {
                launch_name(kernel, size): entry(settled_ptx(kernel), counts)
                for (kernel, size), counts in counted
            },
            BLOCKS: {
                kernel.name: entry(settled_ptx(kernel), asdict(demand))
                for kernel in kernels
                if (demand := _demand(kernel)) is not None
            },
        }
    )
    print(f"Wrote {FILE.name}.")
    slides.main()


def _demand(kernel: Kernel) -> BlockDemand | None:
    """Return what a block asks for; None where blocks are no tiles of C."""
    try:
        return block_demand(kernel)
    except LabError:
        return None


if __name__ == "__main__":
    main()
