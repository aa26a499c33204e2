"""The command ``other-libraries`` with a simulated GPU, and the picture of its record."""

from pathlib import Path
from typing import Any

import pytest
from record_samples import DEVICE, run

from sgemm_lab import lab
from sgemm_lab.cli import other_libraries as command
from sgemm_lab.cli.main import main
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.shapes import FORTY_SHAPES
from sgemm_lab.lab import dispatcher as picture
from sgemm_lab.measuring import other_libraries
from sgemm_lab.records.gpu_record import Measurement
from sgemm_lab.records.other_libraries import COMPARISONS, ComparedShape, Comparison

SPEEDS = {"matmul": 1e-5, "cublas": 2e-5, "torch": 2.5e-5}


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(products: Any, size: Any, *_: Any, **__: Any) -> list[Measurement]:
        return [Measurement(name, "", *size, 1, (SPEEDS[name],)) for name in products]

    monkeypatch.setattr(command, "current_device", lambda: DEVICE)
    monkeypatch.setattr(command, "new_run", run)
    monkeypatch.setattr(command, "dispatcher", lambda _: None)
    monkeypatch.setattr(command, "cublas", lambda: None)
    monkeypatch.setattr(command, "other_products", lambda *_: ({"torch": None}, {"torch": "2"}))
    monkeypatch.setattr(command, "time_interleaved", timed)
    monkeypatch.setattr(command, "jax_seconds", lambda _: (4e-5, "0.9"))


def test_squares_and_drawn_shapes_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["other-libraries", "--drawn", "2", "--seed", "7", "--out", str(tmp_path)]) == 0
    found = COMPARISONS.load(COMPARISONS.path(tmp_path, DEVICE.name))
    assert (found.seed, found.versions) == (7, {"torch": "2", "jax": "0.9"})
    assert [shape.m for shape in found.squares] == [256, 512, 1024, 2048, 3072, 4096, 5120, 8192]
    assert found.squares[0].seconds == SPEEDS  # too short for JAX
    assert found.squares[3].seconds == {**SPEEDS, "jax": 4e-5}
    assert len(found.drawn) == 2
    assert [shape.size for shape in found.forty] == list(FORTY_SHAPES)
    row = "4096³ 13,743,895 6,871,948 5,497,558 3,435,974"
    assert row in " ".join(capsys.readouterr().out.split())


def test_an_interrupted_run_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "jax_seconds", stopped)
    assert main(["other-libraries", "--out", str(tmp_path)]) == 130
    assert len(COMPARISONS.load(COMPARISONS.path(tmp_path, DEVICE.name)).squares) == 3


def test_a_library_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise ImportError("no such library")

    def wrong(product: Any) -> None:
        if product == "in TF32":
            raise LabError("its product is not one in FP32")

    loaders = {
        "torch": lambda: ("right", "2"),
        "cublaslt": missing,
        "triton": lambda: ("in TF32", "3"),
    }
    monkeypatch.setattr(other_libraries, "_LOADERS", loaders)
    monkeypatch.setattr(other_libraries, "_try", wrong)
    said: list[str] = []
    assert other_libraries.other_products(loaders, said.append) == (
        {"torch": "right"},
        {"torch": "2"},
    )
    assert sorted(said) == [
        "cublaslt is left out: ImportError: no such library",
        "triton is left out: LabError: its product is not one in FP32",
    ]


def test_an_unknown_library_is_refused() -> None:
    with pytest.raises(LabError, match="'mkl' is no library here"):
        other_libraries.other_products(["mkl"], print)


def compared(**seconds: float) -> Comparison:
    shapes = (ComparedShape(64, 64, 64, seconds), ComparedShape(65, 65, 65, seconds))
    about = ("2026-01-02T03:04:05Z", "580.1", "13.0", "13.0", "14.2.0", "0.1.0", "cublasSgemm")
    return Comparison(*about, DEVICE, 1, {}, shapes[:1], shapes[1:])


def test_the_picture_says_who_is_the_fastest() -> None:
    found = picture.OtherLibraries(compared(matmul=1e-6, cublas=2e-6, torch=1.01e-6, jax=3e-6))
    assert found.names == ["matmul", "torch", "jax"]
    assert found.fastest == {"matmul": 2, "torch": 2}
    assert "matmul makes 200 % of cuBLAS at the squares" in repr(found)
    assert "this book's matmul 2, PyTorch 2, JAX 0, cuBLAS 0" in repr(found)


def test_without_a_record_a_sentence_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lab.other_libraries().mean("matmul", lab.other_libraries().run.drawn) > 1.1
    monkeypatch.setattr("sgemm_lab.records.json_files.data_folder", lambda _: tmp_path)
    with pytest.raises(LabError, match="Run 'sgemm-lab other-libraries' on a GPU"):
        lab.other_libraries()
