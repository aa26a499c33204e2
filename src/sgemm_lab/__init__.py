"""Kernels, measurements and widgets of an interactive book on fast matrix multiplication."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def matmul(a: Any, b: Any, out: Any = None) -> Any:
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

    Raises:
        LabError: an array does not fit, there is no GPU or no compiler, or no kernel runs on it.
    """
    # Loaded when it is called: whoever reads records needs no launcher.
    return import_module("sgemm_lab.dispatch.product").matmul(a, b, out)
