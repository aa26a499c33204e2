"""The commands ``tune`` and ``shapes``, with a GPU that the tests pretend."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from record_samples import DEVICE, run

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cli import shapes as shapes_command
from sgemm_lab.cli import tune
from sgemm_lab.cli.main import main
from sgemm_lab.gemm.dispatch.shapes import drawn
from sgemm_lab.gemm.dispatch.tuning import ShapeTimes
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import TABLES, DrawnShape

NAIVE, TILE, SPLIT = (load_kernel(name) for name in ("naive", "small_tile", "split_k"))


class Bench:
    """``TILE`` is the fastest."""

    stops = False

    def __init__(self, *_: Any) -> None:
        self.resident = {TILE: 4, SPLIT: 2}

    def measure(self, size: Size) -> ShapeTimes:
        if self.stops:
            raise KeyboardInterrupt
        base = 1e-6 + 1e-13 * math.prod(size)
        faults = ["split_k is excluded at 256³."] if size == (256, 256, 256) else []
        return ShapeTimes(size, True, 2 * base, {TILE.name: base, SPLIT.name: 3 * base}, {}, faults)


class Dispatcher:
    def kernel_for(self, size: Size) -> Kernel:
        return TILE


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (tune, shapes_command):
        monkeypatch.setattr(room, "current_device", lambda: DEVICE)
        monkeypatch.setattr(room, "new_run", run)
        monkeypatch.setattr(room, "candidates", lambda: [TILE, SPLIT])
        monkeypatch.setattr(room, "GpuBench", Bench)
    monkeypatch.setattr(shapes_command, "dispatcher", lambda _: Dispatcher())


def test_tune_prints_the_fastest_kernels_and_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    path = tmp_path / "tuned" / "nvidia-h200.json"
    first, head, *rows = said.out.splitlines()
    assert first.startswith("2 candidates measured at 329 shapes. Half of them are predicted")
    assert first.endswith(f"The table is in {path}.")
    assert head.split() == ["M×N×K", "fastest", "GFLOP/s", "of", "cuBLAS"]
    assert len(rows) == 9
    assert rows[0].split()[:2] == ["256³", "small_tile"]
    assert "split_k is excluded at 256³." in said.err
    assert "297 of 329 shapes" in said.err
    found = TABLES.load(path)
    assert found.model
    assert {fit.kernel for fit in found.model.fits} == {TILE.name, SPLIT.name}


def test_a_search_that_is_stopped_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bench, "stops", True)
    assert main(["tune", "--json", "--out", str(tmp_path)]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert "The search was stopped. Nothing was written." in said.err
    assert list((tmp_path / "tuned").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_found_out_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tuned").write_text("a file")
    assert main(["tune", "--out", str(tmp_path)]) == 2
    assert "is not a folder" in capsys.readouterr().err


# Drawn shapes.


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[Size]:
    asked: list[Size] = []

    def judge(size: Size, multiply: Any, bench: Any, budget: Any, tuned: Any) -> list[DrawnShape]:
        asked.append(size)
        seconds = 4e-6 if len(asked) == 2 else 1e-6
        best = ("split_k", 1e-6) if bench else (None, None)
        model = DrawnShape(*size, TILE.name, seconds, 2e-6, 1.1e-6, *best)
        picks = [replace(model, kernel="cublas", seconds=1e-6, tune=m, cost=0.003) for m in tuned]
        return [model, *picks]

    monkeypatch.setattr(shapes_command, "judge", judge)
    return asked


def test_drawn_shapes_are_measured_and_summed_up(
    tmp_path: Path, judged: list[Size], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["shapes", "--drawn", "4", "--seed", "9", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert judged == drawn(4, 9)
    *_, last = capsys.readouterr().out.splitlines()
    m, n, k = judged[1]
    assert last == (
        "4 shapes drawn with seed 9 on NVIDIA H200: geometric mean 141 % of cuBLAS; "
        f"least 50 % at {m}×{n}×{k}; 1 below 95 %."
    )
    assert list(tmp_path.iterdir()) == []  # there is no table that they belong to


def test_drawn_shapes_as_json_are_kept_with_the_table(
    tmp_path: Path, judged: list[Size], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    arguments = ["shapes", "--drawn", "4", "--candidates", "--json", "--out", str(tmp_path)]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told) == 4
    m, n, k = judged[0]
    flop = 2 * m * n * k
    assert told[0] == {
        "m": m, "n": n, "k": k, "kernel": "small_tile", "gflops": pytest.approx(flop / 1e-6 / 1e9),
        "cublas_gflops": pytest.approx(flop / 2e-6 / 1e9), "best": "split_k",
        "best_gflops": pytest.approx(flop / 1e-6 / 1e9), "gpu": "NVIDIA H200",
        "date": run().date,
    }  # fmt: skip
    kept = TABLES.load(tmp_path / "tuned" / "nvidia-h200.json").drawn
    assert kept
    assert (kept.seed, len(kept.shapes)) == (0, 4)


def test_tuning_on_first_use_is_measured_beside_the_model(
    tmp_path: Path,
    judged: list[Size],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[bool] = []
    monkeypatch.setattr(
        shapes_command, "FirstUse", lambda *_, with_cublas: made.append(with_cublas)
    )
    arguments = ["shapes", "--drawn", "4", "--tune", "first", "--tune", "first+cublas"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert made == [False, True]
    *_, model, first, both = capsys.readouterr().out.splitlines()
    m, n, k = judged[0]
    said = f"geometric mean 200 % of cuBLAS; least 200 % at {m}×{n}×{k}; 0 below 95 %."
    assert "1 below 95 %" in model
    assert first == f"With tune='first': {said} The choice took 3.0 ms a shape, at most 3.0 ms."
    assert both.startswith("With tune='first+cublas': ")
    assert main([*arguments, "--json", "--out", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told[0]["first"] == {
        "kernel": "cublas", "gflops": pytest.approx(2 * m * n * k / 1e-6 / 1e9), "cost": 0.003
    }  # fmt: skip
