"""How the error of C grows with the levels: a bound, what to expect, and how it is measured."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

from sgemm_lab.checking.judge import UNIT_ROUNDOFF
from sgemm_lab.gemm.strassen.winograd import PRODUCTS, QUADRANTS, terms


def bound(n: int, levels: int) -> float:
    """Return a bound of max|error of C| / (max|A|·max|B|) of an n×n product.

    Without a level n²·u. Source: N. Higham, "Accuracy and stability of numerical algorithms", 2nd
    edition, theorem 23.3, whose terms in u² are left out; u is 2⁻²⁴.
    """
    if not levels:
        return n * n * UNIT_ROUNDOFF
    leaf = n / 2**levels
    return float(18**levels * (leaf**2 + 6 * leaf) - 6 * n) * UNIT_ROUNDOFF


def expected_growth() -> float:
    """Return the factor by which a level makes the error of independent numbers around 0 larger.

    The errors of a sum of K such products come from partial sums that grow with the square root of
    their length, so their variance grows as K². It is proportional to the variances of the factors
    as well: S2, a sum of three quadrants, has three times that of A. By the definition a quadrant
    of C is two products of K/2. Here it is up to four, of factors that are larger.
    """
    weights = {one.name: len(terms(one.left)) * len(terms(one.right)) for one in PRODUCTS}
    of_quadrants = [sum(weights[name] for name, _ in terms(f"C{place}")) for place in QUADRANTS]
    by_the_definition = 4  # one product of all of K has twice the variance of two of K/2 each
    return sqrt(sum(of_quadrants) / len(of_quadrants) / by_the_definition)


UNIFORM, POSITIVE, NORMAL, WIDE_EXPONENTS = "uniform", "positive", "normal", "wide exponents"
INPUTS = {
    UNIFORM: "uniform in ±0.5",
    POSITIVE: "uniform in 0 to 1",
    NORMAL: "normal, of mean 0 and deviation 1",
    WIDE_EXPONENTS: "±2 to a power uniform in ±10",
}
"""Classes of matrices, by name."""

_BAND = 4096
"""Terms of a sum that are brought to float64 at a time."""


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
    """Return ‖error‖ / ‖C‖, Frobenius norms over some rows of C, against float64.

    Args:
        library: NumPy or CuPy, of which a (M×K), b (K×N) and c (M×N) are arrays.
        rows: numbers of rows.
    """
    chosen = library.asarray(list(rows))
    exact = library.zeros((len(rows), c.shape[1]), dtype="float64")
    for first in range(0, a.shape[1], _BAND):
        left = a[chosen, first : first + _BAND].astype("float64")
        exact += left @ b[first : first + _BAND].astype("float64")
    off = c[chosen].astype("float64") - exact
    return float(library.linalg.norm(off) / library.linalg.norm(exact))


def sampled_rows(m: int, count: int = 64) -> list[int]:
    """Return some rows of m, the first, the last and others evenly between, none twice."""
    return sorted({i * (m - 1) // max(1, count - 1) for i in range(count)})
