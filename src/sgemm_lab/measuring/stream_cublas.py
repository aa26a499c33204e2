"""cublasSgemm on one stream, by addresses."""

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Size
from sgemm_lab.measuring.interleaved import WORKSPACE_BYTES, captured_sgemm


class StreamCublas:
    """cublasSgemm in FP32, without TF32, on one stream of the current GPU.

    Each object has its own handle, so its stream is set once. The stream may be captured into a
    CUDA graph, but not while the object is made.
    """

    def __init__(self, stream: int) -> None:
        """Make a handle of cuBLAS for the stream with this handle."""
        import numpy as np
        from cupy_backends.cuda.libs import cublas as library

        self._workspace = require_gpu().empty(WORKSPACE_BYTES, "uint8")
        self._handle = library.create()
        library.setStream(self._handle, stream)
        library.setMathMode(self._handle, library.CUBLAS_DEFAULT_MATH)
        self._version = library.getVersion(self._handle)
        self._factors = np.array([0, 1], "float32")
        self._zero = self._factors.ctypes.data
        self._one = self._zero + FLOAT_BYTES

    def launch(self, a: int, b: int, c: int, size: Size, *, adds: bool = False) -> None:
        """Compute c = a·b, or c += a·b, for row-major float32 matrices at three addresses."""
        m, n, k = size
        # cuBLAS is column-major and reads these as Aᵀ, Bᵀ and Cᵀ; Cᵀ = Bᵀ·Aᵀ.
        captured_sgemm(
            self._version,
            (
                self._handle, 0, 0, n, m, k, self._one, b, n, a, k,
                self._one if adds else self._zero, c, n,
            ),
            self._workspace.data.ptr,
        )  # fmt: skip
