"""Samples in the order taken: what their picture says of them."""

import pytest
from record_samples import record, run, samples

from sgemm_lab import lab
from sgemm_lab.lab import session
from sgemm_lab.lab.sample_picture import deviation


def said_of(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> str:
    known = record(run(samples("naive", *seconds), samples("cublas", 1e-3, 1e-3, 1e-3)))
    monkeypatch.setattr(session, "book_records", lambda: [known])
    return repr(lab.spread("naive", 100))


def test_the_band_of_steady_samples_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_of(monkeypatch, 1.00e-3, 1.01e-3, 1.00e-3, 1.02e-3, 1.02e-3)
    assert "Half of the samples of Naive" in said
    assert "within 1.0 % of their median" in said
    assert "those of cuBLAS within 0.0 %" in said
    assert "The farthest of all is 1.0 % off." in said


def test_a_stray_sample_is_told_with_what_the_mean_would_lose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = said_of(monkeypatch, 1e-3, 1e-3, 4e-3)
    assert "Of 3 samples of Naive 1 is an outlier" in said
    assert "took 4.00 times as long" in said
    assert "report 50.0 % less speed" in said  # (1 + 1 + 4) / 3 is twice the median
    assert "Of 5 samples of Naive 2 are outliers" in said_of(
        monkeypatch, 1e-3, 1e-3, 1e-3, 4e-3, 2e-3
    )


def test_a_kernel_that_was_not_measured_is_a_sentence() -> None:
    said = repr(lab.spread("strip", 4096))
    assert said.startswith("Not yet measured at 4096³: strip. Run 'sgemm-lab record strip'")


def test_the_farthest_sample_from_the_median() -> None:
    assert deviation([90.0, 100.0, 104.0]) == pytest.approx(0.1)
