"""The tile of a kernel."""

import pytest

from sgemm_lab.formulas.tile import Tile


@pytest.mark.parametrize(
    ("rows", "columns", "expected"), [(1, 1, 0.25), (16, 16, 4), (32, 32, 8), (128, 64, 64 / 3)]
)
def test_intensity_of_a_tile(rows: int, columns: int, expected: float) -> None:
    assert Tile(rows, columns).block_intensity == pytest.approx(expected)


def test_constants_that_a_kernel_lacks_are_1_or_its_tile() -> None:
    assert Tile.from_constants({"TILE": 32}) == Tile(32, 32, 32)
    assert Tile.from_constants({"BM": 64, "BN": 32, "TM": 4}) == Tile(64, 32)
