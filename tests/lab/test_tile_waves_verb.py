"""Tiles on SMs as the book shows them."""

import pytest

from sgemm_lab import lab


def test_tiles_come_from_the_kernels_and_speeds_from_the_record() -> None:
    widget = lab.tile_waves("column_order", "tiled", size=2048)
    large, tiled = widget.kernels
    assert [large[side] for side in ("bm", "bn", "bk")] == [128, 256, 8]
    assert [tiled[side] for side in ("bm", "bn", "bk")] == [32, 32, 32]
    assert (widget.gpu, large["gpu"]) == ("h200", "h200")
    sizes = [size for size, _ in large["speeds"]]
    assert sizes == sorted(sizes)
    assert {256, 1024, 4096, 8192} <= set(sizes)
    assert dict(large["speeds"])[4096] == pytest.approx(lab.speed("column_order"), abs=1)
    assert {gpu["id"]: gpu["sms"] for gpu in widget.gpus}["t4"] == 40
