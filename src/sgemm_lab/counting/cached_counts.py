"""Simulated launches, cached for the process."""

from functools import lru_cache

from sgemm_lab.counting.kernel_counts import CountedLaunch, count
from sgemm_lab.kernel import Kernel, Size


@lru_cache(maxsize=64)
def launch(kernel: Kernel, size: Size) -> CountedLaunch:
    """Return what a simulated launch of a kernel at one size counted; each is run once."""
    return count(kernel, size)
