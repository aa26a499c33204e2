"""Kernels, measurements and widgets of an interactive book on fast matrix multiplication."""

from functools import lru_cache
from importlib import import_module
from typing import Any

from sgemm_lab.errors import LabError

__all__ = ["LabError", "choice", "matmul"]
__version__ = "0.1.0"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    error: float | str | None = None,
    workspace: int | None = None,
) -> Any:
    """Return alpha·a·b + beta·out in float32, by the fastest of the book's kernels for the size.

    A model of time that ``sgemm-lab tune`` fitted selects the kernel. The work is queued on the
    current stream of PyTorch for its tensors, else on CuPy's; kernels with a workspace have one per
    stream. The first product with a kernel loads it from a cache on disk, or compiles it, which
    takes about a second. A CUDA graph can capture only products that have run before. cuBLAS is
    never called.

    Args:
        a: M×K, float32, on the current GPU, of any size and alignment: an array of CuPy, PyTorch,
            JAX or Numba, or of another library with the CUDA array interface. An array that is not
            C-contiguous, such as ``x.T`` or ``x[:, ::2]``, is copied first, but for ``x.T`` times
            ``y.T``, whose result is the transposed view of y·x. Three dimensions are a batch.
        b: K×N, likewise. A batch times a matrix is one launch; for each matrix of another batch
            there is one.
        out: M×N, float32, C-contiguous, not overlapping ``a`` and ``b``; by default a new array of
            the library of ``a``. An array of JAX cannot be ``out``. A product with K = 0 is zero.
        alpha: factor of the product. If it is 0, ``a`` and ``b`` are not read.
        beta: factor of what ``out`` holds. If it is 0, that is not read. Factors other than 1 and 0
            cost further passes over ``out``.
        error: bound of ‖C − A·B‖ / ‖A·B‖ (Frobenius norm, A·B in float64), such as 1e-5. The
            fastest algorithm whose recorded errors meet the bound is used (see ``choice``): an
            FP32 kernel, a kernel on tensor cores, or Strassen's product. "fp32" requires recorded
            errors of at most those of cuBLAS in FP32. The records cover inputs uniform in ±0.5 and
            in 0 to 1, normal, and with wide exponents; for other inputs, such as cancelling sums,
            the bound is not guaranteed. On a GPU model without a record only FP32 kernels are used.
        workspace: limit in bytes for Strassen's product and for kernels on tensor cores that copy A
            and B, by default 1.5 times A, B and C. A kernel keeps its workspace for the next
            product. Strassen's comes from CuPy's pool; CUDA graphs should not capture that product.

    Raises:
        LabError: an array does not fit, no recorded algorithm meets the bound, there is no GPU or
            compiler, or no kernel runs on the GPU.
    """
    if error is None:
        return _call()(a, b, out, alpha=alpha, beta=beta)
    within = import_module("sgemm_lab.gemm.product")
    return within.matmul(a, b, out, error=error, workspace=workspace, alpha=alpha, beta=beta)


@lru_cache(maxsize=1)
def _call() -> Any:
    """Import the call on demand: reading records needs no launcher."""
    return import_module("sgemm_lab.gemm.call").matmul


def choice(
    m: int,
    n: int,
    k: int,
    *,
    error: float | str | None = None,
    workspace: int | None = None,
    gpu: str | None = None,
) -> Any:
    """Return the algorithm that ``matmul`` uses for M, N, K: its ``str`` is a sentence.

    It has ``name``, ``arithmetic``, ``error`` (the largest recorded), ``seconds`` (predicted),
    ``gpu`` and ``workspace_bytes``. ``gpu`` is a recorded GPU model, such as "H200"; by default it
    is the current GPU, or without one the first recorded.

    Raises:
        LabError: a size, the error bound or the workspace is invalid, no algorithm meets the
            bound, or no record is of that GPU.
    """
    product = import_module("sgemm_lab.gemm.product")
    return product.choice(m, n, k, error=error, workspace=workspace, gpu=gpu)
