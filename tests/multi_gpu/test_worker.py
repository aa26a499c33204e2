"""The measuring process without a GPU: it answers each request with a reason."""

import subprocess
from typing import Any

import pytest

from sgemm_lab.cuda.launch import has_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu import run_plan, topology
from sgemm_lab.multi_gpu.cases import Request
from sgemm_lab.multi_gpu.recorder import run_worker
from sgemm_lab.multi_gpu.worker import LIBRARY, LINK, PRODUCT, TIMELINE
from sgemm_lab.records.multi_gpu import Case, LinkCase

CASE = Case(2, 64, 64, 64, "rows", "cublas", "copy")


@pytest.mark.skipif(has_gpu(), reason="what is said where there is no GPU")
def test_every_request_is_answered() -> None:
    requests = [
        Request(PRODUCT, CASE),
        Request(TIMELINE, CASE, overlap=False),
        Request(LINK, LinkCase("copy", "one way", 2, 4096)),
        Request(LIBRARY, {"library": "nowhere", "gpus": 2, "n": 64, "layout": "any"}),
    ]
    *first, last = run_worker(requests, 4, 60.0)
    assert len(first) == 3
    assert all("has no NVIDIA GPU" in answer["refused"] for answer in first)
    assert last["refused"] == "nowhere is not installed here."


def load_of(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> list[float]:
    waited: list[float] = []
    left = list(answers)

    def run(command: list[str], **_: Any) -> Any:
        assert command[0] == "nvidia-smi"
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return subprocess.CompletedProcess(command, 0, answer, "")

    monkeypatch.setattr(topology.subprocess, "run", run)
    monkeypatch.setattr(topology.time, "sleep", waited.append)
    return waited


def test_a_busy_gpu_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = load_of(monkeypatch, *["0, 0\n1, 99\n"] * 4)
    with pytest.raises(LabError, match=r"GPU 1 works at 99 % for another program\. Wait"):
        topology.check_idle((0, 1))
    assert sum(waited) == 3


def test_a_gpu_whose_program_has_just_ended_is_not_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    load_of(monkeypatch, "0, 95\n", "0, 0\n")
    topology.check_idle((0,))


def test_without_nvidia_smi_there_is_no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    load_of(monkeypatch, FileNotFoundError())
    topology.check_idle((0,))


def test_mpirun_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMPI_COMM_WORLD_SIZE", raising=False)
    assert not run_plan.is_mpi_rank()
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "1")
    assert not run_plan.is_mpi_rank()
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert run_plan.is_mpi_rank()
