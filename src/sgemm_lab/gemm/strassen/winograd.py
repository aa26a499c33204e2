"""Winograd's variant of Strassen's algorithm: C = A·B with seven products and fifteen additions.

A, B and C are cut into quadrants, ``A11`` at the upper left, ``A12`` at the upper right. The
definition takes eight products of quadrants. Sources: V. Strassen, "Gaussian elimination is not
optimal", 1969 (seven products, eighteen additions); N. Higham, "Accuracy and stability of numerical
algorithms", 2nd edition, section 23.1 (Winograd's fifteen additions).
"""

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Sum:
    """``name = first + sign·second``: one addition of matrices."""

    name: str
    first: str
    sign: int
    """1 or -1."""
    second: str


@dataclass(frozen=True)
class Product:
    """``name = left·right``, each a quadrant or a sum."""

    name: str
    left: str
    right: str


LEFT = (
    Sum("S1", "A21", 1, "A22"),
    Sum("S2", "S1", -1, "A11"),
    Sum("S3", "A11", -1, "A21"),
    Sum("S4", "A12", -1, "S2"),
)
"""Sums of quadrants of A; each may use earlier ones."""

RIGHT = (
    Sum("T1", "B12", -1, "B11"),
    Sum("T2", "B22", -1, "T1"),
    Sum("T3", "B22", -1, "B12"),
    Sum("T4", "T2", -1, "B21"),
)
"""Sums of quadrants of B."""

PRODUCTS = (
    Product("P1", "A11", "B11"),
    Product("P2", "A12", "B21"),
    Product("P3", "S2", "T2"),
    Product("P4", "S3", "T3"),
    Product("P5", "S1", "T1"),
    Product("P6", "S4", "B22"),
    Product("P7", "A22", "T4"),
)
"""In this order each quadrant of C can be accumulated product by product, as in ``RESULT``."""

RESULT = (
    Sum("C11", "P1", 1, "P2"),
    Sum("U2", "P1", 1, "P3"),
    Sum("U3", "U2", 1, "P4"),
    Sum("U4", "U2", 1, "P5"),
    Sum("C12", "U4", 1, "P6"),
    Sum("C21", "U3", -1, "P7"),
    Sum("C22", "U3", 1, "P5"),
)
"""Sums of products; C11 to C22 are the quadrants of C."""

QUADRANTS = ("11", "12", "21", "22")

ADDITIONS = (*LEFT, *RIGHT, *RESULT)
_SUMS = {one.name: one for one in ADDITIONS}


@lru_cache(maxsize=64)
def terms(name: str) -> tuple[tuple[str, int], ...]:
    """Expand a name into quadrants of A or B, or products, each with its sign.

    They are in the order of summation: ``terms("S2")`` is A21, A22, -A11.
    """
    if name not in _SUMS:
        return ((name, 1),)
    one = _SUMS[name]
    found = dict(terms(one.first))
    for part, sign in terms(one.second):
        found[part] = found.get(part, 0) + one.sign * sign
    return tuple((part, sign) for part, sign in found.items() if sign)
