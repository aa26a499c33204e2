"""``lab.exercise``: what a cell shows."""

import importlib
from types import SimpleNamespace

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.exercises import find_exercise
from sgemm_lab.lab import session

verb = importlib.import_module("sgemm_lab.lab.exercise")


def test_right_and_wrong_are_told_in_text_and_html():
    right, wrong = lab.exercise("3.1", 32), lab.exercise("3.1", 16)
    assert right.text.startswith("✓ Right: 32. ")
    assert "<b>Right:</b> 32." in right.html
    assert wrong.text == "16 is not it. That is one barrier per K tile; there are two."
    assert "✓" not in wrong.html
    assert "32" not in wrong.text


def test_code_in_a_verdict_is_set_as_code_and_escaped():
    html = lab.exercise("1.3", "    if (row >= M && col >= N) return;").html
    assert "<code>acc += A[size_t(row) * K + k] * B[size_t(k) * N + col];</code>" in html
    broken = lab.exercise("1.3", '    if (row < "<b>") return;').html
    assert "<b>" not in broken


def test_prediction_is_set_beside_what_was_measured():
    output = lab.predict("window-gain", 2)
    assert output.text.startswith("You said 2, it is 1.")
    assert "too high. Only the waits are half as many" in output.text
    assert "At 4096³ `sliding_window` reaches" in output.text
    assert "\nRecorded on NVIDIA H200" in output.text
    asked = lab.predict("window-gain")
    assert asked.text == "Put your number in place of `None` and run the cell."
    with pytest.raises(LabError, match="no prediction called"):
        lab.predict("2.1", 1)


def test_pages_judge_by_the_books_records_alone(monkeypatch):
    monkeypatch.setattr(verb, "speeds", lambda *_: pytest.fail("nothing is measured for a page"))
    judged = find_exercise("1.5").judge("same", verb.machine_of_records())
    assert judged.right
    assert judged.source.startswith("Recorded on NVIDIA H200")
    unknown = [load_kernel("naive"), load_kernel("tiled:TILE=8")]
    with pytest.raises(LabError, match="Not yet measured at 1×2×3: naive, tiled:TILE=8"):
        verb.machine_of_records().speeds(unknown, (1, 2, 3))


def test_on_a_gpu_right_lines_are_raced_and_wrong_ones_are_not(monkeypatch):
    raced = []

    def speeds(kernels, sizes):
        raced.append([kernel.name for kernel in kernels])
        return SimpleNamespace(_repr_html_=lambda: "<table></table>", __repr__=lambda _: "table")

    monkeypatch.setattr(session, "live", lambda: True)
    monkeypatch.setattr(verb, "speeds", speeds)
    monkeypatch.setattr("sgemm_lab.exercises.lines.check", lambda kernel, sizes, **how: iter(()))
    exercise = find_exercise("1.3")
    assert "<table>" not in lab.exercise("1.3", exercise.start).html
    assert raced == []
    assert lab.exercise("1.3", exercise.right_lines).html.endswith("<table></table>")
    assert raced == [["naive", "mine"]]
