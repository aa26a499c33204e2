"""A GPU that lacks what a kernel needs: it is told so, and shown the record."""

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.lab import checking, session


@pytest.fixture(autouse=True)
def _a_t4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "live", lambda: True)
    monkeypatch.setattr(session, "device_target", lambda: "sm_75")


def _never(*_: object, **__: object) -> None:
    raise AssertionError("nothing may run on this GPU")


def test_speeds_come_from_the_record_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "measure_here", _never)
    speed = lab.measure("column_order", "stages")
    assert speed.note.startswith(
        "This GPU is sm_75 and cannot run stages: it needs sm_80 or newer. So this is the record."
    )
    assert {score.device.name for score in speed} == {"NVIDIA H200"}
    assert {score.kernel for score in speed} == {"column_order", "stages"}


def test_kernels_that_it_can_run_are_not_lacking() -> None:
    kernels = [load_kernel(name) for name in ("column_order", "async_copy", "register_prefetch")]
    lacking = [kernel.name for kernel in session.lacking(kernels)]
    assert lacking == ["async_copy", "register_prefetch"]


def test_the_check_runs_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    class Card:
        name = "Tesla T4"

    monkeypatch.setattr(checking, "current_device", Card)
    monkeypatch.setattr(checking, "check", _never)
    monkeypatch.setattr(checking, "QUICK_SIZES", [(3, 5, 7)])
    told = repr(lab.check("async_copy"))
    assert "So the compiled kernel ran on the processor." in told
    assert "WRONG" not in told
