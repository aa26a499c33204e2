"""Shapes of the dispatcher: fixed ones, and drawn ones to fit and to judge its model."""

import math
from random import Random

from sgemm_lab.kernel import Size

SQUARES: tuple[Size, ...] = tuple(
    (n, n, n) for n in (256, 512, 1024, 2048, 3072, 4096, 5120, 8192, 16384)
)
"""Squares at which ``matmul`` is compared with cuBLAS."""

FORTY_SHAPES: tuple[Size, ...] = (
    # One less and one more than a power of two.
    (255, 255, 255), (257, 257, 257), (511, 511, 511), (513, 513, 513),
    (1023, 1023, 1023), (1025, 1025, 1025), (2047, 2047, 2047), (2049, 2049, 2049),
    (4095, 4095, 4095), (4097, 4097, 4097),
    # Ragged.
    (1000, 1000, 1000), (1500, 1700, 1900), (3001, 2999, 3003), (777, 1555, 3111),
    (129, 4097, 513), (2000, 3000, 500),
    # Tall.
    (16384, 128, 1024), (65536, 64, 256), (32768, 256, 512), (100000, 100, 100),
    # Flat.
    (128, 16384, 1024), (64, 65536, 256), (256, 32768, 512), (100, 100000, 100),
    # Thin K.
    (4096, 4096, 1), (4096, 4096, 16), (4096, 4096, 64), (8192, 8192, 32), (2048, 2048, 128),
    # Deep K.
    (64, 64, 262144), (128, 128, 65536), (256, 256, 32768), (512, 512, 16384), (1024, 1024, 8192),
    # One row, one column.
    (1, 4096, 4096), (1, 16384, 16384), (1, 1000, 1000),
    (4096, 1, 4096), (16384, 1, 16384), (1000, 1, 1000),
)  # fmt: skip
"""Forty evaluation shapes, fixed before the dispatcher was written and excluded from searches."""

SMALLEST, LARGEST = 32, 10_000
"""Range of M, N and K of drawn shapes."""

_LONG = (20_000, 200_000)
"""Range of the long side of some of the other shapes."""

_MULTIPLE = 8
"""In half of the drawn shapes M, N and K are multiples of this."""


def drawn(count: int, seed: int) -> list[Size]:
    """Return shapes drawn at random: M, N, K uniform in the logarithm; half of them aligned.

    The same seed gives the same shapes, and a larger count only adds to them.
    """
    random = Random(seed)
    return [_drawn(random, aligned=place % 2 == 0) for place in range(count)]


def edges(count: int, seed: int) -> list[Size]:
    """Return drawn shapes with a short side, or with a long one.

    In turns: C of few rows, of few columns, a thin K, a deep K, a tall or flat C, and a C of one
    row or one column.
    """
    random = Random(seed)
    found: list[Size] = []
    for place in range(count):
        m, n, k = _drawn(random, aligned=place // 6 % 2 == 0)
        short, long = int(_log_uniform(random, 1, SMALLEST)), int(_log_uniform(random, *_LONG))
        turned = place % 4 == 0
        shapes: list[Size] = [
            (short, n, k), (m, short, k), (m, n, short),
            (min(m, 1024), min(n, 1024), long),
            (min(m, 512), long, min(k, 1024)) if turned else (long, min(n, 512), min(k, 1024)),
            (m, 1, k) if turned else (1, n, k),
        ]  # fmt: skip
        found.append(shapes[place % 6])
    return found


def _drawn(random: Random, *, aligned: bool) -> Size:
    m, n, k = (_log_uniform(random, SMALLEST, LARGEST) for _ in range(3))
    unit = _MULTIPLE if aligned else 1
    return _multiple(m, unit), _multiple(n, unit), _multiple(k, unit)


def _multiple(x: float, unit: int) -> int:
    return max(unit, round(x / unit) * unit)


def _log_uniform(random: Random, low: float, high: float) -> float:
    return math.exp(random.uniform(math.log(low), math.log(high)))
