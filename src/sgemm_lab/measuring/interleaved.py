"""How fast is a kernel? GPU events, inputs rotated past the L2 cache, cuBLAS in the same run.

One sample is the time between two GPU events around one launch per set of inputs, divided by the
launches. There are enough sets to fill the L2 cache twice, so no launch finds its inputs in cache
because the last one left them there. A kernel that only waits holds the GPU while the host queues
the launches; so they follow each other without gaps, however slow the host is. Kernels and cuBLAS
take turns, sample by sample: a clock that drifts drifts for all.

A product of microseconds is shorter than the gap between two launches. Where a race is asked to, it
captures the launches of a sample in a CUDA graph, which the GPU replays with hardly a gap: those of
cuBLAS as those of the kernels.
"""

import ctypes
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from sgemm_lab.cuda.launch import LoadedKernel, require_gpu
from sgemm_lab.cuda.micro import load_micro
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.gpu_record import CUBLAS_MODES, Measurement

CUBLAS_CALL = "cublasSgemm, CUBLAS_DEFAULT_MATH (FP32, no TF32)"

_TF32_MATH = 3
"""CUBLAS_TF32_TENSOR_OP_MATH (cuBLAS documentation, cublasMath_t), which CuPy does not name."""

_FP32, _FP16 = 0, 2
"""CUDA_R_32F and CUDA_R_16F (CUDA's library_types.h)."""
_COMPUTE_FP32, _ANY_ALGORITHM = 68, -1
"""CUBLAS_COMPUTE_32F and CUBLAS_GEMM_DEFAULT (cublas_api.h)."""

WORKSPACE_BYTES = 32 * 2**20
"""What cuBLAS itself sets aside on Hopper (cuBLAS documentation, cublasSetWorkspace). In a graph it
would ask the driver for it in every launch."""

GRAPHED_FLOP = 2 * 2048**3
"""Products of up to so many FLOP are measured as graphs where a race is for a record."""

Product = Callable[[Any, Any, Any], None]
"""Computes c = a·b for float32 matrices on the GPU."""

Progress = Callable[[str], None]
"""Is told, in a few words, what is being measured."""


@dataclass(frozen=True)
class Budget:
    """How long to measure one kernel at one size."""

    seconds: float = 0.4
    """Time to spend on samples."""
    min_samples: int = 5
    max_samples: int = 40
    warm_up_seconds: float = 0.1


