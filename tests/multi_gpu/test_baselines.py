"""Libraries: starting their processes, and messages for missing ones."""

import json
from pathlib import Path

import pytest

from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.multi_gpu import baselines
from sgemm_lab.multi_gpu.cases import groups


@pytest.fixture
def mpirun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a fake mpirun the only program on the path."""
    monkeypatch.setattr(baselines, "installed", lambda _: True)
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "mpirun"
    program.touch(0o755)
    return program


def test_a_missing_library_is_not_installed() -> None:
    assert baselines.installed("json")
    assert not baselines.installed("no_such_engine")
    with pytest.raises(MissingToolError, match="no_such_engine is not installed here"):
        baselines.measure("no_such_engine", 2, 64, baselines.BY_ROWS)


def test_a_missing_submodule_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(baselines._NEEDS, baselines.CUBLASMP, ("no_such_package.part",))
    assert not baselines.installed(baselines.CUBLASMP)


def test_the_ranks_of_cublasmp_answer_through_mpirun(mpirun: Path) -> None:
    answer = json.dumps({"version": "0.7.0", "seconds": [0.5, 0.25]})
    mpirun.write_text(
        f"#!/bin/sh\necho chatter\necho '{answer}'\nprintf '%s ' \"$@\" > {mpirun}.given\n"
    )
    found = baselines.measure(baselines.CUBLASMP, 4, 8192, baselines.BY_TILES)
    assert (found.version, found.seconds, found.gpus) == ("0.7.0", (0.5, 0.25), 4)
    given = Path(f"{mpirun}.given").read_text().split()
    assert given[:2] == ["-n", "4"]
    assert given[3:5] == ["-m", "sgemm_lab.multi_gpu.cublasmp"]
    assert (given[5], given[-1]) == ("8192", "tiles")


def test_the_error_of_a_failed_rank_is_reported(mpirun: Path) -> None:
    mpirun.write_text("#!/bin/sh\necho 'ImportError: no library' >&2\necho '-----' >&2\nexit 1\n")
    with pytest.raises(LabError, match=r"cuBLASMp failed\. ImportError: no library"):
        baselines.measure(baselines.CUBLASMP, 2, 64, baselines.BY_ROWS)
    mpirun.write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(LabError, match="It printed no error"):
        baselines.measure(baselines.CUBLASMP, 2, 64, baselines.BY_ROWS)


def test_hanging_ranks_are_stopped(mpirun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpirun.write_text("#!/bin/sh\nwhile :; do :; done\n")
    monkeypatch.setattr(baselines, "_MPI_LIMIT", 0.2)
    with pytest.raises(LabError, match="did not finish in 0 seconds"):
        baselines.measure(baselines.CUBLASMP, 2, 64, baselines.BY_ROWS)


def test_cublasmp_without_mpirun_is_an_error(mpirun: Path) -> None:
    mpirun.unlink()
    with pytest.raises(MissingToolError, match="there is no mpirun here"):
        baselines.measure(baselines.CUBLASMP, 2, 64, baselines.BY_ROWS)


def test_a_record_has_every_installed_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgemm_lab.multi_gpu.cases.installed", lambda name: name != baselines.JAX)
    asked = [r.case for group in groups(2, (64,), ["libraries"]) for r in group.requests]
    assert {one["library"] for one in asked} == set(baselines.LIBRARIES) - {baselines.JAX}
    assert all(one["layout"] in baselines.LAYOUTS[one["library"]] for one in asked)
