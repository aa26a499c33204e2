"""The product of one GPU: cuBLAS, or the book's own kernels by their dispatcher."""

from collections.abc import Callable
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.measuring.interleaved import WORKSPACE_BYTES
from sgemm_lab.measuring.stream_cublas import StreamCublas

CUBLAS, BOOK = "cublas", "book"
LOCAL_PRODUCTS = (CUBLAS, BOOK)

Local = Callable[[Any, Any, Any, bool], None]
"""Queues c = a·b on a stream, or c += a·b if the last argument is true, for row-major float32
matrices on the current GPU."""


def local_product(inside: str, stream: Any, scratch: int) -> Local:
    """Return a product for the current GPU and one of its CuPy streams.

    ``inside`` is one of ``LOCAL_PRODUCTS``. ``scratch`` is the number of elements of the largest
    tile of C that is accumulated; 0 if none is.
    """
    if inside == CUBLAS:
        return _cublas(stream)
    if inside == BOOK:
        return _book(stream, scratch)
    raise LabError(f"There is no product '{inside}'. Take one of {', '.join(LOCAL_PRODUCTS)}.")


def scratch_bytes(inside: str, elements: int) -> int:
    """Return the bytes that a product needs in addition to A, B and C."""
    return WORKSPACE_BYTES if inside == CUBLAS else FLOAT_BYTES * elements


def _cublas(stream: Any) -> Local:
    """Return cublasSgemm in FP32, without TF32."""
    cublas = StreamCublas(stream.ptr)

    def multiply(a: Any, b: Any, c: Any, adds: bool) -> None:
        (m, k), n = a.shape, b.shape[1]
        cublas.launch(a.data.ptr, b.data.ptr, c.data.ptr, (m, n, k), adds=adds)

    return multiply


def _book(stream: Any, scratch: int) -> Local:
    """Return the book's dispatcher. Accumulation uses a scratch tile and a separate addition.

    A kernel that loads C in its epilogue loses more time than the separate addition takes.
    """
    cupy = require_gpu()
    dispatch, spare = dispatcher(cupy.cuda.Device().id), cupy.empty(scratch, "float32")

    def multiply(a: Any, b: Any, c: Any, adds: bool) -> None:
        with stream:
            if not adds:
                dispatch(a, b, c)
                return
            product = spare[: c.size].reshape(c.shape)
            dispatch(a, b, product)
            cupy.add(c, product, out=c)

    return multiply
