"""Small kernels at any size against the chain of multiply-adds."""

import numpy as np
from exact_reference import chain_of_fma
from hypothesis import given, settings
from hypothesis import strategies as st
from simulator_kernels import GEMMS, run_gemm

SIZES = st.integers(1, 40)


def bits(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint32)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(sorted(GEMMS)), SIZES, SIZES, st.integers(1, 20), st.integers(0, 99))
def test_any_size_equals_the_chain_of_fma(name: str, m: int, n: int, k: int, seed: int) -> None:
    args, result = run_gemm(name, m, n, k, seed=seed)
    assert np.array_equal(bits(result.arrays["C"]), bits(chain_of_fma(args["A"], args["B"])))
    assert result.hazards == []
