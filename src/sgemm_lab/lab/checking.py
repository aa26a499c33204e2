"""Is a kernel right? Checked on the GPU, or by simulation where there is none."""

from sgemm_lab.check import AWKWARD_SIZES, check, summary
from sgemm_lab.counting import check_here
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, size_text, table
from sgemm_lab.recorder import current_device

SMALL_SIZES = ((1, 1, 1), (3, 5, 7), (17, 17, 17), (33, 31, 29), (64, 64, 64), (65, 63, 66))
"""Sizes that take moments to simulate: below a tile, ragged, and regular."""


def verdict(kernels: list[Kernel]) -> Output:
    """Check kernels and return the verdicts as a table."""
    rows = []
    if session.live():
        sizes = AWKWARD_SIZES
        note = f"Checked here, on {current_device().name}, against float64."
        for kernel in kernels:
            rows.append([kernel.title, summary(list(check(kernel, sizes)))])
    else:
        sizes = SMALL_SIZES
        note = "Checked here without a GPU: the kernel's PTX was run on this machine's processor."
        for kernel in kernels:
            rows.append([kernel.title, summary(list(check_here(kernel, sizes)))])
    listed = ", ".join(size_text(size) for size in sizes[:6])
    more = f" and {len(sizes) - 6} more" if len(sizes) > 6 else ""
    return table(["kernel", "verdict"], rows, note=f"{note} Sizes: {listed}{more}.", numbers=2)
