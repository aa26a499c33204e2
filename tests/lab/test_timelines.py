"""Times per window, from what was measured."""

from dataclasses import replace

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.overlap import report
from sgemm_lab.lab.card import newest_card
from sgemm_lab.lab.speeds import speeds
from sgemm_lab.lab.timelines import timed_kernel
from sgemm_lab.records.gpu_record import Record, Score

SIZE = (4096, 4096, 4096)


def score_of(name: str) -> Score:
    return speeds([load_kernel(name)], [SIZE]).of(name, SIZE)


def test_the_times_follow_from_the_record() -> None:
    card, score = newest_card(), score_of("split")
    found = timed_kernel(load_kernel("split"), score)
    assert found["latency"] == round(card.latency["l2"])
    assert found["compute"] == 128 * 128 * 8 / 128
    clock = 1980e6
    per_clock = card.bandwidth["l2"] * 1e9 / 132 / clock  # bytes that one SM gets
    assert found["load"] == pytest.approx(4 * 8 * 256 / per_clock, abs=0.5)
    assert (found["stages"], found["blocks"]) == (1, 2)
    # 32 × 32 blocks with 512 windows each pass through 132 SMs, two at a time.
    seconds = 2 * 4096**3 / (score.gflops * 1e9)
    assert found["measured"] == pytest.approx(clock * seconds * 132 * 2 / (1024 * 512), abs=0.5)
    assert "NVIDIA H200" in found["note"]


def test_the_model_foresees_the_gain_though_not_the_time() -> None:
    split, double = lab.timeline("split", "double_buffer").kernels
    assert (split["stages"], double["stages"]) == (1, 2)
    measured = split["measured"] / double["measured"]
    first, second = (
        report(replace(lab.timeline("split").pipeline, stages=stages)) for stages in (1, 2)
    )
    assert first.pace / second.pace == pytest.approx(measured, rel=0.05)
    assert 1.2 < split["measured"] / first.pace < 2


def test_without_counters_the_rule_of_occupancy_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Record, "counted", lambda *_: None)
    for name in ("split", "tiled", "double_buffer"):
        assert timed_kernel(load_kernel(name), score_of(name))["blocks"] == 2


def test_a_kernel_that_was_not_measured_is_a_sentence() -> None:
    said = repr(lab.timeline("split", "split:BK=4"))
    assert said.startswith("Not yet measured at 4096³: split:BK=4. Run 'sgemm-lab record")


def test_without_kernels_it_starts_from_round_numbers() -> None:
    assert lab.timeline().kernels == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("naive", "'naive' walks no windows through shared memory"),
        ("nothing", "no kernel called 'nothing'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        lab.timeline(name)
