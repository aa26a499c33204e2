"""``ex2``, ``rcp`` and ``rsqrt`` as an H200 rounds them, bit by bit.

``approximations_h200.gz`` holds, for every float32 from 1 to 2 (``rsqrt`` up to 4), how many units
in the last place the hardware's answer lies beside the nearest float32: two bits each, plus two. So
much is enough, for the hardware works on the significand alone: ``rcp`` and ``rsqrt`` of other
numbers differ by a power of two, and ``ex2`` drops what lies below 2⁻²³. Of a negative number it
takes the bits of its size, each turned over, so that a multiple of 2⁻²³ falls to the next one. All
50 million answers that were recorded follow this.
"""

import gzip
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_PLACES = 23
"""Bits of a float32 behind its first."""
_COUNT = 1 << _PLACES

Floats = npt.NDArray[np.float32]

_TABLES: dict[str, Callable[[Any], Any]] = {
    "ex2": np.exp2,
    "rcp": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rsqrt of 2 to 4": lambda x: 1 / np.sqrt(2 * x),
}
"""The tables, in the order of the file, and what each says of a number from 1 to 2."""


@cache
def _packed() -> npt.NDArray[np.uint8]:
    """All tables, four answers to a byte: (tables, bytes)."""
    path = Path(__file__).with_name("approximations_h200.gz")
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8).reshape(len(_TABLES), -1)


@cache
def _answers(name: str) -> Floats:
    """The hardware's answers in one table."""
    packed = _packed()[list(_TABLES).index(name)]
    beside = np.empty((len(packed), 4), np.int32)
    for place in range(4):
        beside[:, place] = packed >> np.uint8(2 * place) & np.uint8(3)
    given = 1 + np.arange(_COUNT) / _COUNT
    nearest = _TABLES[name](given).astype(np.float32).view(np.int32)
    nearest += beside.reshape(-1) - 2
    return np.asarray(nearest.view(np.float32))


def power_of_two(x: Any) -> Any:
    """Return 2^x, in float64 that holds the hardware's answer."""
    given = np.asarray(x, np.float64)
    size = np.floor(np.minimum(np.abs(given), 1024) * _COUNT).astype(np.int64)
    steps = np.where(np.signbit(given) & (given != 0), -size - 1, size)
    # The table begins at 2^1.
    made = np.ldexp(_answers("ex2")[steps & (_COUNT - 1)].astype("f8") / 2, steps >> _PLACES)
    return np.where(np.isfinite(given), made, np.exp2(given))


def reciprocal(x: Any) -> Any:
    """Return 1/x, in float64 that holds the hardware's answer."""
    given = np.asarray(x, np.float64)
    significand, exponent = np.frexp(given)
    index = ((np.abs(significand) * 2 - 1) * _COUNT).astype(np.int64, casting="unsafe")
    found = _answers("rcp")[index & (_COUNT - 1)].astype("f8")
    made = np.copysign(np.ldexp(found, 1 - exponent), given)
    return np.where(np.isfinite(given) & (given != 0), made, 1 / given)


def reciprocal_root(x: Any) -> Any:
    """Return 1/√x, in float64 that holds the hardware's answer."""
    given = np.asarray(x, np.float64)
    significand, exponent = np.frexp(np.abs(given))
    exponent = exponent - 1  # the significand is counted from 1 to 2
    index = ((significand * 2 - 1) * _COUNT).astype(np.int64, casting="unsafe") & (_COUNT - 1)
    odd = exponent % 2 != 0
    found = np.where(odd, _answers("rsqrt of 2 to 4")[index], _answers("rsqrt")[index])
    made = np.ldexp(found.astype("f8"), -(exponent // 2))
    return np.where(np.isfinite(given) & (given > 0), made, 1 / np.sqrt(given))
