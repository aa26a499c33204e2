"""Whether arrays can be multiplied: float32 matrices of the right library, of fitting sizes."""

from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size

MAX_DIMENSION = 2**24
"""The largest M, N or K. Row and column numbers are 32-bit; this leaves room for the last tile."""


def check_matrix(library: Any, name: str, array: Any) -> None:
    """Refuse what is no float32 matrix of ``library``: CuPy for a launch. It may be empty."""
    if not isinstance(array, library.ndarray):
        kind = f"{type(array).__module__}.{type(array).__name__}"
        raise LabError(
            f"{name} is a {kind}, not an array on the GPU. Move it there with cupy.asarray({name})."
        )
    if array.dtype != "float32":
        raise LabError(
            f"{name} holds {array.dtype}. The kernels compute in float32: "
            f"convert it with {name}.astype('float32')."
        )
    if array.ndim != 2:
        raise LabError(
            f"{name} has {array.ndim} dimension(s). A matrix has two: rows and columns. "
            f"A vector is a matrix of one row, {name}[None, :], or of one column, {name}[:, None]."
        )
    if max(array.shape) > MAX_DIMENSION:
        raise LabError(
            f"{name} is {array.shape[0]}×{array.shape[1]}. A dimension can be at most "
            f"{MAX_DIMENSION:,}; multiply in parts."
        )


def product_size(a: Any, b: Any, names: tuple[str, str] = ("A", "B")) -> Size:
    """Return M, N, K of a product of two matrices."""
    (m, k), (k_of_b, n) = a.shape, b.shape
    if k != k_of_b:
        left, right = names
        raise LabError(
            f"{left} is {m}×{k} and {right} is {k_of_b}×{n}. "
            f"{left} must have as many columns as {right} has rows."
        )
    return m, n, k
