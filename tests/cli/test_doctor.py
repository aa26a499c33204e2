"""The advice of ``sgemm-lab doctor`` for different machines."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from sgemm_lab.cli import doctor
from sgemm_lab.cli.doctor import Facts, advice

H200 = "NVIDIA H200"
WELL = Facts(packages=("cupy-cuda12x",), cuda=(12, 8), seen=H200, ncu=True)
NO_GPU = replace(WELL, cuda=None, seen="", ncu=False, fault="There is none.")
AMISS = {
    "nothing is amiss": (WELL, None),
    "no CuPy": (replace(WELL, packages=()), "Install it with 'pip install cupy-cuda12x'"),
    "no CuPy, new driver": (
        replace(WELL, packages=(), cuda=(13, 2)),
        "Install it with 'pip install cupy-cuda13x'",
    ),
    "CuPy too new": (
        replace(WELL, packages=("cupy-cuda13x",)),
        "supports CUDA 12.8 at most, but cupy-cuda13x needs 13.0. Install cupy-cuda12x",
    ),
    "a CuPy of one's own": (replace(WELL, packages=("cupy",)), None),
    "hidden": (
        replace(WELL, fault="No device.", hidden=""),
        "CUDA_VISIBLE_DEVICES is '', which hides it from CUDA. Remove",
    ),
    "driver too old": (
        replace(WELL, fault="No device."),
        "finds NVIDIA H200, but CUDA cannot use it: No device. Most often the driver is older",
    ),
    "Colab": (replace(NO_GPU, colab=True), "choose Runtime, Change runtime type"),
    "no GPU": (NO_GPU, "everything but speed works"),
    "no ncu": (replace(WELL, ncu=False), "Only 'sgemm-lab counters' needs it"),
    "no right to count": (replace(WELL, only_root_counts=True), "restricts counters to admin"),
}


@pytest.mark.parametrize("name", AMISS)
def test_each_fault_has_advice(name: str) -> None:
    facts, says = AMISS[name]
    found = list(advice(facts))
    if says is None:
        assert found == []
    else:
        (only,) = found
        assert says in only
        assert only.endswith(".")


def test_faults_of_cupy_do_not_hide_a_missing_gpu() -> None:
    assert len(list(advice(replace(NO_GPU, packages=())))) == 2


def fake(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_program_that_fails_or_hangs_is_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path, 'echo "NVIDIA T4"', monkeypatch)
    assert doctor.look().seen == "NVIDIA T4"
    fake(tmp_path, 'echo "NVIDIA T4"; exit 9', monkeypatch)
    assert doctor.look().seen == ""
    monkeypatch.setattr(doctor, "_SECONDS", 0.2)
    fake(tmp_path, "exec sleep 5", monkeypatch)
    assert doctor.look().seen == ""
