"""Interleaved timing of kernels and cuBLAS with GPU events and inputs rotated past the L2 cache.

One sample is the time between two GPU events around one launch per set of inputs, or several of a
short product, divided by the launches. The sets fill the L2 cache twice, so no launch finds its
inputs in cache. A waiting kernel
blocks the GPU while the host queues the launches, so there are no gaps between them, even on a slow
host. Kernels and cuBLAS alternate sample by sample, so clock drift affects all of them. It stamps
time and SM clocks before and after a sample: their ratio is the mean clock during the sample.

A product of microseconds is shorter than the gap between two launches. On request the launches of a
sample, also those of cuBLAS, are captured in a CUDA graph, which the GPU replays almost without
gaps.
"""

import ctypes
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from time import sleep
from typing import Any

from sgemm_lab.cuda.launch import HalfCopies, LoadedKernel, require_gpu
from sgemm_lab.cuda.micro import load_micro
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.gpu_record import CUBLAS_MODES, Measurement, Spread

CUBLAS_CALL = "cublasSgemm, CUBLAS_DEFAULT_MATH (FP32, no TF32)"

_TF32_MATH = 3
"""CUBLAS_TF32_TENSOR_OP_MATH (cuBLAS documentation, cublasMath_t), which CuPy does not define."""

_FP32, _FP16 = 0, 2
"""CUDA_R_32F and CUDA_R_16F (CUDA's library_types.h)."""
_COMPUTE_FP32, _ANY_ALGORITHM = 68, -1
"""CUBLAS_COMPUTE_32F and CUBLAS_GEMM_DEFAULT (cublas_api.h)."""

WORKSPACE_BYTES = 32 * 2**20
"""Default workspace of cuBLAS on Hopper (cuBLAS documentation, cublasSetWorkspace). In a graph
cuBLAS would allocate it in every launch."""

_ALIGNED_FLOATS = 128
"""CuPy's allocations begin at multiples of 512 bytes."""

GRAPHED_FLOP = 2 * 2048**3
"""Records measure products of up to this many FLOP as CUDA graphs."""

STEADY = 0.01
"""Samples are steady if their middle half spans at most this part of the median."""

Product = Callable[[Any, Any, Any], None]
"""Computes c = a·b for float32 matrices on the GPU."""

Progress = Callable[[str], None]
"""Called with a line of text that describes the current measurement."""


@dataclass(frozen=True)
class Budget:
    """Duration of a measurement of one kernel at one size."""

    seconds: float = 0.4
    """Least time to spend on samples. Up to three times as long, until they are steady."""
    min_samples: int = 5
    max_samples: int = 40
    warm_up_seconds: float = 0.1
    sample_seconds: float = 0.004
    """Least duration of a sample: shorter ones launch several times per set of inputs. Times of
    launches may have two values, if blocks are placed in two ways; a long sample is their mean."""
    rest: float = 2.0
    """Pause after a sample, in durations of the sample. Without pauses a card reaches its power
    limit and lowers its clock, for the products that follow too."""


def cublas(*, tf32: bool = False) -> Product:
    """Return cuBLAS's product in FP32, or with TF32 tensor cores allowed.

    cuBLAS is column-major and reads row-major A, B, C as Aᵀ, Bᵀ, Cᵀ. Since Cᵀ = Bᵀ·Aᵀ, B is the
    first argument.
    """
    cupy = require_gpu()
    import numpy as np
    from cupy_backends.cuda.libs import cublas as library

    one, zero = np.array(1, "float32"), np.array(0, "float32")
    mode = _TF32_MATH if tf32 else library.CUBLAS_DEFAULT_MATH
    workspace: list[Any] = []

    def multiply(a: Any, b: Any, c: Any) -> None:
        handle = cupy.cuda.device.get_cublas_handle()
        library.setMathMode(handle, mode)
        (m, k), n = a.shape, b.shape[1]
        plain = library.CUBLAS_OP_N
        given = (
            handle, plain, plain, n, m, k,
            one.ctypes.data, b.data.ptr, n, a.data.ptr, k, zero.ctypes.data, c.data.ptr, n,
        )  # fmt: skip
        if cupy.cuda.get_current_stream().is_capturing():
            captured_sgemm(library.getVersion(handle), given, workspace[0].data.ptr)
            return
        if not workspace:
            workspace.append(cupy.empty(WORKSPACE_BYTES, "uint8"))
        library.sgemm(*given)

    return multiply


