"""Plans on real GPUs: as many as there are, up to 4. One GPU runs plans of one."""

import pytest

from sgemm_lab.several.cases import layouts
from sgemm_lab.several.engine import COPY, NCCL, Engine
from sgemm_lab.several.layouts import make_plan
from sgemm_lab.several.machine import gpu_count
from sgemm_lab.several.team import Team, alone

SIZES = [(1, 1, 1), (2, 3, 1), (257, 129, 65), (1000, 1, 999), (1023, 1025, 1021)]


@pytest.fixture(scope="module", params=[COPY, NCCL])
def carried(request: pytest.FixtureRequest) -> tuple[Team, str]:
    return alone(min(4, gpu_count()), nccl=request.param == NCCL), request.param


@pytest.mark.gpu
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("inside", ["cublas", "book"])
def test_c_is_right_on_gpus(
    carried: tuple[Team, str], inside: str, size: tuple[int, int, int]
) -> None:
    team, transport = carried
    if transport == NCCL and team.gpus == 1:
        transport = COPY
    for layout in (*layouts(team.gpus), "summa"):
        engine = Engine(
            make_plan(layout, size, team.gpus), team, inside=inside, transport=transport
        )
        for overlap in (True, False):
            program = engine.program(overlap=overlap)
            engine.poison()
            program.run()
            assert engine.check() <= 1
            program.capture()
            engine.poison()
            program.run()
            program.release()
            assert engine.check() <= 1
