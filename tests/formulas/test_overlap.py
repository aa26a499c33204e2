"""Windows of K on their way through an SM."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.simulator.formulas import Pipeline, schedule

clocks = st.integers(0, 2000)
pipelines = st.builds(
    Pipeline,
    latency=clocks,
    load=clocks,
    compute=clocks,
    windows=st.integers(1, 12),
    stages=st.integers(1, 6),
)


def total(pipeline: Pipeline) -> float:
    return schedule(pipeline)[-1].done


def test_with_one_buffer_load_and_multiplication_take_turns() -> None:
    serial = Pipeline(latency=600, load=200, compute=500, windows=3)
    assert [(w.asked, w.comes, w.there, w.done) for w in schedule(serial)] == [
        (0, 600, 800, 1300),
        (1300, 1900, 2100, 2600),
        (2600, 3200, 3400, 3900),
    ]


def test_with_two_the_next_load_runs_meanwhile() -> None:
    double = Pipeline(latency=100, load=200, compute=500, windows=3, stages=2)
    assert [(w.buffer, w.asked, w.there, w.done) for w in schedule(double)] == [
        (0, 0, 300, 800),
        (1, 0, 500, 1300),
        (0, 800, 1100, 1800),
    ]


def test_the_pipe_serves_one_window_after_the_other() -> None:
    deep = Pipeline(latency=600, load=400, compute=100, windows=8, stages=6)
    assert total(deep) == 600 + 8 * 400 + 100


@given(pipelines)
@settings(max_examples=150, deadline=None)
def test_what_always_holds(pipeline: Pipeline) -> None:
    windows = schedule(pipeline)
    assert len(windows) == pipeline.windows
    for before, w in zip([None, *windows], windows, strict=False):
        freed = w.number - pipeline.stages
        assert w.asked == (windows[freed].done if freed >= 0 else 0)
        assert w.comes >= w.asked + pipeline.latency
        assert w.there == w.comes + pipeline.load
        assert w.begins == max(w.there, before.done if before else 0)
        assert w.done == w.begins + pipeline.compute


@given(st.builds(Pipeline, clocks, clocks, clocks, st.just(120), st.integers(1, 6)))
@settings(max_examples=50, deadline=None)
def test_it_keeps_the_pace_of_the_slowest_loop(pipeline: Pipeline) -> None:
    loop = (pipeline.latency + pipeline.load + pipeline.compute) / pipeline.stages
    pace = max(pipeline.compute, pipeline.load, loop)
    ends = [window.done for window in schedule(pipeline)]
    assert (ends[119] - ends[59]) / 60 == pytest.approx(pace)


@given(pipelines)
@settings(max_examples=50, deadline=None)
def test_one_more_buffer_never_costs_time(pipeline: Pipeline) -> None:
    totals = [total(replace(pipeline, stages=stages)) for stages in range(1, 7)]
    assert totals == sorted(totals, reverse=True)
