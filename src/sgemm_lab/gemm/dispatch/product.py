"""``matmul``: multiply two CuPy arrays with the fastest of the book's kernels."""

import threading
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sgemm_lab.cuda.arrays import check_matrix, product_size
from sgemm_lab.cuda.compiler import suits
from sgemm_lab.cuda.launch import (
    LoadedKernel,
    device_sms,
    device_target,
    fits,
    require_gpu,
)
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.fits_on_sm import fit_refusal
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.gemm.dispatch.work import is_aligned
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.interleaved import Product
from sgemm_lab.measuring.recorder import current_device
from sgemm_lab.records.dispatch_table import Table, load_tables, nearest_table
from sgemm_lab.records.gpu_record import Device

_ANY_SIZE = (256, 256, 256)
"""Size of the test whether a kernel's blocks fit on the GPU; the result does not depend on it."""


def matmul(
    a: Any, b: Any, out: Any = None, product_of: Callable[[Size], Product] | None = None
) -> Any:
    """Return a·b; ``sgemm_lab.matmul`` documents arrays, copies and streams.

    ``product_of`` returns the product for M, N, K; by default the dispatcher.

    Raises:
        LabError: an array does not fit, there is no GPU or compiler, or no kernel runs on the GPU.
    """
    for name, array in (("a", a), ("b", b)):
        if not hasattr(array, "dtype"):
            kind = f"{type(array).__module__}.{type(array).__name__}"
            raise LabError(
                f"{name} is a {kind}, not an array on the GPU. "
                f"Move it there with cupy.asarray({name}, dtype='float32')."
            )
    cupy = require_gpu()
    m, n, k = _size(cupy, a, b)
    c = cupy.empty((m, n), dtype="float32") if out is None else out
    if out is not None:
        _check_out(cupy, c, (m, n))
    if c.size == 0:
        return c
    if k == 0:
        c.fill(0)
        return c
    a, b = cupy.ascontiguousarray(a), cupy.ascontiguousarray(b)
    if out is not None:
        _refuse_overlap(a, b, c)
    multiply = product_of((m, n, k)) if product_of else dispatcher(cupy.cuda.Device().id)
    multiply(a, b, c)
    return c


class GpuDispatcher:
    """The dispatcher of one GPU: a table, and the loaded kernels."""

    def __init__(self, device: Device, table: Table) -> None:
        """Read the table. A table of another GPU causes a warning.

        Raises:
            LabError: none of its kernels runs on this GPU.
        """
        if table.gpu.name != device.name:
            warnings.warn(nearest_table_warning(device, table), stacklevel=5)
        self._compute_capability = device.compute_capability
        self._picker = Picker(table, device_sms(), _is_supported)
        self._loaded: dict[str, LoadedKernel] = {}
        self._lock = threading.Lock()

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute c = a·b for non-empty row-major float32 matrices on the GPU.

        Raises:
            LabError: the kernel cannot be compiled or launched.
        """
        (m, k), n = a.shape, b.shape[1]
        aligned = is_aligned((m, n, k), a.data.ptr, b.data.ptr, c.data.ptr)
        self._load((m, n, k), aligned)(a, b, c)

    def kernel_for(self, size: Size) -> Kernel:
        """Return the kernel for M, N, K and matrices that CuPy allocated."""
        return self._load(size, is_aligned(size)).kernel

    def _load(self, size: Size, aligned: bool) -> LoadedKernel:
        """Load the kernel for a size; skip kernels that do not fit on an SM."""
        with self._lock:
            while True:
                kernel = self._picker.pick(*size, aligned=aligned).kernel
                if kernel.name in self._loaded:
                    return self._loaded[kernel.name]
                loaded = LoadedKernel(kernel)
                if fit_refusal(kernel, loaded.compiled, self._compute_capability, size) is None:
                    self._loaded[kernel.name] = loaded
                    return loaded
                self._picker.drop(kernel)


@lru_cache(maxsize=16)
def dispatcher(_device_id: int) -> GpuDispatcher:
    """Return the dispatcher of the current GPU, whose number is the cache key.

    Raises:
        LabError: there is no table, or none of its kernels runs on this GPU.
    """
    device = current_device()
    return GpuDispatcher(device, nearest_table(device, load_tables()))


def nearest_table_warning(device: Device, table: Table) -> str:
    """Return the warning that a GPU has no table of its own."""
    return (
        f"No kernels were tuned on {device.name}: matmul uses the table of {table.gpu.name}, the "
        "most similar GPU. 'sgemm-lab tune' makes a table for this GPU."
    )


def _is_supported(kernel: Kernel) -> bool:
    return suits(kernel, device_target()) and fits(kernel, _ANY_SIZE)


def _size(cupy: Any, a: Any, b: Any) -> Size:
    """Return M, N, K of a product; each may be 0.

    Raises:
        LabError: an array does not fit.
    """
    _check(cupy, "a", a)
    _check(cupy, "b", b)
    return product_size(a, b, ("a", "b"))


def _check(cupy: Any, name: str, array: Any) -> None:
    check_matrix(cupy, name, array)
    here = cupy.cuda.Device().id
    if array.device.id != here:
        raise LabError(
            f"{name} is on GPU {array.device.id}, and the current one is GPU {here}. "
            f"Make it current with 'with {name}.device:'."
        )


def _check_out(cupy: Any, out: Any, shape: tuple[int, int]) -> None:
    _check(cupy, "out", out)
    if out.shape != shape:
        raise LabError(
            f"out is {out.shape[0]}×{out.shape[1]}. "
            f"The product of a and b is {shape[0]}×{shape[1]}."
        )
    if not out.flags.c_contiguous:
        raise LabError(
            "out is not C-contiguous (it is a transposed or sliced view). "
            "Give an array from cupy.empty, or omit out."
        )


def _refuse_overlap(a: Any, b: Any, out: Any) -> None:
    """Raise a LabError if ``out`` overlaps an input."""
    first, end = out.data.ptr, out.data.ptr + out.nbytes
    for name, array in (("a", a), ("b", b)):
        if array.data.ptr < end and first < array.data.ptr + array.nbytes:
            raise LabError(f"out shares memory with {name}. Give a separate array.")
