"""``matmul`` within an error bound: choose an algorithm and run it on the current GPU."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from sgemm_lab.cuda.arrays import MAX_DIMENSION
from sgemm_lab.cuda.launch import LoadedKernel, current_device, has_gpu, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.gemm import call
from sgemm_lab.gemm.dispatch.first_use import dispatcher_for
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.gemm.policy import (
    FP32,
    Algorithm,
    Bound,
    GpuRecords,
    check_bound,
    choose,
    gpu_records,
)
from sgemm_lab.gemm.strassen.engine import GpuProduct
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.interleaved import Product
from sgemm_lab.records.dispatch_table import load_tables
from sgemm_lab.records.gpu_record import Device


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    error: float | str,
    workspace: int | None = None,
    tune: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Return the product within an error bound; ``sgemm_lab.matmul`` documents the arguments."""
    check_bound(error)

    def product_of(size: Size) -> Product:
        here = require_gpu().cuda.Device().id
        return _product(_choose(here, size, error, workspace), here, tune)

    return call.matmul(a, b, out, product_of=product_of, alpha=alpha, beta=beta)


def choice(
    m: int,
    n: int,
    k: int,
    *,
    error: Bound = None,
    workspace: int | None = None,
    gpu: str | None = None,
) -> Algorithm:
    """Return the algorithm that ``matmul`` would use on a GPU; ``sgemm_lab.choice`` says which."""
    for name, extent in (("M", m), ("N", n), ("K", k)):
        if not isinstance(extent, int) or not 1 <= extent <= MAX_DIMENSION:
            raise LabError(
                f"{name} is {extent!r}. Give a whole number from 1 to {MAX_DIMENSION:,}."
            )
    check_bound(error)
    if gpu is not None:
        return choose((m, n, k), error, gpu_records(_recorded_gpu(gpu)), workspace)
    here = require_gpu().cuda.Device().id if has_gpu() else None
    found = _choose(here, (m, n, k), error, workspace)
    if here is None or found.plan or found.kernel.arithmetic != FP32:
        return found
    return replace(found, kernel=dispatcher(here).kernel_for(found.size))


def _recorded_gpu(name: str) -> Device:
    """Return the recorded GPU whose name holds ``name``, in any case."""
    devices = [table.gpu for table in load_tables()]
    for device in devices:
        if name.casefold() in device.name.casefold():
            return device
    known = ", ".join(device.name for device in devices)
    raise LabError(f"No record is of a GPU called '{name}'. There are: {known}.")


@lru_cache(maxsize=1024)
def _choose(device_id: int | None, size: Size, error: Bound, workspace: int | None) -> Algorithm:
    return choose(size, error, _records(device_id), workspace)


@lru_cache(maxsize=16)
def _records(device_id: int | None) -> GpuRecords:
    """Return the records of the current GPU, whose number is the key, or of the book's first."""
    return gpu_records(None if device_id is None else current_device())


def _product(algorithm: Algorithm, here: int, tune: str | None) -> Product:
    kernel = algorithm.kernel
    if algorithm.plan:
        # Its workspace returns to CuPy's pool after each call, so streams never share one.
        leaf = None if kernel.arithmetic == FP32 else _loaded(here, kernel)
        return GpuProduct(algorithm.plan, leaf)
    if kernel.arithmetic == FP32:
        return dispatcher_for(here, tune)
    return _loaded(here, kernel)


@lru_cache(maxsize=64)
def _loaded(_device_id: int, kernel: Kernel) -> LoadedKernel:
    return LoadedKernel(kernel, keeps_workspace=not kernel.copies_factors)
