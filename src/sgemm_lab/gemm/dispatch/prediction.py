"""Upper bound of a candidate's speed before any measurement.

The book's bound (``models.bound``) needs the per-block demand, which is known for kernels with a
grid of output tiles. Split-K and persistent kernels use the demand of the kernel with the same
main loop. Two caps are added here: the multiply-adds of the busiest SM, with padding and split K,
and the bytes of A, B and C through DRAM.
"""

from functools import lru_cache

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.candidates import LOOPS
from sgemm_lab.gemm.dispatch.work import busiest_sm_work
from sgemm_lab.gpu import Gpu
from sgemm_lab.hardware import FLOAT_BYTES, FLOP_PER_FMA
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.bound import GRID, bound
from sgemm_lab.models.demand import block_demand


def predicted_gflops(kernel: Kernel, size: Size, gpu: Gpu) -> float:
    """Return an upper bound of a candidate's GFLOP/s."""
    caps = [_busiest_sm_cap(kernel, size, gpu), _dram_cap(size, gpu)]
    loop = same_loop_kernel(kernel)
    if _is_countable(loop):
        caps += [cap.gflops for cap in bound(loop, size, gpu).caps if cap.unit != GRID]
    return min(caps)


@lru_cache(maxsize=256)
def same_loop_kernel(kernel: Kernel) -> Kernel:
    """Return the kernel with a grid of tiles and the same main loop as a candidate."""
    other = LOOPS.get(kernel.base_name)
    if other is None:
        return kernel
    twin = load_kernel(other)
    shared = {name: value for name, value in kernel.values.items() if name in twin.values}
    return twin.with_constants(**shared)


@lru_cache(maxsize=256)
def _is_countable(kernel: Kernel) -> bool:
    """Whether the per-block demand of a kernel is known."""
    try:
        block_demand(kernel)
    except LabError:  # its blocks are not tiles of C, or the simulator lacks an instruction
        return False
    return True


def _busiest_sm_cap(kernel: Kernel, size: Size, gpu: Gpu) -> float:
    m, n, k = size
    evenly = m * n * k / gpu.sms
    return gpu.peak_gflops * evenly / busiest_sm_work(kernel, size, gpu.sms)


def _dram_cap(size: Size, gpu: Gpu) -> float:
    m, n, k = size
    flop, moved = FLOP_PER_FMA * m * n * k, FLOAT_BYTES * (m * k + k * n + m * n)
    return gpu.dram_gbs * flop / moved
