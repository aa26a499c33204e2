"""``search.Bench`` on this machine's GPU: compile, check, measure."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from statistics import median
from typing import Any

from sgemm_lab.checking.judge import Rounding
from sgemm_lab.cuda.compiler import Compiled, compile_kernel, suits
from sgemm_lab.cuda.launch import LoadedKernel, device_target, fits, require_gpu
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.gemm.dispatch.fits_on_sm import fit_refusal
from sgemm_lab.gemm.dispatch.prediction import predicted_gflops
from sgemm_lab.gemm.dispatch.search import Timing, WrongProductError
from sgemm_lab.gpu import Gpu, is_model
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.interleaved import Budget, Product, cublas, is_graphed, time_interleaved
from sgemm_lab.models.roofline import all_gpus
from sgemm_lab.records.gpu_record import CUBLAS, Device, Record

BUDGET = Budget(seconds=0.01, min_samples=4, max_samples=11, warm_up_seconds=0.003)
"""Time per point: resolves 1 % at most sizes. Records measure longer."""


class GpuBench:
    """``Bench`` on the GPU of this machine."""

    def __init__(self, device: Device, kernels: Sequence[Kernel], budget: Budget = BUDGET) -> None:
        """Compile all candidates in parallel.

        Raises:
            LabError: no GPU, no compiler, or a GPU without a similar data sheet in the book.
        """
        self._cupy = require_gpu()
        self._device, self._budget = device, budget
        self._gpu = _data_sheet(device)
        self._library = cublas()
        self._matrices: tuple[Size, Any] | None = None
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            self._compiled = dict(
                zip((k.name for k in kernels), pool.map(_compiled, kernels), strict=True)
            )

    def refusal(self, kernel: Kernel, size: Size) -> str | None:
        """See ``Bench.refusal``."""
        found = self._compiled[kernel.name]
        if isinstance(found, str):
            return found
        if not fits(kernel, size):
            return "A block needs more shared memory than this GPU has."
        return fit_refusal(kernel, found, self._device.compute_capability, size)

    def predicted_gflops(self, kernel: Kernel, size: Size) -> float:
        """See ``Bench.predicted_gflops``."""
        return predicted_gflops(kernel, size, self._gpu)

    def first_launch(self, kernel: Kernel, size: Size) -> float:
        """See ``Bench.first_launch``."""
        a, b, c, rounding = self._case(size)
        multiply = _loaded(kernel)
        c.fill(float("nan"))
        multiply(a, b, c)
        if not bool((rounding.shares(c) <= 1).all()):
            raise WrongProductError("The error of C exceeds the rounding bound.")
        start, stop = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        start.record()
        multiply(a, b, c)
        stop.record()
        stop.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(start, stop)) * 1e-3

    def measure(self, kernel: Kernel, size: Size) -> Timing:
        """Measure a candidate, interleaved with cuBLAS; small products as CUDA graphs.

        Raises:
            LabError: the GPU's memory cannot hold the matrices.
        """
        products: dict[str, Product] = {kernel.name: _loaded(kernel), CUBLAS: self._library}
        graphs = is_graphed(size)
        candidate, library = time_interleaved(products, size, self._budget, graphs=graphs)
        return Timing(median(candidate.seconds), median(library.seconds), graphs)

    def _case(self, size: Size) -> Any:
        """Return A, B, C and the rounding bound of a size; the latest size is cached."""
        if self._matrices is None or self._matrices[0] != size:
            self._matrices = None
            random = self._cupy.random.default_rng(seed=3)
            m, n, k = size
            a, b = (random.random(s, dtype="float32") - 0.5 for s in ((m, k), (k, n)))
            c = self._cupy.empty((m, n), dtype="float32")
            self._matrices = size, (a, b, c, Rounding(a, b))
        return self._matrices[1]


def _compiled(kernel: Kernel) -> Compiled | str:
    """Return a candidate compiled for this GPU, or the reason why it cannot be."""
    target = device_target()
    if not suits(kernel, target):
        return f"It needs {kernel.needs}, and this GPU is {target}."
    try:
        return compile_kernel(kernel, target)
    except MissingToolError:
        raise
    except LabError as fault:
        return str(fault)


@lru_cache(maxsize=256)
def _loaded(kernel: Kernel) -> LoadedKernel:
    return LoadedKernel(kernel)


def _data_sheet(device: Device) -> Gpu:
    """Return the data sheet of this GPU, or one made from its driver's description.

    Raises:
        LabError: the book has no GPU of its compute capability.
    """
    for gpu in all_gpus([Record(device, ())]):
        if is_model(device.name, gpu) or gpu.name == device.name:
            return gpu
    raise LabError(
        f"The book has no GPU of compute capability {device.compute_capability}, so {device.name} "
        "has no bounds. Add its data sheet in src/sgemm_lab/gpu.py."
    )
