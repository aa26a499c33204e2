"""The formulas of a tile."""

import pytest
from widget_samples import GPUS

from sgemm_lab.formulas.tile import (
    Tile,
    bound,
    compulsory_intensity,
    global_intensity,
    tile_intensity,
)
from sgemm_lab.widgets.data import complete_gpus


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [(1, 1, 0.25), (8, 8, 2), (16, 16, 4), (32, 32, 8), (128, 128, 32), (128, 64, 64 / 3)],
)
def test_intensity_of_a_tile(rows: int, columns: int, expected: float) -> None:
    assert tile_intensity(rows, columns) == pytest.approx(expected)


def test_compulsory_intensity() -> None:
    assert compulsory_intensity(4096, 4096, 4096) == pytest.approx(4096 / 6)
    assert compulsory_intensity(1, 1, 1) == pytest.approx(1 / 6)


def test_resources_of_a_tile() -> None:
    tile = Tile(bm=128, bn=64, bk=8, tm=8, tn=4)
    assert tile.shared_bytes == 4 * (128 * 8 + 8 * 64)
    assert tile.threads == 16 * 16
    assert tile.accumulators == 32
    assert Tile().shared_bytes == 0


def test_the_bound_is_the_lowest_roof() -> None:
    gpu = complete_gpus(GPUS)[0]
    square = {"m": 4096, "n": 4096, "k": 4096}
    assert bound(Tile(), gpu, square).gflops == pytest.approx(0.25 * 4190)
    assert bound(Tile(), gpu, square).limit == "dram"
    tiled = Tile.from_constants({"TILE": 32})
    assert bound(tiled, gpu, square) == bound(Tile(32, 32, 32), gpu, square)
    assert bound(tiled, gpu, square).limit == "shared"
    assert bound(tiled, gpu, square).gflops == pytest.approx(0.25 * 33_454)
    large = Tile(128, 128, 8, 8, 8)
    assert bound(large, gpu, square).limit == "peak"
    assert bound(large, gpu, {"m": 4096, "n": 4096, "k": 1}).limit == "dram"
    assert global_intensity(large, {"m": 16, "n": 16, "k": 16}) == pytest.approx(16 / 6)
