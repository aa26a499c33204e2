"""Times per K tile, from a kernel's tile and a GPU's card."""

import pytest

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.lab.card import newest_card
from sgemm_lab.lab.timelines import modelled_clocks
from sgemm_lab.records.gpu_record import Record


def test_the_times_follow_from_the_card_and_the_tile() -> None:
    card, found = newest_card(), lab.timeline("split").pipeline
    assert found.latency == round(card.latency["l2"])
    assert found.compute == 128 * 128 * 8 / 128
    per_clock = card.bandwidth["l2"] * 1e9 / 132 / 1980e6  # bytes that one SM gets
    assert found.load == pytest.approx(4 * 8 * 256 / per_clock, abs=0.5)
    assert (found.stages, found.blocks) == (1, 2)


def test_the_model_predicts_the_gain_of_the_double_buffer() -> None:
    before, after = (lab.timeline(name).pipeline for name in ("split", "double_buffer"))
    measured = lab.speed("double_buffer") / lab.speed("split")
    assert modelled_clocks(before) / modelled_clocks(after) == pytest.approx(measured, rel=0.05)


def test_a_chapter_begins_where_it_says() -> None:
    begun = lab.timeline("double_buffer", stages=1, blocks=1)
    assert (begun.stages, begun.blocks, begun.compute) == (1, 1, 1024)
    own = lab.timeline("double_buffer")
    assert (own.stages, own.blocks) == (2, 2)


def test_without_counters_the_rule_of_occupancy_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Record, "counted", lambda *_: None)
    for name in ("split", "tiled", "double_buffer"):
        assert lab.timeline(name).blocks == 2


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("naive", "'naive' has no K tiles in shared memory"),
        ("nothing", "no kernel called 'nothing'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        lab.timeline(name)
