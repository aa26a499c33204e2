"""The command ``multi-gpu`` on a machine without a GPU, and its scoreboard."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from record_samples import DEVICE

from sgemm_lab.cli import multi_gpu
from sgemm_lab.cli.main import main
from sgemm_lab.records.multi_gpu import Case, MultiGpuFile, MultiGpuRun, ProductTimes


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_gpu, "has_gpu", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_the_plan_is_run_in_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["multi-gpu", "--layout", "cannon", "--gpus", "9", "--size", "30,40,50"]) == 0
    said = capsys.readouterr()
    assert "There is no GPU here: the plan runs in NumPy" in said.err
    *rows, last = said.out.splitlines()
    assert len(rows) == 10
    assert last.startswith("30×40×50 by cannon on 9 GPUs: sampled rows are right")


@pytest.mark.usefixtures("no_gpu")
def test_json_lists_the_steps_of_each_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["multi-gpu", "--json", "--gpus", "3", "--size", "9"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["worst_share"] <= 1
    assert [row["received"] for row in told["gpus"]] == [2, 2, 2]
    assert told["gpus"][0]["bytes"] == 4 * 9 * 6


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--layout", "cannon", "--gpus", "3"], "3 is not one. Take 1 or 4"),
        (["--size", "100000"], "takes NumPy too long"),
    ],
)
def test_invalid_arguments_are_errors(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["multi-gpu", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_the_scoreboard_is_a_list_of_objects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Case(4, 100, 100, 100, "cannon", "cublas", "nccl", block_limit=4)
    times = ProductTimes(case, (1e-6,), 0.2, (2e-6,), (0.99e-6,), alone=(0.98e-6,))
    run = MultiGpuRun(
        "2026-01-02T03:04:05Z", 4, "580.1", "13.0", "14.2.0", "2.28.9", "0.1.0", "cublasSgemm",
        products=(times,),
    )  # fmt: skip
    MultiGpuFile(tmp_path, DEVICE, run).end()
    assert main(["multi-gpu", "scoreboard", "--json", "--records", str(tmp_path)]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {
        "gpu": "NVIDIA H200", "gpus": 4, "n": 100, "inside": "cublas", "layout": "cannon",
        "panels": 1, "transport": "nccl", "block_limit": 4, "graph": False, "tflops": 2.0,
        "efficiency": 0.98, "transfer_cost": 1.0101, "worst_share": 0.2,
        "date": "2026-01-02T03:04:05Z",
    }  # fmt: skip
    assert main(["several", "scoreboard", "--records", str(tmp_path)]) == 0
    assert "cannon" in capsys.readouterr().out


def test_no_module_of_several_loads_cupy() -> None:
    code = (
        "import importlib, pkgutil, sys, sgemm_lab.multi_gpu as room\n"
        "for found in pkgutil.iter_modules(room.__path__):\n"
        "    importlib.import_module(f'{room.__name__}.{found.name}')\n"
        "assert not {'cupy', 'torch', 'jax', 'mpi4py'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
