"""Where cuBLAS is expected to be faster than the model's kernel, by measured shapes that are near.

Which kernel cuBLAS takes is not published, so its time has no model here. But at shapes that
resemble each other the ratio of both times is mostly similar.
"""

import math
from collections.abc import Sequence
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.gemm.dispatch.model import VECTOR
from sgemm_lab.gemm.dispatch.product import MOST_PLANS, Dispatcher, GpuDispatcher, is_aligned_at
from sgemm_lab.gemm.dispatch.trial import Plan, is_captured, stream_handle
from sgemm_lab.kernel import Size
from sgemm_lab.measuring.interleaved import cublas_library
from sgemm_lab.measuring.stream_cublas import StreamCublas
from sgemm_lab.records.dispatch_table import LibraryShape

_REACH = 1.0
"""Distance at which a measured shape counts e times less; a doubling of M, N or K is 1."""
_ALIGNMENT = 2.0
"""Distance of shapes whose rows of B float4 can read from others."""
_DOUBT = 0.1
"""Weight of the assumption that both are equally fast, against a measured shape at distance 0."""
_MARGIN = 1.1
"""Where no shape was measured cuBLAS is taken unless the kernel is expected to be faster by this
factor. Of reaches from 0.8 to 1.2 and margins from 1.05 to 1.12, these two left at most 4 of 100
shapes under 0.95 of cuBLAS, for two seeds on two cards, at the highest mean."""


class LibraryRatio:
    """The expected time of cuBLAS over that of the model's kernel, by shape."""

    def __init__(self, measured: Sequence[LibraryShape]) -> None:
        """Take the measured shapes. Far from all of them both are assumed to be equally fast."""
        import numpy as np

        self._places = np.array([_place(one.size) for one in measured]).reshape(-1, 4)
        self._logs = np.log([one.ratio for one in measured])
        self._measured = {one.size: one.ratio for one in measured}

    def favours_library(self, size: Size) -> bool:
        """Say whether to take cuBLAS: at a measured shape if it was faster, else by ``_MARGIN``."""
        measured = self._measured.get(size)
        return measured < 1 if measured else self(size) < _MARGIN

    def __call__(self, size: Size) -> float:
        """Return the ratio for M, N, K, each 1 or more."""
        squares = ((self._places - _place(size)) ** 2).sum(1)
        weights = math.e ** (-squares / _REACH**2)
        return math.exp(float(weights @ self._logs) / (float(weights.sum()) + _DOUBT))


def _place(size: Size) -> tuple[float, float, float, float]:
    m, n, k = size
    return math.log2(m), math.log2(n), math.log2(k), _ALIGNMENT * (n % VECTOR > 0)


class WithCublas(Dispatcher):
    """A dispatcher that takes cuBLAS where it is expected to be faster, or nearly."""

    def __init__(self, kernels: GpuDispatcher) -> None:
        """Take the dispatcher whose model chooses among the kernels."""
        self._kernels = kernels
        self._ratio = LibraryRatio(kernels.library_shapes)
        measured = bool(kernels.library_shapes)
        self._cublas = Cublas(require_gpu(), kernels) if measured and has_cublas() else None
        self._plans: dict[Size, Plan] = {}

    def launch(self, a: int, b: int, c: int, size: Size, stream: Any = None) -> None:
        """Compute c = a·b for matrices at three addresses, as ``LoadedKernel.launch``."""
        plan = self._plans.get(size) or self._plan(size)
        if plan is not self._kernels and not is_aligned_at(a, b, c):
            plan = self._kernels  # the measured shapes were aligned
        plan.launch(a, b, c, size, stream)

    def takes_cublas(self, size: Size) -> bool:
        """Say whether aligned matrices of M, N, K are multiplied by cuBLAS."""
        return self._cublas is not None and self._ratio.favours_library(size)

    def _plan(self, size: Size) -> Plan:
        if len(self._plans) >= MOST_PLANS:
            self._plans.clear()
        plan = self._cublas if self._cublas and self.takes_cublas(size) else self._kernels
        self._plans[size] = plan
        return plan


def has_cublas() -> bool:
    """Say whether CuPy finds cuBLAS here."""
    try:
        from cupy_backends.cuda.libs import cublas

        cublas_library(cublas.getVersion(require_gpu().cuda.device.get_cublas_handle()) // 10000)
    except (ImportError, OSError):
        return False
    return True


class Cublas:
    """cuBLAS on any stream. A stream's handle is made by its first product outside a capture."""

    def __init__(self, cupy: Any, captured: Plan) -> None:
        """``captured`` is launched where there is no handle and none can be made."""
        self._cupy, self._captured = cupy, captured
        self._handles: dict[int, StreamCublas] = {}

    def launch(self, a: int, b: int, c: int, size: Size, stream: Any = None) -> None:
        """Compute c = a·b, as ``LoadedKernel.launch``."""
        key = stream_handle(self._cupy, stream)
        found = self._handles.get(key)
        if found is None:
            if is_captured(self._cupy, stream):
                self._captured.launch(a, b, c, size, stream)
                return
            found = self._handles[key] = StreamCublas(key)
        found.launch(a, b, c, size)
