"""What the verbs of :mod:`sgemm_lab.lab` accept: kernels and sizes as a reader writes them."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.external_cuda.launch import ExternalKernel
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.output import Unavailable, unavailable

AnySize = int | Size
"""M, N, K, or one number for all three."""
_P = ParamSpec("_P")
_R = TypeVar("_R")


def kernel_of(kernel: str | Kernel | ExternalKernel) -> Kernel:
    """Return a kernel of the book by its name, or a kernel object as it is."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, ExternalKernel):
        raise LabError("A kernel without the book's head comment stands alone in lab.check and "
                       "lab.count; no other verb knows it.")  # fmt: skip
    if isinstance(kernel, str):
        return load_kernel(kernel)
    raise LabError(f"{kernel!r} is not a kernel. Give a name such as 'tiled', or lab.mine(text).")


def size_of(size: AnySize) -> Size:
    """Return M, N, K; one number stands for all three."""
    sizes = (size, size, size) if isinstance(size, int) else size
    whole = isinstance(sizes, (tuple, list)) and all(
        isinstance(part, int) and not isinstance(part, bool) and part > 0 for part in sizes
    )
    if not whole or len(sizes) != 3:
        raise LabError(
            f"{size!r} is not a size. Give a whole number such as 64, or three: (1000, 999, 64)."
        )
    m, n, k = sizes
    return m, n, k


def without_tool(verb: Callable[_P, _R]) -> Callable[_P, _R | Unavailable]:
    """Make a verb return what to install where a tool is missing, instead of raising."""

    @wraps(verb)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R | Unavailable:
        try:
            return verb(*args, **kwargs)
        except MissingToolError as missing:
            return unavailable(missing)

    return wrapped
