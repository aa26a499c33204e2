"""Fused multiply-adds are rounded once."""

import numpy as np
from exact_reference import exact_fma
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sgemm_lab.simulator.fma import fma32

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def single(a: float, b: float, c: float) -> np.float32:
    return fma32(*(np.array([value], dtype=np.float32) for value in (a, b, c)))[0]


def bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


@settings(max_examples=400, deadline=None)
@given(FINITE, FINITE, FINITE)
@example(1.0, 2.0**-149, 2.0**-149)
@example(2.0**-75, 2.0**-75, 2.0**-126)
@example(1.0 + 2.0**-23, 1.0 + 2.0**-23, -1.0)
@example(-0.0, 1.0, -0.0)
def test_rounds_once(a: float, b: float, c: float) -> None:
    assert bits(single(a, b, c)) == bits(exact_fma(a, b, c))


@settings(max_examples=300, deadline=None)
@given(st.integers(2**22, 2**23 - 1), st.integers(1, 200), st.booleans(), st.booleans())
def test_rounds_once_near_ties(half: int, steps: int, above: bool, negative: bool) -> None:
    # (1 + e)(1 - e) / 2 is a hair less than a half: float64 drops the hair next to a large c.
    e = steps * 2.0**-23
    a, b, c = (1 + e) / 2, 1 - e, 2.0 * half + 1
    if above:
        a = -a
    if negative:
        a, c = -a, -c
    assert float(np.float32(a)) == a
    assert float(np.float32(b)) == b
    assert bits(single(a, b, c)) == bits(exact_fma(a, b, c))


def test_float64_alone_would_be_wrong() -> None:
    e = 2.0**-23
    a, b, c = (1 + e) / 2, 1 - e, 2.0**23 + 1
    assert np.float32(a * b + c) == 2.0**23 + 2
    assert single(a, b, c) == exact_fma(a, b, c) == 2.0**23 + 1


def test_out_may_be_an_input_and_shapes_broadcast() -> None:
    c = np.ones((3, 4), dtype=np.float32)
    a = np.arange(4, dtype=np.float32)
    assert fma32(a, np.float32(2), c, out=c) is c
    assert np.array_equal(c, np.broadcast_to(2 * a + 1, (3, 4)))
    assert np.isnan(fma32(np.float32(np.inf), np.float32(0), np.float32(1))).all()
