"""Times per K tile, from a kernel's tile and a GPU's card."""

import pytest

from sgemm_lab import lab
from sgemm_lab.lab.card import newest_card


def test_the_times_follow_from_the_card_and_the_tile() -> None:
    card, found = newest_card(), lab.timeline("split").pipeline
    assert found.latency == round(card.latency["l2"])
    assert found.compute == 128 * 128 * 8 / 128
    per_clock = card.bandwidth["l2"] * 1e9 / 132 / 1980e6  # bytes that one SM gets
    assert found.load == pytest.approx(4 * 8 * 256 / per_clock, abs=0.5)
    assert found.stages == 1


def test_a_chapter_begins_where_it_says() -> None:
    begun = lab.timeline("double_buffer", stages=1)
    assert (begun.stages, begun.compute) == (1, 1024)
    assert lab.timeline("double_buffer").stages == 2
