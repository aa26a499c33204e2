"""How the error of C grows with the levels: a bound, and what to expect of random numbers."""

from math import sqrt

from sgemm_lab.checking.judge import UNIT_ROUNDOFF
from sgemm_lab.fewer.winograd import PRODUCTS, QUADRANTS, terms


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
