"""Errors on pages: they are those of the record, and what is not measured is a sentence."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from record_samples import record, run, samples

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import load_kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.accuracies import contributions, error_text
from sgemm_lab.lab.pictures.formats import split_panel
from sgemm_lab.measuring.accuracy import LENGTHS, SIDE
from sgemm_lab.records.data import CUBLAS_MODES, INPUTS, Accuracy
from sgemm_lab.style import NARROW

NAMES = ("promoted", *CUBLAS_MODES.values())
LARGE = 4096


def accuracy(name: str, inputs: str, k: int) -> Accuracy:
    known = "" if name in CUBLAS_MODES.values() else load_kernel(name).fingerprint
    size = (SIDE, SIDE, k)
    if (name, inputs) == ("cublas_fp16", "large"):
        return Accuracy(name, known, inputs, *size, lost=7)
    error = {"promoted": 2e-7, "cublas": 4e-7}.get(name, 3e-4)
    return Accuracy(name, known, inputs, *size, 0, error * k / 4096, 3.0)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    speeds = [samples(name, 1e-3, size=LARGE) for name in NAMES]
    errors = tuple(accuracy(name, kind, k) for name in NAMES for kind in INPUTS for k in LENGTHS)
    book = [record(replace(run(*speeds), accuracies=errors))]
    monkeypatch.setattr(session, "book_records", lambda: book)
    monkeypatch.setattr(session, "all_records", lambda: book)


@pytest.mark.usefixtures("recorded")
def test_errors_are_found_by_class_and_length() -> None:
    found = lab.errors(*NAMES)
    assert found.of("promoted", "unit", 1024) == pytest.approx(5e-8)
    assert found.of("cublas_fp16", "large") == np.inf
    assert found.worst("promoted", "cublas", ["half", "wide"]) == pytest.approx(0.5)
    table = repr(found.table())
    assert table.count("lost") == 1
    assert all(words in table for words in (*INPUTS.values(), "cuBLAS TF32", "promoted"))
    assert "K = 16,384" in repr(found.by_length("half"))


@pytest.mark.usefixtures("recorded")
def test_what_was_not_measured_is_a_sentence() -> None:
    with pytest.raises(LabError, match="Errors of 'naive' are not recorded at K = 4096"):
        lab.errors("naive").of("naive")
    with pytest.raises(LabError, match="cuBLAS in tf32 is not recorded at 64³"):
        lab.library("tf32", 64)


@pytest.mark.usefixtures("recorded")
def test_the_picture_has_a_point_for_each_kernel_and_mode() -> None:
    picture: Any = lab.speed_and_error("promoted", conclusion="One wins.")
    drawn = picture._repr_mimebundle_()[0]["image/svg+xml"]
    assert all(name in drawn for name in ("promoted", "cuBLAS FP32", "cuBLAS FP16"))
    assert lab.library("fp16").gflops == pytest.approx(2 * LARGE**3 / 1e-3 / 1e9)


def test_on_a_phone_no_name_lies_on_another() -> None:
    names = ("stages", "stream_k", "three_products", "promoted", "promoted_rows")
    picture: Any = lab.speed_and_error(*names, conclusion="One wins.")
    _, metadata = picture._repr_mimebundle_()
    placed = re.findall(r' y="([0-9.]+)"[^>]*>([^<]+)</text>', metadata[NARROW])
    right = sorted(float(y) for y, name in placed if name in (*names[:3], "cuBLAS FP32"))
    assert len(right) == 4
    assert min(below - above for above, below in pairwise(right)) >= 10


def test_three_products_leave_what_fp32_rounds_away_and_one_does_not() -> None:
    left = contributions()
    assert 1e-4 < left["one"] < 5e-4
    assert left["four"] <= left["three"] < 2.0**-23
    assert lab.contributions()["one"] == error_text(left["one"])
    assert error_text(2.44e-7) == "2.4·10⁻⁷"


def test_two_parts_hold_all_but_two_bits() -> None:
    assert "2 are left" in split_panel("In two").text
    assert "TF32 has 8 bits of exponent and 10 of fraction" in lab.formats("Formats").text
