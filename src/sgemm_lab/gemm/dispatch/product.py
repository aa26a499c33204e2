"""The dispatcher: multiply two matrices on the GPU with the fastest of the book's kernels."""

import threading
import warnings
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, NamedTuple

from sgemm_lab.cuda.compiler import suits
from sgemm_lab.cuda.launch import LoadedKernel, current_device, device_target, fits
from sgemm_lab.gemm.dispatch.fits_on_sm import ANY_SIZE, fit_refusal
from sgemm_lab.gemm.dispatch.model import VECTOR
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import LibraryShape, Table, load_tables
from sgemm_lab.records.gpu_record import Device

MOST_PLANS = 4096
"""Sizes whose kernel is remembered."""


class Ranked(NamedTuple):
    """A loaded kernel, and its time for a size by the model."""

    loaded: LoadedKernel
    seconds: float


class Dispatcher(ABC):
    """Multiplies matrices by the kernel that it chooses for their size."""

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute c = a·b for non-empty row-major float32 matrices on the GPU."""
        (m, k), n = a.shape, b.shape[1]
        self.launch(a.data.ptr, b.data.ptr, c.data.ptr, (m, n, k))

    @abstractmethod
    def launch(self, a: int, b: int, c: int, size: Size, stream: Any = None) -> None:
        """Compute c = a·b for matrices at three addresses, as ``LoadedKernel.launch``."""


class GpuDispatcher(Dispatcher):
    """The dispatcher of one GPU: a table, and the loaded kernels."""

    def __init__(self, device: Device, tables: list[Table]) -> None:
        """Read the tables. If the model of another GPU serves, there is a warning."""
        self._picker = Picker(device, tables, _is_supported)
        if self._picker.tuned_on != device.name:
            warnings.warn(other_gpu_warning(device, self._picker.tuned_on), stacklevel=7)
        self._compute_capability = device.compute_capability
        self._loaded: dict[str, LoadedKernel] = {}
        self._plans: dict[tuple[Size, bool], LoadedKernel] = {}
        self._lock = threading.Lock()

    def launch(self, a: int, b: int, c: int, size: Size, stream: Any = None) -> None:
        """Compute c = a·b for matrices at three addresses, as ``LoadedKernel.launch``."""
        aligned = is_aligned_at(a, b, c)
        plan = self._plans.get((size, aligned)) or self._plan(size, aligned)
        plan.launch(a, b, c, size, stream)

    def kernel_for(self, size: Size) -> Kernel:
        """Return the kernel for M, N, K and matrices that an allocator placed."""
        return self._plan(size, aligned=True).kernel

    def predicted(self, size: Size) -> float | None:
        """Return the seconds that the model predicts for that kernel."""
        return self._picker.predict(self.kernel_for(size), size)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels among which it chooses."""
        return self._picker.kernels

    @property
    def library_shapes(self) -> tuple[LibraryShape, ...]:
        """How cuBLAS compared at the shapes of the search."""
        return self._picker.library_shapes

    def best(self, size: Size, aligned: bool, count: int) -> list[Ranked]:
        """Load the ``count`` kernels that should be the fastest, the fastest first."""
        with self._lock:
            return self._best(size, aligned, count)

    def named(self, name: str) -> LoadedKernel | None:
        """Load a kernel by its name; return None if it is not one of ``kernels``."""
        with self._lock:
            found = next((one for one in self._picker.kernels if one.name == name), None)
            return self._load(found) if found else None

    def _plan(self, size: Size, aligned: bool) -> LoadedKernel:
        """Load the kernel for a size."""
        with self._lock:
            loaded = self._best(size, aligned, 1)[0].loaded
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[size, aligned] = loaded
            return loaded

    def _best(self, size: Size, aligned: bool, count: int) -> list[Ranked]:
        found: list[Ranked] = []
        for choice in self._picker.ranked(size, aligned=aligned):
            if loaded := self._load(choice.kernel):
                found.append(Ranked(loaded, choice.seconds))
            if len(found) == count:
                break
        return found

    def _load(self, kernel: Kernel) -> LoadedKernel | None:
        """Load a kernel; drop it and return None if it does not fit on an SM."""
        loaded = self._loaded.get(kernel.name)
        if loaded is None:
            loaded = LoadedKernel(kernel)
            if fit_refusal(kernel, loaded.compiled, self._compute_capability):
                self._picker.drop(kernel)
                return None
            self._loaded[kernel.name] = loaded
        return loaded


@lru_cache(maxsize=16)
def dispatcher(_device_id: int) -> GpuDispatcher:
    """Return the dispatcher of the current GPU, whose number is the cache key."""
    return GpuDispatcher(current_device(), load_tables())


def is_aligned_at(a: int, b: int, c: int) -> bool:
    """Whether float4 can read matrices that begin at these addresses."""
    return not (a | b | c) % (VECTOR * FLOAT_BYTES)


def other_gpu_warning(device: Device, tuned_on: str) -> str:
    """Return the warning that a GPU has no model of its own."""
    return (
        f"No kernels were tuned on {device.name}: matmul uses the table of {tuned_on}, the "
        "most similar GPU. 'sgemm-lab tune' makes a table for this GPU."
    )


def _is_supported(kernel: Kernel) -> bool:
    return suits(kernel, device_target()) and fits(kernel, ANY_SIZE)
