"""The command ``multi-gpu`` on a machine without a GPU."""

import json
import subprocess
import sys

import pytest

from sgemm_lab.cli import multi_gpu
from sgemm_lab.cli.main import main


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


def test_no_module_of_several_loads_cupy() -> None:
    code = (
        "import importlib, pkgutil, sys, sgemm_lab.multi_gpu as room\n"
        "for found in pkgutil.iter_modules(room.__path__):\n"
        "    importlib.import_module(f'{room.__name__}.{found.name}')\n"
        "assert not {'cupy', 'torch', 'jax', 'mpi4py'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
