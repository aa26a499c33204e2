"""The call of ``matmul``: read the arguments, choose what is done without copies, launch.

A plain product of matrices that a kernel can take as they are goes straight to the dispatcher, by
the addresses of the matrices. Everything else goes through CuPy's view of the arrays.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from sgemm_lab.cuda.arrays import MAX_DIMENSION, check_matrix, product_size
from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.array_libraries import Library, Stream, library_of
from sgemm_lab.gemm.dispatch.first_use import dispatcher_for
from sgemm_lab.gemm.dispatch.trial import Plan
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Size

Product = Callable[[Any, Any, Any], None]
"""Computes c = a·b for float32 matrices on the GPU."""

ProductOf = Callable[[Size], Product]


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    product_of: ProductOf | None = None,
    tune: str | None = None,
) -> Any:
    """Return alpha·a·b + beta·out; ``sgemm_lab.matmul`` documents arrays, copies and streams.

    ``product_of`` returns the product for M, N, K; by default the dispatcher.
    """
    for name, x in (("a", a), ("b", b)):
        if not hasattr(x, "dtype"):
            library_of(name, x)  # refuses a list before a GPU is looked for
    cupy = _gpu()
    library = library_of("a", a)
    device = cupy.cuda.runtime.getDevice()
    if alpha == 1 and beta == 0 and product_of is None and type(b) is type(a):
        done = _direct(library, dispatcher_for(device, tune), a, b, out, device)
        if done is not None:
            return done
    factors = _number("alpha", alpha), _number("beta", beta)
    with _on(cupy, library.stream(device)):
        multiply = product_of or (lambda _size: dispatcher_for(device, tune))
        return _general(cupy, library, (a, b, out), factors, multiply)


@lru_cache(maxsize=1)
def _gpu() -> Any:
    return require_gpu()


def _direct(library: Library, multiply: Plan, a: Any, b: Any, out: Any, device: int) -> Any:
    """Multiply matrices that a kernel can take as they are; return None if these are others."""
    at_a, at_b = library.address(a, device), library.address(b, device)
    if not at_a or not at_b or len(a.shape) != 2 or len(b.shape) != 2:
        return None
    (m, k), (k_of_b, n) = a.shape, b.shape
    if k != k_of_b or not m * n * k:
        return None
    if m > MAX_DIMENSION or n > MAX_DIMENSION or k > MAX_DIMENSION:
        return None
    if out is None:
        out = library.empty((m, n), a)
        at_c = library.address(out, device)
    else:
        at_c = library.address(out, device) if type(out) is type(a) else 0
        if not at_c or out.shape != (m, n):
            return None
        end = at_c + FLOAT_BYTES * m * n
        if at_a < end and at_c < at_a + FLOAT_BYTES * m * k:
            return None
        if at_b < end and at_c < at_b + FLOAT_BYTES * k * n:
            return None
    multiply.launch(at_a, at_b, at_c, (m, n, k), library.stream(device))
    return out


def _general(
    cupy: Any,
    library: Library,
    arrays: tuple[Any, Any, Any],
    factors: tuple[float, float],
    product_of: ProductOf,
) -> Any:
    """Multiply any arrays: check them, copy what no kernel can read, batches one by one."""
    a, b = (_view(cupy, name, x) for name, x in zip("ab", arrays[:2], strict=True))
    batch = _batch(a, b)
    m, n, _ = _size(a, b)
    shape = (m, n) if batch is None else (batch, m, n)
    out, (alpha, beta) = arrays[2], factors
    turned = False
    if out is None:
        if beta:
            raise LabError(f"beta is {beta:g}, and there is no out to add to. Give out.")
        # The product of two transposed views is the transposed product of what they view.
        turned = batch is None and _is_turned(a) and _is_turned(b)
        if turned:
            a, b, shape = b.T, a.T, (n, m)
        out = library.empty(shape, arrays[0])
        c = _view(cupy, "out", out)
    else:
        if not library_of("out", out).mutable:
            raise LabError("out is an array that cannot be changed. Omit out.")
        c = _view(cupy, "out", out)
        _check_out(c, shape)
    if c.size:
        _multiply(cupy, a, b, c, (alpha, beta), product_of)
    found = library.result(out) if arrays[2] is None else out
    return found.T if turned else found


def _multiply(
    cupy: Any, a: Any, b: Any, c: Any, factors: tuple[float, float], product_of: ProductOf
) -> None:
    """Compute c = alpha·a·b + beta·c for matrices, or batches of which one may be a matrix."""
    (alpha, beta), (m, n, k) = factors, _size(a, b)
    if not k or not alpha:  # as in BLAS, A and B are not read
        c[...] = c * cupy.float32(beta) if beta else 0
        return
    a, b = cupy.ascontiguousarray(a), cupy.ascontiguousarray(b)
    _refuse_overlap(a, b, c)
    if a.ndim == 3 and b.ndim == 2:  # one product with more rows
        a, c, m = a.reshape(-1, k), c.reshape(-1, n), a.shape[0] * m
        if m > MAX_DIMENSION:
            raise LabError(f"The batch has {m:,} rows in all, of at most {MAX_DIMENSION:,}.")
    product = cupy.empty(c.shape, dtype="float32") if beta else c
    multiply = product_of((m, n, k))
    for place in range(c.shape[0] if c.ndim == 3 else 1):
        each = (x[place] if x.ndim == 3 else x for x in (a, b, product))
        multiply(*each)
    if beta:
        c[...] = product * cupy.float32(alpha) + c * cupy.float32(beta)
    elif alpha != 1:
        c *= cupy.float32(alpha)


def _view(cupy: Any, name: str, x: Any) -> Any:
    """Return a matrix, or a batch of matrices, as a CuPy array on the current GPU."""
    try:
        found = library_of(name, x).view(name, x)
    except (TypeError, ValueError, BufferError) as fault:
        raise LabError(f"{name} cannot be read: {fault}") from None
    # A batch is checked by its first matrix.
    is_batch = getattr(found, "ndim", 0) == 3
    check_matrix(cupy, name, found.reshape(-1, found.shape[-1]) if is_batch else found)
    here = cupy.cuda.Device().id
    if found.device.id != here:
        raise LabError(
            f"{name} is on GPU {found.device.id}, and the current one is GPU {here}. "
            f"Make it current with 'with {name}.device:'."
        )
    return found


def _batch(a: Any, b: Any) -> int | None:
    """Return the number of products; None for matrices."""
    counts = {name: len(x) for name, x in (("a", a), ("b", b)) if x.ndim == 3}
    if len(set(counts.values())) > 1:
        raise LabError(f"a has {counts['a']} matrices and b has {counts['b']}. Give as many.")
    return next(iter(counts.values()), None)


def _size(a: Any, b: Any) -> Size:
    """Return M, N, K of a product, or of each product of a batch; each may be 0."""
    matrices = [_Matrix(x.shape[-2:]) for x in (a, b)]
    return product_size(matrices[0], matrices[1], ("a", "b"))


class _Matrix(NamedTuple):
    """A matrix of a batch, by its shape."""

    shape: tuple[int, int]


def _is_turned(x: Any) -> bool:
    return bool(x.flags.f_contiguous and not x.flags.c_contiguous)


def _check_out(out: Any, shape: tuple[int, ...]) -> None:
    if out.shape != shape:
        found, wanted = ("×".join(map(str, one)) for one in (out.shape, shape))
        raise LabError(f"out is {found}. The product of a and b is {wanted}.")
    if not out.flags.c_contiguous:
        raise LabError(
            "out is not C-contiguous (it is a transposed or sliced view). "
            "Give an array from cupy.empty, or omit out."
        )


def _refuse_overlap(a: Any, b: Any, out: Any) -> None:
    """Raise a LabError if ``out`` overlaps an input."""
    first, end = out.data.ptr, out.data.ptr + out.nbytes
    for name, array in (("a", a), ("b", b)):
        if array.data.ptr < end and first < array.data.ptr + array.nbytes:
            raise LabError(f"out shares memory with {name}. Give a separate array.")


def _number(name: str, value: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or math.isnan(value):
        raise LabError(f"{name} is {value!r}. Give a number.")
    return float(value)


@contextmanager
def _on(cupy: Any, stream: Stream | None) -> Iterator[None]:
    """Make another library's stream CuPy's current one."""
    if stream is None:
        yield
        return
    with warnings.catch_warnings():
        # Its successor takes the other library's stream object, which costs a call to find.
        warnings.simplefilter("ignore", DeprecationWarning)
        external = cupy.cuda.ExternalStream(stream.ptr)
    with external:
        yield
