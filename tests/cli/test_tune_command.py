"""The commands ``tune`` and ``shapes``, with a GPU that the tests pretend."""

import json
from pathlib import Path
from typing import Any

import pytest
from record_samples import DEVICE, record, run

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cli import tune
from sgemm_lab.cli.main import main
from sgemm_lab.gemm.dispatch.search import Timing, WrongProductError
from sgemm_lab.gemm.dispatch.shapes import FORTY_SHAPES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import TABLES
from sgemm_lab.records.gpu_record import Measurement
from sgemm_lab.records.store import RECORDS

NAIVE, TILED, SPLIT = (load_kernel(name) for name in ("naive", "tiled", "split"))


class Bench:
    """Tiled is the fastest; the product of split is wrong."""

    stops = False

    def __init__(self, *_: Any) -> None: ...

    def refusal(self, kernel: Kernel, size: Size) -> str | None:
        return None

    def predicted_gflops(self, kernel: Kernel, size: Size) -> float:
        return 1e6

    def first_launch(self, kernel: Kernel, size: Size) -> float:
        if kernel is SPLIT:
            raise WrongProductError("C is off.")
        return 1e-6

    def measure(self, kernel: Kernel, size: Size) -> Timing:
        if self.stops and kernel is TILED:
            raise KeyboardInterrupt
        return Timing(1e-6 if kernel is TILED else 4e-6, 2e-6, graph=True)


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "current_device", lambda: DEVICE)
    monkeypatch.setattr(tune, "new_run", run)
    monkeypatch.setattr(tune, "candidates", lambda: [NAIVE, TILED, SPLIT])
    monkeypatch.setattr(tune, "GpuBench", Bench)


def test_tune_prints_the_fastest_kernels_and_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path)
    assert main(["tune", "--size", "64", "--size", "8,16,32", "--out", out]) == 0
    said = capsys.readouterr()
    path = tmp_path / "tuned" / "nvidia-h200.json"
    first, head, *rows = said.out.splitlines()
    assert first == (
        "4 points measured, 0 known before, 0 ruled out unmeasured. 2 products wrong. "
        f"The search is complete. The table is in {path}."
    )
    assert head.split() == ["M×N×K", "fastest", "GFLOP/s", "of", "cuBLAS"]
    assert [row.split() for row in rows] == [
        ["64³", "tiled", "524", "200", "%"], ["8×16×32", "tiled", "8.19", "200", "%"],
    ]  # fmt: skip
    assert "split is excluded at 64³: C is off." in said.err
    assert TABLES.load(path).searches[0].complete


def test_tune_resumes_after_ctrl_c(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["tune", "--json", "--size", "64", "--out", str(tmp_path)]
    monkeypatch.setattr(Bench, "stops", True)
    assert main(arguments) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert "The search was stopped. Its points are in" in said.err
    monkeypatch.setattr(Bench, "stops", False)
    monkeypatch.setattr(tune, "new_run", lambda: run(date="2026-02-02T03:04:05Z"))
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["measured"], told["known"], told["complete"]) == (1, 1, True)
    assert told["file"].endswith("nvidia-h200.json")


def test_a_folder_that_cannot_be_written_is_found_out_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tuned").write_text("a file")
    assert main(["tune", "--out", str(tmp_path)]) == 2
    assert "is not a folder" in capsys.readouterr().err


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    measurements = []
    for number, (m, n, k) in enumerate(FORTY_SHAPES):
        seconds = (0.5,) if number else (2.0,)
        measurements += [
            Measurement("matmul", NAIVE.fingerprint, m, n, k, 1, seconds, picked="naive"),
            Measurement("cublas", "", m, n, k, 1, (1.0,)),
        ]
    RECORDS.save(tmp_path / "nvidia-h200.json", record(run(*measurements)))
    return tmp_path


def test_shapes_prints_the_mean_and_the_minimum(
    shapes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shapes", "--recorded", "--out", str(shapes)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == ("40 shapes on NVIDIA H200: geometric mean 193 % of cuBLAS, least 50 % at 255³.")


def test_shapes_json_holds_every_share(shapes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", "--recorded", "--json", "--out", str(shapes)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["least"], told["shapes"], told["missing"]) == (0.5, 40, [])
    assert told["geometric_mean"] == pytest.approx(2 ** (38 / 40))
    assert told["shares"][0] == {"m": 255, "n": 255, "k": 255, "share": 0.5, "kernel": "naive"}


def test_the_scoreboard_lists_the_dispatcher_with_its_choice(
    shapes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scoreboard", "--json", "--records", str(shapes)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 40
    assert {(row["kernel"], row["picked"]) for row in rows} == {("matmul", "naive")}
    assert rows[0]["bound_by"] is not None
