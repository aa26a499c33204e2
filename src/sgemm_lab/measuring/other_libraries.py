"""FP32 products of other libraries: PyTorch, cuBLASLt, Triton and JAX.

All take and write CuPy arrays on CuPy's current stream, so ``time_interleaved`` can capture them in
a CUDA graph. JAX cannot be captured: it is timed by the host's clock, many products in one call.
"""

import os
import statistics
import time
from collections.abc import Callable, Collection
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.kernel import Size
from sgemm_lab.measuring.interleaved import Product, input_set_count

JAX = "jax"
LEAST_FLOP = 2 * 1024**3
"""JAX is timed at larger products only: a shorter one would measure the host."""

_CALLS, _MOST_PRODUCTS = 7, 32
_TOLERANCE = 1e-5
_TRIED = (128, 256, 384)


def other_products(
    wanted: Collection[str], report: Callable[[str], None]
) -> tuple[dict[str, Product], dict[str, str]]:
    """Return the products of wanted libraries except JAX, and their versions.

    A product is left out, and reported, if its library is missing, if it is not in FP32, or if a
    CUDA graph cannot capture it.
    """
    if unknown := set(wanted) - set(LIBRARIES):
        raise LabError(f"'{min(unknown)}' is no library here. There are: {', '.join(LIBRARIES)}.")
    products, versions = {}, {}
    for name, load in _LOADERS.items():
        if name not in wanted:
            continue
        try:
            product, version = load()
            _try(product)
        except Exception as fault:  # whatever another library raises
            report(f"{name} is left out: {type(fault).__name__}: {fault}")
            continue
        products[name], versions[name] = product, version
    return products, versions


def _try(product: Product) -> None:
    """Capture a product in a graph, and check what it computes."""
    cupy = require_gpu()
    (m, n, k), random = _TRIED, cupy.random.default_rng(seed=5)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        a, b = (random.random(shape, dtype="float32") - 0.5 for shape in ((m, k), (k, n)))
        c = cupy.empty((m, n), dtype="float32")
        product(a, b, c)
        stream.synchronize()
        stream.begin_capture()
        try:
            product(a, b, c)
        finally:
            graph = stream.end_capture()
        c.fill(0)
        graph.launch(stream)
        right = a.astype("float64") @ b.astype("float64")
        if not float(cupy.linalg.norm(c - right)) < _TOLERANCE * float(cupy.linalg.norm(right)):
            raise LabError("its product is wrong, or not in FP32")


def _torch(backend: str) -> tuple[Product, str]:
    import torch

    cupy = require_gpu()
    torch.backends.cuda.matmul.allow_tf32 = False

    def multiply(a: Any, b: Any, c: Any) -> None:
        torch.backends.cuda.preferred_blas_library(backend)
        stream = torch.cuda.ExternalStream(cupy.cuda.get_current_stream().ptr)
        with torch.cuda.stream(stream):
            left, right, out = (torch.as_tensor(x, device="cuda") for x in (a, b, c))
            torch.mm(left, right, out=out)

    return multiply, str(torch.__version__)


def _triton() -> tuple[Product, str]:
    import torch
    import triton

    from sgemm_lab.measuring.triton_kernel import tuned_kernel

    cupy, kernel = require_gpu(), tuned_kernel()

    def multiply(a: Any, b: Any, c: Any) -> None:
        (m, k), n = a.shape, b.shape[1]
        stream = torch.cuda.ExternalStream(cupy.cuda.get_current_stream().ptr)
        with torch.cuda.stream(stream):
            left, right, out = (torch.as_tensor(x, device="cuda") for x in (a, b, c))
            kernel[lambda given: (-(-m // given["BM"]) * -(-n // given["BN"]),)](
                left, right, out, m, n, k
            )

    return multiply, str(triton.__version__)


_LOADERS: dict[str, Callable[[], tuple[Product, str]]] = {
    "torch": lambda: _torch("cublas"),
    "cublaslt": lambda: _torch("cublaslt"),
    "triton": _triton,
}
"""The products by name. That of cuBLASLt is PyTorch's with cuBLASLt as its preferred library: the
first algorithm of the heuristics."""

LIBRARIES = (*_LOADERS, JAX)


def jax_seconds(size: Size) -> tuple[float, str]:
    """Return JAX's median seconds per product at M, N, K, and its version.

    One compiled function multiplies as many pairs of matrices as fill the L2 cache twice, at most
    32.

    Raises:
        MissingToolError: JAX is not installed, or finds no GPU.
    """
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        raise MissingToolError("JAX is not installed here.") from None
    if jax.devices()[0].platform != "gpu":
        raise MissingToolError("JAX finds no GPU here.")
    m, n, k = size
    l2_bytes = int(require_gpu().cuda.Device().attributes["L2CacheSize"])
    count = min(input_set_count(4 * (m * k + k * n + m * n), l2_bytes), _MOST_PRODUCTS)
    keys = jax.random.split(jax.random.PRNGKey(1), 2 * count)
    matrices = [
        jax.random.uniform(key, (m, k) if place % 2 == 0 else (k, n), jnp.float32, -0.5, 0.5)
        for place, key in enumerate(keys)
    ]

    def products(*given: Any) -> Any:
        pairs = zip(given[::2], given[1::2], strict=True)
        return [jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST) for a, b in pairs]

    many, seconds = jax.jit(products), []
    jax.block_until_ready(many(*matrices))
    for _ in range(_CALLS):
        begin = time.perf_counter()
        jax.block_until_ready(many(*matrices))
        seconds.append((time.perf_counter() - begin) / count)
    return statistics.median(seconds), str(jax.__version__)
