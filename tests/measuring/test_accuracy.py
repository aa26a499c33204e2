"""Errors by input distribution, with NumPy instead of CuPy and of kernels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_samples import DEVICE, run

from sgemm_lab.errors import LabError
from sgemm_lab.measuring import accuracy, recorder
from sgemm_lab.measuring.accuracy import accuracies, inputs, product_errors
from sgemm_lab.records.gpu_record import INPUTS
from sgemm_lab.records.store import load_record


def fp32(a: Any, b: Any, c: Any) -> None:
    c[:] = a @ b


def fp16(a: Any, b: Any, c: Any) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        c[:] = a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32)


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "require_gpu", lambda: np)
    monkeypatch.setattr(accuracy, "SIDE", 16)
    monkeypatch.setattr(accuracy, "LENGTHS", (33, 64))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(INPUTS)), st.integers(1, 20), st.integers(1, 20), st.integers(1, 70))
def test_inputs_and_their_product_fit_float32(kind: str, m: int, n: int, k: int) -> None:
    a, b = inputs(np, kind, m, n, k)
    assert (a.shape, b.shape, a.dtype, b.dtype) == ((m, k), (k, n), np.float32, np.float32)
    assert np.isfinite((a.astype(float) @ b.astype(float)).astype(np.float32)).all()


def test_cancelling_inputs_leave_small_sums() -> None:
    a, b = (x.astype(float) for x in inputs(np, "cancelling", 16, 16, 64))
    assert np.linalg.norm(a @ b) < 2.0**-8 * np.linalg.norm(abs(a) @ abs(b))


def test_errors_are_those_of_the_arithmetic() -> None:
    found = product_errors({"fp32": fp32, "fp16": fp16}, (32, 24, 40))
    assert found["fp32"] is not None
    assert 1e-8 < found["fp32"] < 1e-6
    assert found["fp16"] is not None
    assert 1e-5 < found["fp16"] < 1e-3


def test_every_class_is_measured_at_every_length_and_lost_elements_are_counted() -> None:
    said: list[str] = []
    found = list(accuracies({"fp32": fp32, "fp16": fp16}, said.append))
    assert len(found) == 2 * 2 * len(INPUTS) == 2 * len(said)
    of = {(one.kernel, one.inputs, one.k): one for one in found}
    assert of["fp16", "large", 64].lost > 0
    assert of["fp16", "large", 64].error is None
    assert of["fp16", "tiny", 64].lost == 16 * 16  # zero of A times infinity of B
    for kind in INPUTS:
        right = of["fp32", kind, 64]
        assert right.lost == 0
        assert right.largest is not None
        assert right.largest <= 64


def test_a_product_that_refuses_a_size_is_skipped_there() -> None:
    def short(a: Any, b: Any, c: Any) -> None:
        if a.shape[1] > 33:
            raise LabError("K is at most 33.")
        c[:] = a @ b

    said: list[str] = []
    found = list(accuracies({"short": short, "fp32": fp32}, said.append))
    assert {one.k for one in found if one.kernel == "short"} == {33}
    assert {one.k for one in found if one.kernel == "fp32"} == {33, 64}
    assert said.count("short is left out: K is at most 33.") == len(INPUTS)


def test_a_record_of_errors_includes_other_products(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(recorder, "current_device", lambda: DEVICE)
    monkeypatch.setattr(recorder, "new_run", run)
    monkeypatch.setattr(recorder, "contenders", lambda _kernels: {"cublas": fp32})
    path, found = recorder.record_errors([], tmp_path, others={"strassen": (fp32, "abc")})
    assert load_record(path).runs == (found,)
    errors = found.accuracies or ()
    assert {(one.kernel, one.fingerprint) for one in errors} == {
        ("cublas", ""),
        ("strassen", "abc"),
    }
    record = load_record(path)
    assert record.accuracy("strassen", "half", 64, "abc") in errors
    assert record.accuracy("strassen", "half", 64) is None
