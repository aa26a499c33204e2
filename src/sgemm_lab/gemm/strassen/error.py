"""Error of Strassen's product by number of levels: bound, expected growth, measurement."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

from sgemm_lab.checking.judge import UNIT_ROUNDOFF
from sgemm_lab.gemm.strassen.winograd import PRODUCTS, QUADRANTS, terms


def bound(n: int, levels: int) -> float:
    """Return a bound of max|C − A·B| / (max|A|·max|B|) of an n×n product.

    It is n²·u for zero levels. Source: N. Higham, "Accuracy and stability of numerical algorithms",
    2nd edition, theorem 23.3, without the terms in u²; u is 2⁻²⁴.
    """
    if not levels:
        return n * n * UNIT_ROUNDOFF
    leaf = n / 2**levels
    return float(18**levels * (leaf**2 + 6 * leaf) - 6 * n) * UNIT_ROUNDOFF


def expected_growth() -> float:
    """Return the factor by which a level increases the error, for independent inputs of mean 0.

    Partial sums of K products grow with the square root of their length, so the variance of the
    error of a sum grows as K². It is also proportional to the variances of the factors: S2, a sum
    of three quadrants, has three times that of A. A quadrant of C is two products of K/2 by
    definition, and here up to four, with larger factors.
    """
    weights = {one.name: len(terms(one.left)) * len(terms(one.right)) for one in PRODUCTS}
    of_quadrants = [sum(weights[name] for name, _ in terms(f"C{place}")) for place in QUADRANTS]
    by_definition = 4  # one product over all of K has twice the variance of two over K/2 each
    return sqrt(sum(of_quadrants) / len(of_quadrants) / by_definition)


UNIFORM, POSITIVE, NORMAL, WIDE_EXPONENTS = "uniform", "positive", "normal", "wide exponents"
INPUTS = {
    UNIFORM: "uniform in ±0.5",
    POSITIVE: "uniform in 0 to 1",
    NORMAL: "normal, of mean 0 and deviation 1",
    WIDE_EXPONENTS: "±2 to a power uniform in ±10",
}

_BAND = 4096
"""Terms of a sum that are converted to float64 at a time."""


def matrix(library: Any, inputs: str, shape: tuple[int, int], seed: int) -> Any:
    """Return a float32 matrix of one of ``INPUTS``; ``library`` is NumPy or CuPy."""
    random = library.random.default_rng(seed=seed)
    if inputs == NORMAL:
        return random.standard_normal(shape, dtype="float32")
    found = random.random(shape, dtype="float32")
    if inputs == POSITIVE:
        return found
    if inputs == UNIFORM:
        return found - library.float32(0.5)
    sign = library.where(random.random(shape, dtype="float32") < 0.5, -1, 1)
    return (sign * 2 ** (20 * found - 10)).astype("float32")


def norm_error(library: Any, a: Any, b: Any, c: Any, rows: Sequence[int]) -> float:
    """Return ‖C − A·B‖ / ‖A·B‖ in the Frobenius norm over some rows, A·B in float64.

    ``library`` is NumPy or CuPy, the type of A (M×K), B (K×N) and C (M×N).
    """
    chosen = library.asarray(list(rows))
    exact = library.zeros((len(rows), c.shape[1]), dtype="float64")
    for first in range(0, a.shape[1], _BAND):
        left = a[chosen, first : first + _BAND].astype("float64")
        exact += left @ b[first : first + _BAND].astype("float64")
    off = c[chosen].astype("float64") - exact
    return float(library.linalg.norm(off) / library.linalg.norm(exact))


def sampled_rows(m: int, count: int = 64) -> list[int]:
    """Return up to ``count`` evenly spaced indices of m rows, the first and the last included."""
    return sorted({i * (m - 1) // max(1, count - 1) for i in range(count)})