def cublas(*, tf32: bool = False) -> Product:
    """Return cuBLAS's FP32 product, or on request the one that may round its factors to TF32.

    cuBLAS stores matrices by columns. Read that way, our row-major A, B, C are Aᵀ, Bᵀ, Cᵀ, and
    Cᵀ = Bᵀ·Aᵀ: so B goes first.
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
            _sgemm_in_graph(library.getVersion(handle), given, workspace[0].data)
            return
        if not workspace:
            workspace.append(cupy.empty(WORKSPACE_BYTES, "uint8"))
        library.sgemm(*given)

    return multiply


def cublas_fp16() -> Product:
    """Return cuBLAS's product of factors rounded to FP16 beforehand, added up in FP32.

    The rounding is not timed: what is called is a product of FP16 matrices. They are kept for as
    long as the next call has matrices of the same size. It cannot be part of a CUDA graph.
    """
    cupy = require_gpu()
    import numpy as np
    from cupy_backends.cuda.libs import cublas as library

    one, zero = np.array(1, "float32"), np.array(0, "float32")
    # A float32 matrix stays alive beside its rounded copy: so none other has its address.
    kept: dict[int, tuple[Any, Any]] = {}

    def rounded(x: Any) -> Any:
        if x.data.ptr not in kept:
            kept[x.data.ptr] = x, x.astype("float16")
        return kept[x.data.ptr][1].data.ptr

    def multiply(a: Any, b: Any, c: Any) -> None:
        (m, k), n = a.shape, b.shape[1]
        if any(held.shape not in ((m, k), (k, n)) for held, _ in kept.values()):
            kept.clear()
        handle = cupy.cuda.device.get_cublas_handle()
        library.setMathMode(handle, library.CUBLAS_DEFAULT_MATH)
        plain = library.CUBLAS_OP_N
        library.gemmEx(
            handle, plain, plain, n, m, k,
            one.ctypes.data, rounded(b), _FP16, n, rounded(a), _FP16, k,
            zero.ctypes.data, c.data.ptr, _FP32, n, _COMPUTE_FP32, _ANY_ALGORITHM,
        )  # fmt: skip

    return multiply


def _sgemm_in_graph(version: int, given: tuple[int, ...], workspace: Any) -> None:
    """Call cublasSgemm where a stream is captured, which CuPy itself refuses to do.

    Its handle works on the stream of the latest call outside of a graph: a race makes one first.

    Raises:
        LabError: cuBLAS refuses the call.
    """
    library = cublas_library(version)
    pointer, count = ctypes.c_void_p, ctypes.c_int
    handle, first, second, n, m, k, one, b, ldb, a, lda, zero, c, ldc = given
    status = library.cublasSetWorkspace_v2(
        pointer(handle), pointer(workspace.ptr), ctypes.c_size_t(WORKSPACE_BYTES)
    )
    status = status or library.cublasSgemm_v2(
        pointer(handle), count(first), count(second), count(n), count(m), count(k), pointer(one),
        pointer(b), count(ldb), pointer(a), count(lda), pointer(zero), pointer(c), count(ldc),
    )  # fmt: skip
    if status:
        raise LabError(f"cuBLAS refused to be part of a CUDA graph (status {status}).")


def cublas_library(version: int) -> Any:
    """Return the cuBLAS that CuPy has loaded, of a version such as 130100."""
    major = version // 10000
    name = f"cublas64_{major}.dll" if sys.platform == "win32" else f"libcublas.so.{major}"
    return ctypes.CDLL(name)


def contenders(kernels: Iterable[Kernel]) -> dict[str, Product]:
    """Return the loaded kernels by name, and cuBLAS.

    Where tensor cores multiply in one of the kernels, cuBLAS is there in TF32 and FP16 too.

    Raises:
        LabError: no GPU, or a kernel that cannot be loaded.
    """
    kernels = list(kernels)
    products: dict[str, Product] = {kernel.name: LoadedKernel(kernel) for kernel in kernels}
    products[CUBLAS_MODES["fp32"]] = cublas()
    if any(kernel.arithmetic != "fp32" for kernel in kernels):
        products[CUBLAS_MODES["tf32"]] = cublas(tf32=True)
        products[CUBLAS_MODES["fp16"]] = cublas_fp16()
    return products


class TimingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a race. ``measurements`` holds what was measured until then."""

    def __init__(self, measurements: list[Measurement]) -> None:
        super().__init__()
        self.measurements = measurements


def race(
    products: dict[str, Product],
    size: Size,
    budget: Budget | None = None,
    progress: Progress = lambda _: None,
    graphs: bool = False,
) -> list[Measurement]:
    """Measure all products at one size (M, N, K), taking turns.

    With ``graphs`` the launches of a sample are replayed as a CUDA graph: a product must not wait
    for the GPU then, nor allocate memory after its first call.

    A measurement bears its product's name and no fingerprint: only who loaded a kernel knows it. A
    product that refuses the size with a LabError is left out; ``progress`` is told why.

    Raises:
        LabError: the GPU's memory cannot hold the matrices.
        TimingInterrupted: Ctrl-C; it carries what was measured.
    """
    cupy = require_gpu()
    budget = budget or Budget()
    stream = cupy.cuda.Stream(non_blocking=True)
    laps: dict[str, _Lap] = {}
    with stream:
        try:
            inputs = _input_sets(cupy, size)
            stream.synchronize()
            for name, product in products.items():
                try:
                    laps[name] = _Lap(cupy, stream, product, inputs, budget, graphs)
                except LabError as refusal:
                    progress(f"{name} is left out: {refusal}")
            while active := [lap for lap in laps.values() if not lap.done]:
                for lap in active:
                    lap.sample()
        except KeyboardInterrupt:
            raise TimingInterrupted(_results(laps, size)) from None
        except cupy.cuda.memory.OutOfMemoryError:
            m, n, k = size
            raise LabError(
                f"The GPU's memory cannot hold the matrices of {m}×{n}×{k}. Choose a smaller size."
            ) from None
    return _results(laps, size)


def is_graphed(size: Size) -> bool:
    """Say whether a product is so short that a record measures it as a CUDA graph."""
    m, n, k = size
    return 2 * m * n * k <= GRAPHED_FLOP


