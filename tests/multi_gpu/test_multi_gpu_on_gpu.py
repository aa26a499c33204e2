"""Plans on real GPUs, up to 4."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from sgemm_lab.multi_gpu.cases import layouts
from sgemm_lab.multi_gpu.engine import COPY, NCCL, Engine
from sgemm_lab.multi_gpu.layouts import make_plan
from sgemm_lab.multi_gpu.process_group import ProcessGroup, single_process
from sgemm_lab.multi_gpu.topology import gpu_count

SIZES = [(1, 1, 1), (2, 3, 1), (257, 129, 65), (1000, 1, 999), (1023, 1025, 1021)]


@pytest.fixture(scope="module", params=[COPY, NCCL])
def carried(request: pytest.FixtureRequest) -> tuple[ProcessGroup, str]:
    return single_process(min(4, gpu_count()), nccl=request.param == NCCL), request.param


@pytest.mark.gpu
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("inside", ["cublas", "book"])
def test_c_is_correct_on_gpus(
    carried: tuple[ProcessGroup, str], inside: str, size: tuple[int, int, int]
) -> None:
    group, transport = carried
    if transport == NCCL and group.gpus == 1:
        transport = COPY
    for layout in (*layouts(group.gpus), "summa"):
        engine = Engine(
            make_plan(layout, size, group.gpus), group, inside=inside, transport=transport
        )
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


DIES = """
import os, sys
from pathlib import Path
from sgemm_lab.multi_gpu.process_group import join_by_file
join_by_file(Path(sys.argv[1]), 1, 2, 60)
os._exit(9)
"""
"""A rank that joins the other and ends before its first transfer."""
LIMIT = 10


@pytest.mark.gpu
def test_a_dying_rank_is_an_error_without_a_deadlock(tmp_path: Path) -> None:
    if gpu_count() < 2:
        pytest.skip("There is one GPU here: no rank waits for another.")
    meet = str(tmp_path / "meet")
    limit = ["--time-limit", str(LIMIT), "--size", "4096", "--transport", "nccl"]
    ranks = ["--meet", meet, "--rank", "0", "--ranks", "2", *limit]
    dies = subprocess.Popen([sys.executable, "-c", DIES, meet])
    begin = time.monotonic()
    lives = subprocess.run(
        [sys.executable, "-m", "sgemm_lab", "several", *ranks],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert dies.wait(60) == 9
    assert lives.returncode == 2
    assert "Traceback" not in lives.stderr
    assert f"{LIMIT} seconds" in lives.stderr
    assert time.monotonic() - begin < 6 * LIMIT
