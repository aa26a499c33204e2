"""What a step-through shows first in a page without Python: what the widget's own defaults are."""

from typing import Any

import pytest
from in_node import answers
from trace_samples import late_fault, outside, sliding_window, toy, wrong

from sgemm_lab.errors import LabError
from sgemm_lab.widgets.steps import Steps

_START = "(trace) => { const { trace: _, ...rest } = start.startOf(trace); return rest; }"


def started(traces: list[Any]) -> list[dict[str, Any]]:
    return answers({"start": "widgets/steps_start.ts"}, _START, [[trace] for trace in traces])


def test_the_first_state_is_that_of_the_widget() -> None:
    traces = [
        toy("tiled:TILE=2", 4, 4, 4), sliding_window(), wrong("missing_second_barrier"), outside(),
        late_fault(),
    ]  # fmt: skip
    names = ("step", "block", "thread", "who", "left_out")
    widgets = [Steps(trace) for trace in traces]
    meant = [{name: getattr(widget, name) for name in names} for widget in widgets]
    assert [found["gives"] for found in started(traces)] == meant
    assert any(one["block"] for one in meant)


def test_a_block_without_steps_is_refused_in_the_same_words() -> None:
    trace: Any = dict(toy("tiled:TILE=2", 4, 4, 4))
    trace["blocks"] = [[], *trace["blocks"][1:]]
    with pytest.raises(LabError) as refusal:
        Steps(trace)
    (found,) = started([trace])
    assert found["says"] == str(refusal.value)
