"""How fast a candidate can be, as far as the models know before anything is measured.

The book's bound (``models.bound``) counts what one block asks of an SM. It knows kernels whose grid
is one of tiles; those that share K, or stay on their SM for tile after tile, are counted by the
kernel that has the same loop over K. Two caps are reckoned here: the multiply-adds of the busiest
SM, padding and shares of K included, and the bytes of A, B and C through DRAM.
"""

from functools import lru_cache

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.candidates import LOOPS
from sgemm_lab.gemm.dispatch.work import busiest_work
from sgemm_lab.gpu import Gpu
from sgemm_lab.hardware import FLOAT_BYTES, FLOP_PER_FMA
from sgemm_lab.kernel import Kernel, Size, load_kernel
from sgemm_lab.models.bound import GRID, bound
from sgemm_lab.models.demand import block_demand


def predicted_gflops(kernel: Kernel, size: Size, gpu: Gpu) -> float:
    """Return the GFLOP/s that a candidate can reach at most, by what the models know of it."""
    caps = [_by_the_busiest_sm(kernel, size, gpu), _by_dram(size, gpu)]
    loop = with_the_same_loop(kernel)
    if _is_countable(loop):
        caps += [cap.gflops for cap in bound(loop, size, gpu).caps if cap.unit != GRID]
    return min(caps)


@lru_cache(maxsize=256)
def with_the_same_loop(kernel: Kernel) -> Kernel:
    """Return the kernel whose grid is one of tiles and whose loop over K is a candidate's own."""
    other = LOOPS.get(kernel.base_name)
    if other is None:
        return kernel
    twin = load_kernel(other)
    shared = {name: value for name, value in kernel.values.items() if name in twin.values}
    return twin.with_constants(**shared)


@lru_cache(maxsize=256)
def _is_countable(kernel: Kernel) -> bool:
    """Say whether it can be counted what a block of a kernel asks for."""
    try:
        block_demand(kernel)
    except LabError:  # its blocks are no tiles of C, or the simulator lacks an instruction of it
        return False
    return True


def _by_the_busiest_sm(kernel: Kernel, size: Size, gpu: Gpu) -> float:
    m, n, k = size
    evenly = m * n * k / gpu.sms
    return gpu.peak_gflops * evenly / busiest_work(kernel, size, gpu.sms)


def _by_dram(size: Size, gpu: Gpu) -> float:
    m, n, k = size
    flop, moved = FLOP_PER_FMA * m * n * k, FLOAT_BYTES * (m * k + k * n + m * n)
    return gpu.dram_gbs * flop / moved
