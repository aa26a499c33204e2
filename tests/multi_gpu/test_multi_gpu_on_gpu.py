"""Plans on real GPUs, up to 4."""

import pytest

from sgemm_lab.multi_gpu.engine import Engine
from sgemm_lab.multi_gpu.layouts import layouts, make_plan
from sgemm_lab.multi_gpu.topology import gpu_count

SIZES = [(1, 1, 1), (2, 3, 1), (257, 129, 65), (1000, 1, 999), (1023, 1025, 1021)]


@pytest.mark.gpu
@pytest.mark.parametrize("size", SIZES)
def test_c_is_correct_on_gpus(size: tuple[int, int, int]) -> None:
    gpus = min(4, gpu_count())
    for layout in (*layouts(gpus), "summa"):
        engine = Engine(make_plan(layout, size, gpus))
        engine.fill_nan()
        engine.run()
        assert engine.check() <= 1
