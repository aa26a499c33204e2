"""``matmul`` within a stated error: the way that is chosen, run on the current GPU."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from sgemm_lab.cuda.arrays import MAX_DIMENSION
from sgemm_lab.cuda.launch import LoadedKernel, has_gpu, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch import product
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.gemm.policy import FP32, Bound, Known, Way, check_bound, choose, known_of
from sgemm_lab.gemm.strassen.engine import GpuProduct
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.interleaved import Product
from sgemm_lab.measuring.recorder import current_device


def matmul(
    a: Any, b: Any, out: Any = None, *, error: float | str, workspace: int | None = None
) -> Any:
    """Return a·b within an error; ``sgemm_lab.matmul`` tells what may be given.

    Raises:
        LabError: an array does not fit, nothing keeps the error, there is no GPU or no compiler.
    """
    check_bound(error)

    def product_of(size: Size) -> Product:
        here = require_gpu().cuda.Device().id
        return _product(_choose(here, size, error, workspace), here)

    return product.matmul(a, b, out, product_of)


def choice(m: int, n: int, k: int, *, error: Bound = None, workspace: int | None = None) -> Way:
    """Return which way ``matmul`` takes; without a GPU, on the one that the book recorded.

    Raises:
        LabError: a size or the error cannot be, or nothing keeps it.
    """
    for name, extent in (("M", m), ("N", n), ("K", k)):
        if not isinstance(extent, int) or not 1 <= extent <= MAX_DIMENSION:
            raise LabError(
                f"{name} is {extent!r}. Give a whole number from 1 to {MAX_DIMENSION:,}."
            )
    check_bound(error)
    here = require_gpu().cuda.Device().id if has_gpu() else None
    way = _choose(here, (m, n, k), error, workspace)
    if here is None or way.plan or way.kernel.arithmetic != FP32:
        return way
    return replace(way, kernel=dispatcher(here).kernel_for(way.size))


@lru_cache(maxsize=1024)
def _choose(device_id: int | None, size: Size, error: Bound, workspace: int | None) -> Way:
    return choose(size, error, _known(device_id), workspace)


@lru_cache(maxsize=16)
def _known(device_id: int | None) -> Known:
    """Return what records tell of the current GPU, whose number is given, or of the book's."""
    return known_of(None if device_id is None else current_device())


def _product(way: Way, here: int) -> Product:
    if way.plan:
        # Its workspace goes back to CuPy's pool after each call, so streams never share one.
        own = None if way.kernel.arithmetic == FP32 else _loaded(here, way.kernel)
        return GpuProduct(way.plan, own)
    return dispatcher(here) if way.kernel.arithmetic == FP32 else _loaded(here, way.kernel)


@lru_cache(maxsize=64)
def _loaded(_device_id: int, kernel: Kernel) -> LoadedKernel:
    return LoadedKernel(kernel)
