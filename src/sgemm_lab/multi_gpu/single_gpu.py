"""The product of one GPU: cuBLAS, or the book's own kernels by their dispatcher."""

import ctypes
from typing import Any, Protocol

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.measuring.interleaved import WORKSPACE_BYTES, cublas_library

CUBLAS, BOOK = "cublas", "book"
INSIDES = (CUBLAS, BOOK)
"""Whose product it can be."""


class Local(Protocol):
    """Multiplies on one GPU, on one stream, without waiting; also while the stream is captured."""

    def __call__(self, a: Any, b: Any, c: Any, *, adds: bool) -> None:
        """Compute c = a·b, or c += a·b. float32, row-major, on the GPU; it is current."""


def local_product(inside: str, stream: Any, scratch: int) -> Local:
    """Return a product for the current GPU.

    Args:
        inside: one of ``INSIDES``.
        stream: a CuPy stream of this GPU.
        scratch: elements of the largest tile of C that is added to; 0 where none is.

    Raises:
        LabError: there is no such product, or it does not run here.
    """
    if inside == CUBLAS:
        return _Cublas(stream)
    if inside == BOOK:
        return _Book(stream, scratch)
    raise LabError(f"There is no product '{inside}'. Take one of {', '.join(INSIDES)}.")


def scratch_bytes(inside: str, elements: int) -> int:
    """Return the bytes that a product needs beside A, B and C."""
    return WORKSPACE_BYTES if inside == CUBLAS else FLOAT_BYTES * elements


class _Cublas:
    """cublasSgemm in FP32, without TF32.

    It is called by its C interface: CuPy refuses cuBLAS while a stream is captured. The handle is
    this object's own, so its stream and its workspace are set once.
    """

    def __init__(self, stream: Any) -> None:
        from cupy_backends.cuda.libs import cublas as library

        cupy = require_gpu()
        self._handle = library.create()
        library.setStream(self._handle, stream.ptr)
        library.setMathMode(self._handle, library.CUBLAS_DEFAULT_MATH)
        self._library = cublas_library(library.getVersion(self._handle))
        self._workspace = cupy.empty(WORKSPACE_BYTES, "uint8")
        self._call("cublasSetWorkspace_v2", self._workspace.data.ptr, WORKSPACE_BYTES)
        self._one, self._zero = ctypes.c_float(1), ctypes.c_float(0)

    def __call__(self, a: Any, b: Any, c: Any, *, adds: bool) -> None:
        (m, k), n = a.shape, b.shape[1]
        count, pointer = ctypes.c_int, ctypes.c_void_p
        factor = self._one if adds else self._zero
        # By columns, as cuBLAS reads them, these are Aᵀ, Bᵀ and Cᵀ, and Cᵀ = Bᵀ·Aᵀ.
        status = self._library.cublasSgemm_v2(
            pointer(self._handle), count(0), count(0), count(n), count(m), count(k),
            ctypes.byref(self._one), pointer(b.data.ptr), count(n), pointer(a.data.ptr), count(k),
            ctypes.byref(factor), pointer(c.data.ptr), count(n),
        )  # fmt: skip
        _accept("cublasSgemm_v2", status)

    def _call(self, name: str, *given: int) -> None:
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        status = getattr(self._library, name)(
            pointer(self._handle), pointer(given[0]), size(given[1])
        )
        _accept(name, status)


class _Book:
    """The kernel that the book's dispatcher takes. It adds by way of a tile of its own.

    A kernel that loads C to add to it is slower by more than the addition costs afterwards.
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
            assert self._scratch is not None, "the plan adds, and no scratch was asked for"
            product = self._scratch[: c.size].reshape(c.shape)
            self._dispatcher(a, b, product)
            self._cupy.add(c, product, out=c)


def _accept(name: str, status: int) -> None:
    if status:
        raise LabError(f"cuBLAS refuses {name} (status {status}). Is the GPU's memory used up?")