def cublas_fp16() -> Product:
    """Return cuBLAS's product of FP16 factors with FP32 accumulation.

    The first call with two matrices converts them, so the conversion is not timed. The copies are
    kept until a call with another size. A CUDA graph cannot capture this product.
    """
    cupy = require_gpu()
    import numpy as np
    from cupy_backends.cuda.libs import cublas as library

    one, zero = np.array(1, "float32"), np.array(0, "float32")
    halves = HalfCopies()

    def multiply(a: Any, b: Any, c: Any) -> None:
        (m, k), n = a.shape, b.shape[1]
        half_a, half_b = (half.data.ptr for half in halves.of(a, b))
        handle = cupy.cuda.device.get_cublas_handle()
        library.setMathMode(handle, library.CUBLAS_DEFAULT_MATH)
        plain = library.CUBLAS_OP_N
        library.gemmEx(
            handle, plain, plain, n, m, k,
            one.ctypes.data, half_b, _FP16, n, half_a, _FP16, k,
            zero.ctypes.data, c.data.ptr, _FP32, n, _COMPUTE_FP32, _ANY_ALGORITHM,
        )  # fmt: skip

    return multiply


def captured_sgemm(version: int, given: tuple[int, ...], workspace: int) -> None:
    """Call cublasSgemm, also during a stream capture, where CuPy refuses.

    The handle uses the stream that was set for it, or of the latest call outside of a capture.
    ``version`` is that of the cuBLAS that CuPy has loaded, such as 130100; ``workspace`` the
    address of ``WORKSPACE_BYTES``.
    """
    library = cublas_library(version // 10000)
    pointer, count = ctypes.c_void_p, ctypes.c_int
    handle, first, second, n, m, k, one, b, ldb, a, lda, zero, c, ldc = given
    status = library.cublasSetWorkspace_v2(
        pointer(handle), pointer(workspace), ctypes.c_size_t(WORKSPACE_BYTES)
    )
    status = status or library.cublasSgemm_v2(
        pointer(handle), count(first), count(second), count(n), count(m), count(k), pointer(one),
        pointer(b), count(ldb), pointer(a), count(lda), pointer(zero), pointer(c), count(ldc),
    )  # fmt: skip
    if status:
        raise LabError(f"cuBLAS refuses (status {status}). Is the GPU's memory used up?")


@lru_cache(maxsize=1)
def cublas_library(major: int) -> Any:
    """Load the cuBLAS of a major version, such as 13.

    Raises:
        OSError: it is not found.
    """
    return ctypes.CDLL(
        f"cublas64_{major}.dll" if sys.platform == "win32" else f"libcublas.so.{major}"
    )


def contenders(kernels: Iterable[Kernel]) -> dict[str, Product]:
    """Load kernels and return them by name, with cuBLAS.

    If a kernel uses tensor cores, cuBLAS in TF32 and FP16 is included.
    """
    kernels = list(kernels)
    products: dict[str, Product] = {kernel.name: LoadedKernel(kernel) for kernel in kernels}
    products[CUBLAS_MODES["fp32"]] = cublas()
    if any(kernel.arithmetic != "fp32" for kernel in kernels):
        products[CUBLAS_MODES["tf32"]] = cublas(tf32=True)
        products[CUBLAS_MODES["fp16"]] = cublas_fp16()
    return products


class TimingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a timing. ``measurements`` holds the results so far."""

    def __init__(self, measurements: list[Measurement]) -> None:
        super().__init__()
        self.measurements = measurements


def time_interleaved(
    products: dict[str, Product],
    size: Size,
    budget: Budget | None = None,
    progress: Progress = lambda _: None,
    graphs: bool = False,
) -> list[Measurement]:
    """Measure all products at one size, interleaved, each within the budget.

    A product that refuses the size with a LabError is skipped, and ``progress`` gets the reason.
    With ``graphs`` the launches of a sample are replayed as a CUDA graph; products must then
    neither wait for the GPU nor allocate memory after their first call. The measurements have no
    fingerprints, which the caller adds.

    Raises:
        LabError: the GPU's memory cannot hold the matrices.
        TimingInterrupted: Ctrl-C; it holds the results so far.
    """
    cupy = require_gpu()
    budget = budget or Budget()
    stream = cupy.cuda.Stream(non_blocking=True)
    timed: dict[str, _TimedProduct] = {}
    with stream:
        try:
            inputs = _input_sets(cupy, size)
            stream.synchronize()
            for name, product in products.items():
                try:
                    timed[name] = _TimedProduct(cupy, stream, product, inputs, budget, graphs)
                except LabError as refusal:
                    progress(f"{name} is left out: {refusal}")
            while active := [one for one in timed.values() if not one.done]:
                for one in active:
                    one.sample()
        except KeyboardInterrupt:
            raise TimingInterrupted(_results(timed, size)) from None
        except cupy.cuda.memory.OutOfMemoryError:
            m, n, k = size
            raise LabError(
                f"The GPU's memory cannot hold the matrices of {m}×{n}×{k}. Choose a smaller size."
            ) from None
    return _results(timed, size)


def is_steady(seconds: Sequence[float]) -> bool:
    """Say whether the middle half of the samples spans at most 1 % of their median."""
    first, median, third = statistics.quantiles(seconds, n=4)
    return third - first <= STEADY * median


def is_graphed(size: Size) -> bool:
    """Whether records measure a product of this size as a CUDA graph."""
    m, n, k = size
    return 2 * m * n * k <= GRAPHED_FLOP


def input_set_count(matrix_bytes: int, l2_bytes: int) -> int:
    """Return the number of sets of matrices that fill L2 twice, at most 512."""
    return min(max(1, math.ceil(2 * l2_bytes / matrix_bytes)), 512)


def _input_sets(cupy: Any, size: Size) -> list[tuple[Any, Any, Any]]:
    m, n, k = size
    l2_bytes = int(cupy.cuda.Device().attributes["L2CacheSize"])
    count = input_set_count(4 * (m * k + k * n + m * n), l2_bytes)
    random = cupy.random.default_rng(seed=1)

    def uniform(rows: int, columns: int) -> list[Any]:
        """Return matrices in one allocation, each aligned as CuPy aligns an allocation."""
        elements = rows * columns
        step = math.ceil(elements / _ALIGNED_FLOATS) * _ALIGNED_FLOATS
        flat = random.random((count, step), dtype="float32")
        flat -= cupy.float32(0.5)
        return [row[:elements].reshape(rows, columns) for row in flat]

    products = (cupy.empty((m, n), dtype="float32") for _ in range(count))
    return list(zip(uniform(m, k), uniform(k, n), products, strict=True))


class _TimedProduct:
    """One product of an interleaved timing, with its samples."""

    def __init__(
        self,
        cupy: Any,
        stream: Any,
        product: Product,
        inputs: list[Any],
        budget: Budget,
        graph: bool,
    ) -> None:
        self._cupy = cupy
        self._stream = stream
        self._product = product
        self._inputs = inputs
        self._budget = budget
        self._hold = load_micro("hold", "hold")
        self._start, self._stop = cupy.cuda.Event(), cupy.cuda.Event()
        self._stamps = cupy.empty((2, 3), "int64")
        """Nanoseconds, clocks and number of an SM, before and after a sample."""
        self._spent = 0.0
        self.seconds: list[float] = []
        self.clocks_mhz: list[float] = []
        # The first launch loads code and allocates workspace; the second times the host.
        product(*inputs[0])
        stream.synchronize()
        begin = time.perf_counter()
        product(*inputs[0])
        calls = 1 if graph else len(inputs)
        self._host_seconds = (time.perf_counter() - begin) * calls
        stream.synchronize()
        self._graph = self._captured() if graph else None
        self._repeats = 1
        warm = elapsed = 0.0
        while warm < budget.warm_up_seconds:
            elapsed = self._run_once()
            warm += elapsed
        if elapsed:
            self._repeats = max(1, math.ceil(budget.sample_seconds / elapsed))
        sleep(budget.rest * warm)

    @property
    def launches(self) -> int:
        """Launches per sample: one or more per set of inputs."""
        return len(self._inputs) * self._repeats

    @property
    def done(self) -> bool:
        """Whether there are enough samples."""
        samples, budget = len(self.seconds), self._budget
        if samples < budget.min_samples or self._spent < budget.seconds:
            return samples >= budget.max_samples
        return is_steady(self.seconds) or self._spent >= 3 * budget.seconds

    def sample(self) -> None:
        """Take a sample."""
        elapsed = self._run_once()
        self._spent += elapsed
        self.seconds.append(elapsed / self.launches)
        (begin, first, sm), (end, last, same) = self._cupy.asnumpy(self._stamps).tolist()
        if sm == same and end > begin:
            self.clocks_mhz.append((last - first) / (end - begin) * 1e3)
        sleep(self._budget.rest * elapsed)

    def _run_once(self) -> float:
        """Return the GPU's seconds for the launches of a sample."""
        held = min(2 * self._host_seconds * self._repeats + 50e-6, 0.1)
        self._hold((1,), (1,), (self._cupy.int64(int(held * 1e9)), self._stamps[0]))
        self._start.record(self._stream)
        for _ in range(self._repeats):
            if self._graph is None:
                self._launch()
            else:
                self._graph.launch(self._stream)
        self._stop.record(self._stream)
        self._hold((1,), (1,), (self._cupy.int64(0), self._stamps[1]))
        self._stream.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(self._start, self._stop)) * 1e-3

    def _launch(self) -> None:
        for a, b, c in self._inputs:
            self._product(a, b, c)

    def _captured(self) -> Any:
        """Return a CUDA graph of one launch per set of inputs."""
        self._stream.begin_capture()
        self._launch()
        return self._stream.end_capture()

    @property
    def is_graph(self) -> bool:
        """Whether a sample is the replay of a graph."""
        return self._graph is not None


