"""Speed over error: what the widget has of kernels, cuBLAS and Strassen's products."""

from types import SimpleNamespace

import pytest
from error_samples import RECORDED, book

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.error_points import LOST
from sgemm_lab.lab import session, speed_error
from sgemm_lab.lab.speed_error import SIZES
from sgemm_lab.measuring.accuracy import LENGTHS
from sgemm_lab.records.gpu_record import INPUTS
from sgemm_lab.text import plural


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    found = book()
    monkeypatch.setattr(session, "book_records", lambda: found)
    monkeypatch.setattr(session, "all_records", lambda: found)
    monkeypatch.setattr(speed_error, "STRASSEN_RECORDS", SimpleNamespace(load_all=list))


@pytest.mark.usefixtures("recorded")
def test_the_widget_has_all_that_is_recorded_of_both() -> None:
    widget = lab.speed_over_error()
    assert [way["title"] for way in widget.ways] == [
        "cuBLAS FP32", "cuBLAS TF32", "cuBLAS FP16", "promoted",
    ]  # fmt: skip
    assert len(RECORDED) == len(widget.shown)
    fp16, promoted = widget.ways[2:]
    large = list(INPUTS).index("large")
    assert fp16["errors"][large] == [LOST] * len(LENGTHS)
    assert promoted["errors"][large][LENGTHS.index(4096)] == 2e-7
    assert promoted["timed"] == [1e-6, None, None]
    assert promoted["first"] == [True, False, False]


def test_the_widget_says_of_every_kernel_what_the_record_says() -> None:
    widget = lab.speed_over_error()
    record = session.book_records()[0]
    ways = {way["title"]: way for way in widget.ways}
    for kernel in load_kernels(variants=True):
        scores = [record.score(kernel, size) for size in SIZES]
        found = [record.accuracy(kernel, inputs, k) for inputs in INPUTS for k in LENGTHS]
        if not any(scores) or not any(found):
            continue
        way = ways[kernel.name]
        for score, speed, error in zip(scores, way["tflops"], way["timed"], strict=True):
            assert (speed is None) is (score is None)
            if score and speed:
                assert speed == pytest.approx(score.gflops / 1e3, rel=1e-3)
                assert error == score.error
        errors = [error for of_class in way["errors"] for error in of_class]
        for one, error in zip(found, errors, strict=True):
            assert error == (LOST if one and one.lost else one and one.error)


def test_a_chapter_shows_its_kernels_beside_cublas_and_strassens_levels() -> None:
    some = lab.speed_over_error("stages", "stream_k")
    assert {way["title"] for way in some.shown} == {
        "cuBLAS FP32", "cuBLAS TF32", "cuBLAS FP16", "stages", "stream_k",
    }  # fmt: skip
    fewer = lab.strassen_results()
    widget = lab.speed_over_error("stream_k", size=16384, levels=True)
    ways = {way["title"]: way for way in widget.shown}
    assert {"cuBLAS FP32", "stream_k"} < ways.keys()
    for level, timed in enumerate(fewer.levels(16384)[1:], 1):
        way = ways[f"Strassen ({plural(level, 'level')})"]
        assert way["tflops"][2] == pytest.approx(fewer.tflops(16384, timed), rel=1e-3)
        assert way["timed"][2] == fewer.errors(16384).levels[level]
    with pytest.raises(LabError, match="Nothing was measured at size '1000³'"):
        lab.speed_over_error(size=1000)


def test_the_fastest_of_each_arithmetic_stands_there_at_once() -> None:
    widget = lab.speed_over_error()
    widget.k = 4096
    first = {way["title"] for way in widget.shown}
    widget.every = True
    for way in widget.shown:
        if way["kind"] == "kernel" and way["title"] not in first:
            better = [one for one in widget.shown if one["arithmetic"] == way["arithmetic"]
                      and one["kind"] == "kernel" and one["title"] in first]  # fmt: skip
            assert max(one["tflops"][0] for one in better) >= way["tflops"][0]
    assert {"cuBLAS FP32", "cuBLAS TF32", "cuBLAS FP16"} <= first
