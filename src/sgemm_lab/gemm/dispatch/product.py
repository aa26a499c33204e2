"""The dispatcher: multiply two matrices on the GPU with the fastest of the book's kernels."""

import threading
import warnings
from functools import lru_cache
from typing import Any

from sgemm_lab.cuda.compiler import suits
from sgemm_lab.cuda.launch import LoadedKernel, current_device, device_target, fits
from sgemm_lab.gemm.dispatch.fits_on_sm import ANY_SIZE, fit_refusal
from sgemm_lab.gemm.dispatch.model import VECTOR
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import Table, load_tables
from sgemm_lab.records.gpu_record import Device

MOST_PLANS = 4096
"""Sizes whose kernel is remembered."""


class GpuDispatcher:
    """The dispatcher of one GPU: a table, and the loaded kernels."""

    def __init__(self, device: Device, tables: list[Table]) -> None:
        """Read the tables. If the model of another GPU serves, there is a warning.

        Raises:
            LabError: no table has a model, or none of its kernels runs on this GPU.
        """
        self._picker = Picker(device, tables, _is_supported)
        if self._picker.tuned_on != device.name:
            warnings.warn(other_gpu_warning(device, self._picker.tuned_on), stacklevel=5)
        self._compute_capability = device.compute_capability
        self._loaded: dict[str, LoadedKernel] = {}
        self._plans: dict[tuple[Size, bool], LoadedKernel] = {}
        self._lock = threading.Lock()

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute c = a·b for non-empty row-major float32 matrices on the GPU.

        Raises:
            LabError: the kernel cannot be compiled or launched.
        """
        (m, k), n = a.shape, b.shape[1]
        self.launch(a.data.ptr, b.data.ptr, c.data.ptr, (m, n, k))

    def launch(self, a: int, b: int, c: int, size: Size, stream: Any = None) -> None:
        """Compute c = a·b for matrices at three addresses, as ``LoadedKernel.launch``."""
        aligned = not (a | b | c) % (VECTOR * FLOAT_BYTES)
        plan = self._plans.get((size, aligned)) or self._plan(size, aligned)
        plan.launch(a, b, c, size, stream)

    def kernel_for(self, size: Size) -> Kernel:
        """Return the kernel for M, N, K and matrices that an allocator placed."""
        return self._plan(size, aligned=True).kernel

    def predicted(self, size: Size) -> float | None:
        """Return the seconds that the model predicts for that kernel."""
        return self._picker.predict(self.kernel_for(size), size)

    def _plan(self, size: Size, aligned: bool) -> LoadedKernel:
        """Load the kernel for a size; skip kernels that do not fit on an SM."""
        with self._lock:
            while True:
                kernel = self._picker.pick(*size, aligned=aligned).kernel
                loaded = self._loaded.get(kernel.name)
                if loaded is None:
                    loaded = LoadedKernel(kernel)
                    refusal = fit_refusal(kernel, loaded.compiled, self._compute_capability)
                    if refusal:
                        self._picker.drop(kernel)
                        continue
                    self._loaded[kernel.name] = loaded
                if len(self._plans) >= MOST_PLANS:
                    self._plans.clear()
                self._plans[size, aligned] = loaded
                return loaded


@lru_cache(maxsize=16)
def dispatcher(_device_id: int) -> GpuDispatcher:
    """Return the dispatcher of the current GPU, whose number is the cache key.

    Raises:
        LabError: no table has a model, or none of its kernels runs on this GPU.
    """
    return GpuDispatcher(current_device(), load_tables())


def other_gpu_warning(device: Device, tuned_on: str) -> str:
    """Return the warning that a GPU has no model of its own."""
    return (
        f"No kernels were tuned on {device.name}: matmul uses the table of {tuned_on}, the "
        "most similar GPU. 'sgemm-lab tune' makes a table for this GPU."
    )


def _is_supported(kernel: Kernel) -> bool:
    return suits(kernel, device_target()) and fits(kernel, ANY_SIZE)
