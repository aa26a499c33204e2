"""Elements as a hash of their indices, and the check of sampled rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.multi_gpu.elements import fill, worst_share
from sgemm_lab.multi_gpu.plan import Tile


def matrix(name: str, rows: int, columns: int) -> np.ndarray:
    out = np.empty((rows, columns), "float32")
    fill(np, out, Tile(name, 0, 0, rows, columns))
    return out


@given(*(st.integers(0, 20) for _ in range(2)), *(st.integers(1, 20) for _ in range(2)))
@settings(max_examples=30)
def test_a_tile_is_a_part_of_the_whole(row: int, column: int, rows: int, columns: int) -> None:
    part = np.empty((rows, columns), "float32")
    fill(np, part, Tile("A", row, column, rows, columns))
    whole = matrix("A", 40, 40)
    assert np.array_equal(part, whole[row : row + rows, column : column + columns])


def test_large_tiles_are_made_in_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = matrix("B", 30, 40)
    monkeypatch.setattr("sgemm_lab.multi_gpu.elements._BAND", 100)
    assert np.array_equal(matrix("B", 30, 40), whole)


def test_elements_are_spread_evenly_and_are_independent() -> None:
    a, b = matrix("A", 500, 700).astype(float), matrix("B", 500, 700).astype(float)
    for found in (a, b):
        assert found.min() >= -0.5
        assert found.max() < 0.5
        assert abs(found.mean()) < 2e-3
        assert found.var() == pytest.approx(1 / 12, rel=0.01)
        assert np.abs(np.corrcoef(found[:50])[np.triu_indices(50, 1)]).max() < 0.2
    assert abs((a * b).mean()) < 1e-3


@pytest.mark.parametrize("tile", [Tile("C", 0, 0, 60, 50), Tile("C", 17, 30, 1, 20)])
def test_a_correct_tile_passes_and_a_wrong_one_fails(tile: Tile) -> None:
    size = (60, 50, 300)
    c = matrix("A", 60, 300) @ matrix("B", 300, 50)
    part = c[tile.row : tile.row + tile.rows, tile.column : tile.column + tile.columns].copy()
    assert worst_share(np, part, tile, size) < 0.5
    part[-1, -1] += 0.01
    assert worst_share(np, part, tile, size) > 1
    part[0, 0] = np.nan
    assert np.isnan(worst_share(np, part, tile, size))