def _results(timed: dict[str, _TimedProduct], size: Size) -> list[Measurement]:
    return [
        Measurement(
            name,
            "",
            *size,
            launches=one.launches,
            seconds=tuple(one.seconds),
            graph=one.is_graph or None,
            clock_mhz=round(statistics.median(one.clocks_mhz)) if one.clocks_mhz else None,
        )
        for name, one in timed.items()
        if one.seconds
    ]


@dataclass
class CardReadings:
    """SM clocks, power and temperature of the card under load."""

    clock_mhz: list[float] = field(default_factory=list)
    power_w: list[float] = field(default_factory=list)
    temperature_c: list[float] = field(default_factory=list)

    def take(self, line: str) -> None:
        """Add one line of nvidia-smi's output; values that are not numbers are dropped."""
        values = []
        for text in line.split(","):
            try:
                values.append(float(text))
            except ValueError:
                values.append(math.nan)
        if len(values) != 4 or not values[0] > 0:
            return
        for readings, value in zip(vars(self).values(), values[1:], strict=True):
            if not math.isnan(value):
                readings.append(value)

    def spreads(self) -> dict[str, Any]:
        """Return the spread of each, by the name of its field in a record."""
        return {name: Spread.of(readings) for name, readings in vars(self).items()}


@contextmanager
def watch_card() -> Iterator[CardReadings]:
    """Read clock, power and temperature with nvidia-smi; the readings are there at the end.

    Readings of an idle GPU are dropped. Without nvidia-smi there are no readings.
    """
    readings = CardReadings()
    command = [
        "nvidia-smi", "--query-gpu=utilization.gpu,clocks.sm,power.draw,temperature.gpu",
        "--format=csv,noheader,nounits", "--loop-ms=250", "--id=0",
    ]  # fmt: skip
    with ExitStack() as stack:
        try:
            output = stack.enter_context(
                tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
            )
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        except OSError:
            yield readings
            return
        try:
            yield readings
        finally:
            process.terminate()
            process.wait()
            output.seek(0)
            for line in output:
                readings.take(line)
