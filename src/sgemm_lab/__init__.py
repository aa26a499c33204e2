"""Kernels, measurements and widgets of an interactive book on fast matrix multiplication."""

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
    error: float | str | None = None,
    workspace: int | None = None,
) -> Any:
    """Return a·b, computed in float32 by the book's kernel that suits the size best.

    ``a`` is M×K and ``b`` is K×N: CuPy arrays of float32 on the current GPU, of any size and
    alignment. The kernels read matrices row by row without gaps; an array that is stored otherwise,
    such as ``x.T`` or ``x[:, ::2]``, is copied once first, which costs memory and time. ``out``,
    where it is given, is M×N, float32, row by row, and shares no memory with ``a`` and ``b``. An
    empty product is empty; a product with K = 0 is zero.

    Which kernel it is, the table of ``sgemm-lab tune`` decides. The work is queued on CuPy's
    current stream, as CuPy's own is; a kernel that needs a workspace has one for each stream. The
    first product of a kind compiles, a second or so; a CUDA graph can capture only what has run
    before. cuBLAS is never called.

    With ``error`` the fastest way is taken that is recorded to keep it; ``choice`` says which:
    products in FP32 as without it, tensor cores, or Strassen's product. A number bounds
    ‖C − A·B‖ over ‖A·B‖, Frobenius norms, A·B in float64: 1e-5, for example. "fp32" takes a way
    other than products in FP32 only where no recorded error is larger than that of cuBLAS in FP32.
    Recorded are four classes of inputs: uniform in ±0.5 and in 0 to 1, normal, and wide exponents.
    For others, sums that cancel among them, no bound is promised. On a GPU model without a record
    nothing but products in FP32 is taken. Strassen's product takes a workspace from CuPy's pool,
    ``workspace`` bytes at most (by default one and a half times those of A, B and C), and no CUDA
    graph should capture it.

    Raises:
        LabError: an array does not fit, nothing is recorded to keep the error, there is no GPU or
            no compiler, or no kernel runs on it.
    """
    # Loaded when it is called: whoever reads records needs no launcher.
    if error is None:
        return import_module("sgemm_lab.gemm.dispatch.product").matmul(a, b, out)
    within = import_module("sgemm_lab.gemm.product")
    return within.matmul(a, b, out, error=error, workspace=workspace)


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
