"""Measure the error of products against A·B in float64, for several input distributions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sgemm_lab.checking.judge import Rounding
from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size
from sgemm_lab.measuring.interleaved import Product, Progress
from sgemm_lab.records.gpu_record import INPUTS, Accuracy, five_digits

SIDE = 1024
"""Rows and columns of C for errors by input distribution."""
LENGTHS = (256, 1024, 4096, 16384)
"""Values of K for them."""

_SEED = 4
_HALF = 2.0**-10
"""Relative difference of terms that nearly cancel."""


def product_errors(products: Mapping[str, Product], size: Size) -> dict[str, float | None]:
    """Return ‖C − A·B‖ / ‖A·B‖ of each product by name, for inputs uniform in ±0.5.

    None if C holds NaN or infinity.
    """
    cupy = require_gpu()
    m, n, k = size
    a, b = inputs(cupy, "half", m, n, k)
    right = a.astype("float64") @ b.astype("float64")
    norm = float(cupy.linalg.norm(right))
    found: dict[str, float | None] = {}
    for name, product in products.items():
        c = cupy.full((m, n), float("nan"), "float32")
        product(a, b, c)
        error = float(cupy.linalg.norm(c - right)) / norm
        found[name] = five_digits(error) if error < float("inf") else None
    return found


def accuracies(products: Mapping[str, Product], progress: Progress) -> Iterator[Accuracy]:
    """Measure every product for every input distribution and K.

    The results have no fingerprint, which the caller adds. A product that refuses a size with a
    LabError is skipped there; ``progress`` is called with the reason.
    """
    cupy = require_gpu()
    for kind in INPUTS:
        for k in LENGTHS:
            progress(f"errors at K = {k}, inputs {INPUTS[kind]}")
            a, b = inputs(cupy, kind, SIDE, SIDE, k)
            right = a.astype("float64") @ b.astype("float64")
            norm = float(cupy.linalg.norm(right))
            for name, product in products.items():
                c = cupy.full((SIDE, SIDE), float("nan"), "float32")
                try:
                    product(a, b, c)
                except LabError as refusal:
                    progress(f"{name} is left out: {refusal}")
                    continue
                lost = int((~cupy.isfinite(c)).sum())
                size = (SIDE, SIDE, k)
                if lost:
                    yield Accuracy(name, "", kind, *size, lost)
                    continue
                error = float(cupy.linalg.norm(c - right)) / norm
                largest = float(Rounding(a, b).shares(c).max()) * k
                yield Accuracy(name, "", kind, *size, 0, five_digits(error), five_digits(largest))


def inputs(library: Any, kind: str, m: int, n: int, k: int) -> tuple[Any, Any]:
    """Return A (M×K) and B (K×N) in float32 for one of ``INPUTS``; ``library``: CuPy or NumPy."""
    random = library.random.RandomState(_SEED)

    def uniform(rows: int, columns: int) -> Any:
        return random.uniform(-0.5, 0.5, (rows, columns))

    def spread(rows: int, columns: int) -> Any:
        return uniform(rows, columns) * 2.0 ** random.uniform(-20, 20, (rows, columns))

    make: dict[str, Callable[[], tuple[Any, Any]]] = {
        "half": lambda: (uniform(m, k), uniform(k, n)),
        "unit": lambda: (uniform(m, k) + 0.5, uniform(k, n) + 0.5),
        "normal": lambda: (random.standard_normal((m, k)), random.standard_normal((k, n))),
        "wide": lambda: (spread(m, k), spread(k, n)),
        "cancelling": lambda: _cancelling(library, uniform(m, k - k // 2), uniform(k - k // 2, n)),
        "large": lambda: (uniform(m, k) * 2.0**21, uniform(k, n) * 2.0**21),
        "tiny": lambda: (uniform(m, k) * 2.0**-120, uniform(k, n) * 2.0**100),
    }
    a, b = make[kind]()
    return a[:, :k].astype("float32"), b[:k].astype("float32")


def _cancelling(library: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return [A A], and B stacked on nearly −B, so that the sums nearly cancel."""
    return library.hstack([a, a]), library.vstack([b, -b * (1 - _HALF)])
