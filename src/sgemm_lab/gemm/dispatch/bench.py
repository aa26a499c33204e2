"""Measure all candidates at one shape on this machine's GPU: check, rule out, time."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from sgemm_lab.checking.judge import Rounding
from sgemm_lab.cuda.compiler import Compiled, compile_kernel, suits
from sgemm_lab.cuda.launch import LoadedKernel, device_target, fits, require_gpu
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.gemm.dispatch.candidates import is_candidate
from sgemm_lab.gemm.dispatch.fits_on_sm import ANY_SIZE, fit_of, fit_refusal
from sgemm_lab.gemm.dispatch.tuning import ShapeTimes
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.interleaved import Budget, Product, cublas, is_graphed, time_interleaved
from sgemm_lab.records.gpu_record import CUBLAS, Device
from sgemm_lab.text import size_text

BUDGET = Budget(
    seconds=0.002, min_samples=3, max_samples=7, warm_up_seconds=0.001, sample_seconds=0.0, rest=0.0
)
"""Time per candidate and shape: resolves 1 % at most shapes. Records measure longer."""

RULED_OUT = 1.7
"""A candidate whose first launch takes this many times the shortest one is not timed further."""

LAUNCH_NOISE = 1e-5
"""Seconds by which the time of one launch may be off."""


class GpuBench:
    """The candidates, compiled for this machine's GPU."""

    def __init__(self, device: Device, kernels: Sequence[Kernel]) -> None:
        """Compile all candidates in parallel."""
        self._cupy = require_gpu()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = dict(zip(kernels, pool.map(_compiled, kernels), strict=True))
        capability = device.compute_capability
        self.resident = {
            kernel: fit_of(kernel, code, capability).blocks
            for kernel, code in made.items()
            if code and fits(kernel, ANY_SIZE) and not fit_refusal(kernel, code, capability)
        }
        self._loaded = [LoadedKernel(kernel) for kernel in self.resident]

    def measure(self, size: Size) -> ShapeTimes:
        """See ``Bench.measure``; small products are measured as CUDA graphs."""
        first, faults = self._first_launches(size)
        limit = RULED_OUT * min(first.values(), default=0) + LAUNCH_NOISE
        products: dict[str, Product] = {
            one.kernel.name: one for one, seconds in first.items() if seconds <= limit
        }
        products[CUBLAS] = cublas()
        graphs = is_graphed(size)
        found = time_interleaved(products, size, BUDGET, graphs=graphs)
        for one in self._loaded:  # of a large C the workspaces would fill the GPU
            one.release()
        seconds = {one.kernel: median(one.seconds) for one in found}
        library = seconds.pop(CUBLAS)
        slow = {one.kernel.name: s for one, s in first.items() if one.kernel.name not in seconds}
        return ShapeTimes(size, graphs, library, seconds, slow, faults)

    def product(self, name: str) -> Product:
        """See ``Bench.product``."""
        return next(one for one in self._loaded if one.kernel.name == name)

    def _first_launches(self, size: Size) -> tuple[dict[LoadedKernel, float], list[str]]:
        """Multiply into a C of NaN, check it, and time a launch of each candidate."""
        cupy, (m, n, k) = self._cupy, size
        cupy.get_default_memory_pool().free_all_blocks()
        random = cupy.random.default_rng(seed=3)
        a, b = (random.random(shape, dtype="float32") - 0.5 for shape in ((m, k), (k, n)))
        c = cupy.empty((m, n), dtype="float32")
        rounding = Rounding(a, b)
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        found, faults = {}, []
        for loaded in self._loaded:
            if not is_candidate(loaded.kernel, size):
                continue
            c.fill(float("nan"))
            loaded(a, b, c)
            if not bool((rounding.shares(c) <= 1).all()):
                faults.append(
                    f"{loaded.kernel.name} is excluded at {size_text(size)}: the error of C "
                    "exceeds the rounding bound."
                )
                continue
            elapsed = []
            for _ in range(2):  # the host may be interrupted in one of them
                start.record()
                loaded(a, b, c)
                stop.record()
                stop.synchronize()
                elapsed.append(float(cupy.cuda.get_elapsed_time(start, stop)) * 1e-3)
            found[loaded] = min(elapsed)
        return found, faults


def _compiled(kernel: Kernel) -> Compiled | None:
    """Return a candidate compiled for this GPU; None if it cannot be."""
    target = device_target()
    if not suits(kernel, target):
        return None
    try:
        return compile_kernel(kernel, target)
    except MissingToolError:
        raise
    except LabError:
        return None
