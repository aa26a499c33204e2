"""The product of one GPU: cuBLAS, or the book's own kernels by their dispatcher."""

from typing import Any, Protocol

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.measuring.interleaved import WORKSPACE_BYTES
from sgemm_lab.measuring.stream_cublas import StreamCublas

CUBLAS, BOOK = "cublas", "book"
LOCAL_PRODUCTS = (CUBLAS, BOOK)
"""Products on one GPU."""


class Local(Protocol):
    """An asynchronous product on one GPU and one stream, which a CUDA graph can capture."""

    def __call__(self, a: Any, b: Any, c: Any, *, adds: bool) -> None:
        """Compute c = a·b, or c += a·b, for row-major float32 matrices on the current GPU."""


def local_product(inside: str, stream: Any, scratch: int) -> Local:
    """Return a product for the current GPU.

    Args:
        inside: one of ``LOCAL_PRODUCTS``.
        stream: a CuPy stream of this GPU.
        scratch: elements of the largest tile of C that is accumulated; 0 if none is.

    Raises:
        LabError: there is no such product, or it does not run here.
    """
    if inside == CUBLAS:
        return _Cublas(stream)
    if inside == BOOK:
        return _Book(stream, scratch)
    raise LabError(f"There is no product '{inside}'. Take one of {', '.join(LOCAL_PRODUCTS)}.")


def scratch_bytes(inside: str, elements: int) -> int:
    """Return the bytes that a product needs in addition to A, B and C."""
    return WORKSPACE_BYTES if inside == CUBLAS else FLOAT_BYTES * elements


class _Cublas:
    """cublasSgemm in FP32, without TF32."""

    def __init__(self, stream: Any) -> None:
        self._cublas = StreamCublas(stream.ptr)

    def __call__(self, a: Any, b: Any, c: Any, *, adds: bool) -> None:
        (m, k), n = a.shape, b.shape[1]
        self._cublas.launch(a.data.ptr, b.data.ptr, c.data.ptr, (m, n, k), adds=adds)


class _Book:
    """The book's dispatcher. Accumulation uses a scratch tile and a separate addition.

    A kernel that loads C in its epilogue loses more time than the separate addition takes.
    """

    def __init__(self, stream: Any, scratch: int) -> None:
        self._cupy = require_gpu()
        self._stream = stream
        self._dispatcher = dispatcher(self._cupy.cuda.Device().id)
        self._scratch = self._cupy.empty(scratch, "float32") if scratch else None

    def __call__(self, a: Any, b: Any, c: Any, *, adds: bool) -> None:
        with self._stream:
            if not adds:
                self._dispatcher(a, b, c)
                return
            assert self._scratch is not None, "accumulation needs scratch"
            product = self._scratch[: c.size].reshape(c.shape)
            self._dispatcher(a, b, product)
            self._cupy.add(c, product, out=c)
