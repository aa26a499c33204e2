"""Plans on real GPUs, up to 4."""

import pytest

from sgemm_lab.multi_gpu.cases import layouts
from sgemm_lab.multi_gpu.engine import COPY, NCCL, Engine
from sgemm_lab.multi_gpu.layouts import make_plan
from sgemm_lab.multi_gpu.topology import gpu_count

SIZES = [(1, 1, 1), (2, 3, 1), (257, 129, 65), (1000, 1, 999), (1023, 1025, 1021)]


@pytest.mark.gpu
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("inside", ["cublas", "book"])
@pytest.mark.parametrize("transport", [COPY, NCCL])
def test_c_is_correct_on_gpus(transport: str, inside: str, size: tuple[int, int, int]) -> None:
    gpus = min(4, gpu_count())
    for layout in (*layouts(gpus), "summa"):
        engine = Engine(make_plan(layout, size, gpus), inside=inside, transport=transport)
        for overlap in (True, False):
            program = engine.program(overlap=overlap)
            engine.fill_nan()
            program.run()
            assert engine.check() <= 1
            program.capture()
            engine.fill_nan()
            program.run()
            program.release()
            assert engine.check() <= 1
