"""The command ``strassen`` on a machine without a GPU."""

import json

import pytest

from sgemm_lab.cli import strassen
from sgemm_lab.cli.main import main


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strassen, "has_gpu", lambda: False)


def test_without_a_gpu_the_plan_is_run_in_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strassen", "--size", "30,40,50", "--levels", "2"]) == 0
    said = capsys.readouterr()
    assert "There is no GPU here: the plan runs in NumPy" in said.err
    assert said.out.startswith("30×40×50 with 2 levels: 49 products of 8×12×16")


def test_the_default_number_of_levels_is_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strassen", "--json", "--size", "64"]) == 0
    said = capsys.readouterr()
    assert "0 levels predicted as the fastest on NVIDIA H200" in said.err
    told = json.loads(said.out)
    assert (told["products"], told["workspace"], told["leaf"]) == (1, 0, [64, 64, 64])
    assert told["error"] < 1e-6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--size", "100000"], "takes NumPy too long"),
        (["--levels", "7"], "There can be 0 to 6 levels"),
        (["--size", "64", "--levels", "2", "--workspace", "100"], "the limit is 100 B"),
        (["record", "--measure", "77"], "The record has no size 77³"),
    ],
)
def test_invalid_arguments_are_errors(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["strassen", *arguments]) == 2
    assert words in capsys.readouterr().err
