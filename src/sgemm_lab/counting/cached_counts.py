"""Simulated launches, cached for the process."""

from functools import lru_cache

from sgemm_lab.counting.kernel_counts import CountedLaunch, count
from sgemm_lab.kernel import Kernel, Size


@lru_cache(maxsize=64)
def launch(kernel: Kernel, size: Size) -> CountedLaunch:
    """Return what a simulated launch of a kernel at one size counted; each is run once.

    Raises:
        LabError: the size is too large, or the kernel cannot be compiled here.
    """
    return count(kernel, size)
