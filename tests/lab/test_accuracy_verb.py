"""Errors on pages: they are those of the record, and what is not measured is a sentence."""

import numpy as np
import pytest
from error_samples import RECORDED, book

from sgemm_lab import lab
from sgemm_lab.lab import session
from sgemm_lab.lab.accuracy import errors_left
from sgemm_lab.records.gpu_record import INPUTS
from sgemm_lab.text import error_text


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    found = book()
    monkeypatch.setattr(session, "book_records", lambda: found)


@pytest.mark.usefixtures("recorded")
def test_errors_are_found_by_class_and_length() -> None:
    found = lab.errors(*RECORDED)
    assert found.of("promoted", "unit", 1024) == pytest.approx(5e-8)
    assert found.of("cublas_fp16", "large") == np.inf
    table = repr(found.table())
    assert table.count("lost") == 1
    assert all(words in table for words in (*INPUTS.values(), "cuBLAS TF32", "promoted"))


def test_three_products_leave_what_fp32_rounds_away_and_one_does_not() -> None:
    left = errors_left()
    assert 1e-4 < left["one"] < 5e-4
    assert left["three"] < 2.0**-23
    assert lab.contributions()["one"] == error_text(left["one"])
    assert error_text(2.44e-7) == "2.44·10⁻⁷"
