"""Kernels, measurements and widgets of an interactive book on fast matrix multiplication."""

from functools import lru_cache
from importlib import import_module
from typing import Any

from sgemm_lab.errors import LabError

__all__ = ["LabError", "choice", "matmul", "set_tune"]
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
    tune: str | None = None,
) -> Any:
    """Return alpha·a·b + beta·out in float32, by the fastest of the book's kernels for the size.

    A model of time that ``sgemm-lab tune`` fitted selects the kernel, or cuBLAS at shapes where
    that was faster near by, or a measurement at the first product of a shape (see ``tune``). The
    work is queued on the current stream of PyTorch for its tensors, else on CuPy's; kernels with a
    workspace have one per stream. The first product with a kernel loads it from a cache on disk, or
    compiles it, which takes about a second. A CUDA graph can capture only products that have run
    before. cuBLAS is never called with ``tune="model"`` or ``"first"``.

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
        tune: how the FP32 kernel is chosen; None: as ``set_tune`` or the environment variable
            ``SGEMM_LAB_TUNE`` says, by default "model+cublas".
            "model": by the model alone. It measures nothing, never waits for the GPU, and takes the
            same kernel in every process on a GPU model.
            "model+cublas": the same, but cuBLAS multiplies shapes at which the kernel is not
            expected to be clearly faster, by the times of both at measured shapes near by.
            "first": the first product of a shape, and of its alignment, measures the model's best
            four kernels on these arrays and this stream, and waits for them; a long product has
            time for two. ``out`` is written several times, last by the fastest kernel. Meanwhile
            twice the L2 cache of GPU memory is in use. The choice is kept on disk for later
            processes, in the cache folder (``SGEMM_LAB_CACHE``), until a kernel's text changes:
            from then on each product has the same kernel and the same bits. Two machines may choose
            differently. While a CUDA graph is captured nothing is measured or remembered.
            "first+cublas": the same, and cuBLAS is one of those measured.

    Raises:
        LabError: an array does not fit, no recorded algorithm meets the bound, there is no such
            ``tune``, there is no GPU or compiler, or no kernel runs on the GPU.
    """
    if error is None:
        return _call()(a, b, out, alpha=alpha, beta=beta, tune=tune)
    within = import_module("sgemm_lab.gemm.product")
    return within.matmul(
        a, b, out, error=error, workspace=workspace, tune=tune, alpha=alpha, beta=beta
    )


@lru_cache(maxsize=1)
def _call() -> Any:
    """Import the call on demand: reading records needs no launcher."""
    return import_module("sgemm_lab.gemm.call").matmul


def set_tune(tune: str) -> None:
    """Set the ``tune`` of later calls of ``matmul`` that do not give one, in all threads.

    Raises:
        LabError: ``tune`` is none of "model", "model+cublas", "first" and "first+cublas".
    """
    import_module("sgemm_lab.gemm.dispatch.first_use").set_tune(tune)


def choice(
    m: int,
    n: int,
    k: int,
    *,
    error: float | str | None = None,
    workspace: int | None = None,
    gpu: str | None = None,
) -> Any:
    """Return the algorithm that ``matmul`` uses for M, N, K by its model and records.

    Its ``str`` is a sentence.

    It has ``name``, ``arithmetic``, ``error`` (the largest recorded), ``seconds`` (predicted),
    ``gpu`` and ``workspace_bytes``. ``gpu`` is a recorded GPU model, such as "H200"; by default it
    is the current GPU, or without one the first recorded.

    Raises:
        LabError: a size, the error bound or the workspace is invalid, no algorithm meets the
            bound, or no record is of that GPU.
    """
    product = import_module("sgemm_lab.gemm.product")
    return product.choice(m, n, k, error=error, workspace=workspace, gpu=gpu)
