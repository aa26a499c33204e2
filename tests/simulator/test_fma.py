"""Fused multiply-adds are rounded once."""

import numpy as np
from exact_reference import exact_fma
from hypothesis import example, given, settings
from hypothesis import strategies as st
from inside import inside


def finite(negative: bool, exponent: int, fraction: int) -> float:
    """Return the float32 with these fields: of every draw one, so that none is filtered out."""
    word = np.uint32(negative << 31 | exponent << 23 | fraction)
    return float(word.view(np.float32))


FINITE = st.builds(finite, st.booleans(), st.integers(0, 254), st.integers(0, 2**23 - 1))
Terms = tuple[float, float, float]
SPECIAL: list[Terms] = [
    (1.0, 2.0**-149, 2.0**-149),
    (2.0**-75, 2.0**-75, 2.0**-126),
    (1.0 + 2.0**-23, 1.0 + 2.0**-23, -1.0),
    (-0.0, 1.0, -0.0),
]


def bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def assert_rounded_once(terms: list[Terms]) -> None:
    a, b, c = zip(*terms, strict=True)
    assert inside("fma", a, b, c) == [bits(exact_fma(*one)) for one in terms]


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(FINITE, FINITE, FINITE), min_size=60, max_size=100))
@example(SPECIAL)
def test_rounds_once(terms: list[Terms]) -> None:
    assert_rounded_once(terms)


def near_tie(half: int, steps: int, above: bool, negative: bool) -> Terms:
    # (1 + e)(1 - e) / 2 is a hair less than a half: float64 drops the hair next to a large c.
    e = steps * 2.0**-23
    a, b, c = (1 + e) / 2, 1 - e, 2.0 * half + 1
    if above:
        a = -a
    return (-a, b, -c) if negative else (a, b, c)


TIES = st.builds(
    near_tie, st.integers(2**22, 2**23 - 1), st.integers(1, 200), st.booleans(), st.booleans()
)


@settings(max_examples=5, deadline=None)
@given(st.lists(TIES, min_size=60, max_size=100))
def test_rounds_once_near_ties(terms: list[Terms]) -> None:
    assert_rounded_once(terms)
