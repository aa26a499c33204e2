"""Ratios of two speeds in words."""

import pytest

from sgemm_lab.models.difference import comparison


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.5, "50.0 % slower"), (0.979, "2.1 % slower"), (0.981, "no difference"),
        (1.019, "no difference"), (1.021, "2.1 % faster"), (2.5, "150.0 % faster"),
    ],
)  # fmt: skip
def test_a_difference_below_two_percent_is_none(ratio: float, words: str) -> None:
    assert comparison(ratio) == words
