"""``record --wgsl``: what it refuses, what it writes and prints; the card itself is a stand-in."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sgemm_lab.cli import wgsl
from sgemm_lab.cli.main import main
from sgemm_lab.errors import MissingToolError
from sgemm_lab.wgsl import native
from sgemm_lab.wgsl.programs import load_programs

NAIVE = load_programs()[0]


def measured(size: int, _progress: native.Progress) -> dict[str, Any]:
    step = {"name": NAIVE.name, "fingerprint": NAIVE.fingerprint, "seconds": [3e-3, 1e-3, 2e-3]}
    return {
        "form": native.FORM,
        "card": "Card ⅰ",
        "date": "2026-11-22T10:00:00+00:00",
        "clock": "timestamps",
        "size": size,
        "copy_gbs": 100,
        "multiply_add_gflops": 2000.5,
        "rungs": [step],
    }


def test_it_writes_one_file_for_a_card_and_prints_the_ladder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wgsl, "measure", measured)
    assert main(["record", "--wgsl", "--size", "1000", "--out", str(tmp_path)]) == 0
    [path] = (tmp_path / "wgsl").iterdir()
    assert json.loads(path.read_text(encoding="utf-8")) == measured(1000, print)
    said = capsys.readouterr().out
    assert said.splitlines()[0].split() == ["naive_rows", "1,000", "GFLOP/s"]
    assert str(path) in said


@pytest.mark.parametrize(
    "arguments", [["tiled"], ["--size", "64,64,32"], ["--size", "64", "--size", "128"]]
)
def test_it_takes_no_kernels_and_one_square(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", "--wgsl", *arguments]) == 2
    assert "Give no kernel, and at most one size" in capsys.readouterr().err


def test_without_the_package_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "wgpu", None)
    with pytest.raises(MissingToolError, match="pip install wgpu"):
        native.measure(64, print)


def test_without_a_driver_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(**_: str) -> None:
        raise RuntimeError("no adapter")

    gpu = SimpleNamespace(gpu=SimpleNamespace(request_adapter_sync=none))
    monkeypatch.setitem(sys.modules, "wgpu", gpu)
    with pytest.raises(MissingToolError, match="No card is here for WGSL: no adapter"):
        native.measure(64, print)
