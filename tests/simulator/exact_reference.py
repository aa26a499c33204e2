"""Obviously right and slow: single-precision arithmetic with fractions."""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt


def round_to_float32(value: Fraction, sign_of_zero: float = 1.0) -> float:
    """The float32 nearest to a fraction, ties to even; too large gives infinity."""
    if value == 0:
        return math.copysign(0.0, sign_of_zero)
    magnitude = abs(value)
    exponent = max(-149, math.floor(math.log2(magnitude)) - 24)
    while magnitude / Fraction(2) ** exponent >= 2**24:
        exponent += 1
    while exponent > -149 and magnitude / Fraction(2) ** exponent < 2**23:
        exponent -= 1
    # Python rounds fractions to the nearest integer, ties to even.
    rounded = round(magnitude / Fraction(2) ** exponent) * Fraction(2) ** exponent
    result = math.inf if rounded >= Fraction(2) ** 128 else float(rounded)
    return math.copysign(result, value)


def exact_fma(a: float, b: float, c: float) -> float:
    """a·b + c rounded once; all three finite."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        # IEEE 754: a sum of zeros keeps a sign both share; otherwise zero is positive.
        product_sign = math.copysign(1.0, a) * math.copysign(1.0, b)
        both_negative = product_sign < 0 and math.copysign(1.0, c) < 0
        zero_product = a == 0 or b == 0
        return math.copysign(0.0, -1.0 if both_negative and zero_product else 1.0)
    return round_to_float32(exact)


def chain_of_fma(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """A·B where each element is a chain of fused multiply-adds in order of k, from 0."""
    rows, depth = a.shape
    result = np.zeros((rows, b.shape[1]), dtype=np.float32)
    for row in range(rows):
        for column in range(b.shape[1]):
            total = 0.0
            for k in range(depth):
                total = exact_fma(float(a[row, k]), float(b[k, column]), total)
            result[row, column] = total
    return result
