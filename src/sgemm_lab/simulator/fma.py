"""Fused multiply-add in single precision, rounded once, as the GPU does it."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_SMALLEST_NORMAL = 2.0**-126
_LOW_BITS = np.uint32(0x1FFFFFFF)
_LOW_WORD = 0 if np.little_endian else 1
_HALFWAY = np.uint32(0x10000000)


def fma32(
    a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike, out: Floats | None = None
) -> Floats:
    """a·b + c with one rounding to nearest even, bit for bit what ``fma.rn.f32`` gives.

    The float64 product of two float32 numbers is exact; the float64 sum is rounded to 53 bits.
    Rounding that to float32 differs from rounding once only where the sum lands exactly halfway
    between two float32 numbers, or below the normal range. Those few are repaired by rounding
    the sum to odd, which makes the second rounding right (Boldo and Melquiond, 2008).

    Args:
        a, b, c: float32 arrays that broadcast to one shape.
        out: float32 array of that shape that receives the result; may be one of the inputs.
    """
    # Infinities and NaN are ordinary values on a GPU: no warnings about them.
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        product = np.atleast_1d(np.multiply(a, b, dtype=np.float64))
        reuse = product if product.shape == np.shape(c) else None
        total = np.add(product, c, out=reuse)
        low = total.view(np.uint32)[..., _LOW_WORD::2] & _LOW_BITS
        suspect = low == _HALFWAY
        magnitude = np.abs(total)
        suspect |= (magnitude < _SMALLEST_NORMAL) & (magnitude > 0)
        if suspect.any():
            total[suspect] = _rounded_to_odd(*_at(suspect, total.shape, a, b, c))
        if out is None:
            return np.asarray(total, dtype=np.float32)
        np.copyto(out, total.reshape(out.shape), casting="same_kind")
        return out


def _at(
    where: npt.NDArray[np.bool_], shape: tuple[int, ...], *values: npt.ArrayLike
) -> list[npt.NDArray[np.float64]]:
    return [np.broadcast_to(np.asarray(v), shape)[where].astype(np.float64) for v in values]


def _rounded_to_odd(a: Any, b: Any, c: Any) -> npt.NDArray[np.float64]:
    """a·b + c in float64, where an inexact sum takes the neighbour with an odd last bit."""
    product = a * b
    total = product + c
    # Knuth's two-sum: the rounding error of product + c, exactly.
    kept = total - product
    error = (product - (total - kept)) + (c - kept)
    inexact = np.isfinite(error) & (error != 0)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    towards = np.where(error > 0, np.inf, -np.inf)
    odd = np.nextafter(total, towards)
    return np.asarray(np.where(inexact & even, odd, total))


_SPLIT = 2.0**27 + 1
_SAFE = (2.0**-900, 2.0**900)


def fma64(a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """a·b + c with one rounding to nearest even, bit for bit what ``fma.rn.f64`` gives.

    The product is taken apart into two float64 (Dekker), and what the sums leave over is rounded to
    odd before it is added (Boldo and Melquiond, 2008). Factors and products beyond 2^±900 are
    rounded twice, for their parts leave the range of float64.
    """
    with np.errstate(all="ignore"):
        a, b, c = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (a, b, c)))
        product = a * b
        high_a, high_b = ((one * _SPLIT) - ((one * _SPLIT) - one) for one in (a, b))
        low_a, low_b = a - high_a, b - high_b
        rest = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
        inner, inner_error = _two_sum(c, rest)
        total, error = _two_sum(product, inner)
        made = total + odd_sum(inner_error, error)
        sizes = [np.abs(one) for one in (a, b, product)]
        safe = np.all([(one > _SAFE[0]) & (one < _SAFE[1]) for one in sizes], axis=0)
        return np.asarray(np.where(safe & (np.abs(c) < _SAFE[1]), made, product + c))


def _two_sum(one: Any, other: Any) -> tuple[Any, Any]:
    """A sum, and its rounding error exactly (Knuth)."""
    total = one + other
    kept = total - one
    return total, (one - (total - kept)) + (other - kept)


def odd_sum(one: Any, other: Any) -> Any:
    """Return a float64 sum; where it is inexact, the neighbour with an odd last bit."""
    total, error = _two_sum(one, other)
    inexact = np.isfinite(error) & (error != 0)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    return np.where(
        inexact & even, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total
    )