def input_set_count(matrix_bytes: int, l2_bytes: int) -> int:
    """Return how many sets of matrices to rotate through, so that they fill L2 twice."""
    return min(max(1, math.ceil(2 * l2_bytes / matrix_bytes)), 512)


def _input_sets(cupy: Any, size: Size) -> list[tuple[Any, Any, Any]]:
    m, n, k = size
    l2_bytes = int(cupy.cuda.Device().attributes["L2CacheSize"])
    count = input_set_count(4 * (m * k + k * n + m * n), l2_bytes)
    random = cupy.random.default_rng(seed=1)

    def uniform(rows: int, columns: int) -> Any:
        return random.random((rows, columns), dtype="float32") - cupy.float32(0.5)

    return [
        (uniform(m, k), uniform(k, n), cupy.empty((m, n), dtype="float32")) for _ in range(count)
    ]


class _Lap:
    """One product in a race, and its samples."""

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
        self._spent = 0.0
        self.seconds: list[float] = []
        # The first launch loads code and allocates workspace; the second shows the host's pace.
        product(*inputs[0])
        stream.synchronize()
        begin = time.perf_counter()
        product(*inputs[0])
        calls = 1 if graph else len(inputs)
        host_seconds = (time.perf_counter() - begin) * calls
        self._hold_ns = int(min(2 * host_seconds + 50e-6, 0.1) * 1e9)
        stream.synchronize()
        self._graph = self._captured() if graph else None
        warm = 0.0
        while warm < budget.warm_up_seconds:
            warm += self._run_once()

    @property
    def launches(self) -> int:
        """Launches in one sample: one per set of inputs."""
        return len(self._inputs)

    @property
    def done(self) -> bool:
        """Whether there are samples enough."""
        samples, budget = len(self.seconds), self._budget
        enough = samples >= budget.min_samples and self._spent >= budget.seconds
        return enough or samples >= budget.max_samples

    def sample(self) -> None:
        """Take one more sample."""
        elapsed = self._run_once()
        self._spent += elapsed
        self.seconds.append(elapsed / self.launches)

    def _run_once(self) -> float:
        """Return the seconds that one launch per set of inputs took on the GPU."""
        self._hold((1,), (1,), (self._cupy.int64(self._hold_ns),))
        self._start.record(self._stream)
        if self._graph is None:
            self._launch()
        else:
            self._graph.launch(self._stream)
        self._stop.record(self._stream)
        self._stop.synchronize()
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


def _results(laps: dict[str, _Lap], size: Size) -> list[Measurement]:
    return [
        Measurement(
            name,
            "",
            *size,
            launches=lap.launches,
            seconds=tuple(lap.seconds),
            graph=lap.is_graph or None,
        )
        for name, lap in laps.items()
        if lap.seconds
    ]


@dataclass
class CardReadings:
    """What the card said of itself while it worked: SM clock, power, temperature."""

    clock_mhz: list[float] = field(default_factory=list)
    power_w: list[float] = field(default_factory=list)
    temperature_c: list[float] = field(default_factory=list)


class WatchCard(AbstractContextManager[CardReadings]):
    """Read clock, power and temperature with nvidia-smi while a block of code runs.

    Readings with the GPU idle are left out. Where nvidia-smi is missing, there are no readings.
    """

    _QUERY = "utilization.gpu,clocks.sm,power.draw,temperature.gpu"
    _INTERVAL_MS = 250

    def __enter__(self) -> CardReadings:
        self.readings = CardReadings()
        self._thread: threading.Thread | None = None
        command = [
            "nvidia-smi", f"--query-gpu={self._QUERY}", "--format=csv,noheader,nounits",
            f"--loop-ms={self._INTERVAL_MS}", "--id=0",
        ]  # fmt: skip
        try:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except OSError:
            return self.readings
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self.readings

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.take(line)

    def take(self, line: str) -> None:
        """Add one line of nvidia-smi's answer; a value it does not know is left out."""
        values = []
        for text in line.split(","):
            try:
                values.append(float(text))
            except ValueError:
                values.append(math.nan)
        if len(values) != 4 or not values[0] > 0:
            return
        lists = (self.readings.clock_mhz, self.readings.power_w, self.readings.temperature_c)
        for readings, value in zip(lists, values[1:], strict=True):
            if not math.isnan(value):
                readings.append(value)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread is None:
            return
        self._process.terminate()
        self._process.wait()
        self._thread.join(timeout=2)
        if self._process.stdout is not None:
            self._process.stdout.close()
