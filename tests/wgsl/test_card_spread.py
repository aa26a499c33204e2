"""The middle of samples and their spread are NumPy's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from in_node import answers

SAMPLES = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=9)


@settings(max_examples=1, database=None, derandomize=True, deadline=None)
@given(st.lists(SAMPLES, min_size=60, max_size=60))
def test_median_and_spread_are_numpys(cases: list[list[float]]) -> None:
    function = "(samples) => [spread.medianOf(samples), spread.spreadOf(samples)]"
    said = answers({"spread": "wgsl/spread.ts"}, function, [(one,) for one in cases])
    for samples, one in zip(cases, said, strict=True):
        low, middle, high = np.quantile(samples, (0.25, 0.5, 0.75))
        np.testing.assert_allclose(
            one["gives"], [middle, (high - low) / middle], rtol=1e-9, atol=1e-12
        )
