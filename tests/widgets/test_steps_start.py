"""What a step-through shows first in a page without Python: what the widget's own defaults are."""

from typing import Any

import pytest
from in_node import answers
from walk_samples import late_fault, outside, parties, sliding_window, toy, wrong

from sgemm_lab.errors import LabError
from sgemm_lab.widgets.steps import Steps

_START = "(walk) => { const { walk: _, ...rest } = start.startOf(walk); return rest; }"


def started(walks: list[Any]) -> list[dict[str, Any]]:
    return answers({"start": "widgets/steps_start.ts"}, _START, [[walk] for walk in walks])


def test_the_first_state_is_that_of_the_widget() -> None:
    walks = [
        toy("tiled:TILE=2", 4, 4, 4),
        sliding_window(),
        wrong("missing_second_barrier"),
        outside(),
        late_fault(),
        parties(),
    ]
    names = ("step", "block", "thread", "who", "cells", "left_out")
    widgets = [Steps(walk) for walk in walks]
    meant = [{name: getattr(widget, name) for name in names} for widget in widgets]
    assert [found["gives"] for found in started(walks)] == meant
    assert any(one["block"] for one in meant)


def test_a_block_without_steps_is_refused_in_the_same_words() -> None:
    walk: Any = dict(toy("tiled:TILE=2", 4, 4, 4))
    walk["blocks"] = [[], *walk["blocks"][1:]]
    with pytest.raises(LabError) as refusal:
        Steps(walk)
    (found,) = started([walk])
    assert found["says"] == str(refusal.value)
