"""Windows of K on their way through an SM."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.formulas.overlap import Pipeline, schedule, steady_pace

clocks = st.integers(0, 2000)
pipelines = st.builds(
    Pipeline,
    latency=clocks,
    load=clocks,
    compute=clocks,
    windows=st.integers(1, 12),
    stages=st.integers(1, 6),
    blocks=st.integers(1, 4),
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
    assert steady_pace(serial) == 1300


def test_with_two_the_next_load_runs_meanwhile() -> None:
    double = Pipeline(latency=100, load=200, compute=500, windows=3, stages=2)
    assert [(w.buffer, w.asked, w.there, w.done) for w in schedule(double)] == [
        (0, 0, 300, 800),
        (1, 0, 500, 1300),
        (0, 800, 1100, 1800),
    ]


def test_the_pipe_serves_one_window_after_the_other() -> None:
    deep = Pipeline(latency=600, load=400, compute=100, windows=8, stages=6)
    assert steady_pace(deep) == 400
    assert total(deep) == 600 + 8 * 400 + 100


def test_one_window_leaves_nothing_to_overlap() -> None:
    one = Pipeline(latency=600, load=200, compute=500, windows=1)
    assert {total(replace(one, stages=stages)) for stages in range(1, 7)} == {1300}


def test_without_arithmetic_it_is_a_copy() -> None:
    copy = Pipeline(latency=600, load=200, compute=0, windows=5)
    assert all(window.pieces == () for window in schedule(copy))
    assert total(copy) == 5 * 800
    assert total(replace(copy, stages=5)) == 600 + 5 * 200
    assert total(Pipeline(0, 0, 0, windows=4)) == 0


def test_blocks_share_the_arithmetic() -> None:
    # Block 1 gets its window 100 clocks later; until then block 0 has all the arithmetic.
    first, second = schedule(Pipeline(latency=0, load=100, compute=300, windows=1, blocks=2))
    assert [(p.start, p.end, p.share) for p in first.pieces] == [(100, 200, 1), (200, 600, 0.5)]
    assert [(p.start, p.end, p.share) for p in second.pieces] == [(200, 600, 0.5), (600, 700, 1)]


def test_a_second_block_fills_gaps() -> None:
    alone = Pipeline(latency=300, load=250, compute=1000, windows=6)
    two = replace(alone, blocks=2)
    assert 2 * 6 * 1000 < total(two) < 2 * total(alone)
    # Both get on together, so the latency stays: 2 × 1000 + 300.
    assert steady_pace(two) == pytest.approx(2300)


@given(pipelines)
@settings(max_examples=150, deadline=None)
def test_what_always_holds(pipeline: Pipeline) -> None:
    windows = schedule(pipeline)
    assert len(windows) == pipeline.windows * pipeline.blocks
    ends = {(w.block, w.number): w.done for w in windows}
    for w in windows:
        assert w.asked == ends.get((w.block, w.number - pipeline.stages), 0)
        assert w.comes >= w.asked + pipeline.latency
        assert w.there == w.comes + pipeline.load
        begin = w.pieces[0].start if w.pieces else w.done
        assert begin >= max(w.there, ends.get((w.block, w.number - 1), 0))
        work = sum((piece.end - piece.start) * piece.share for piece in w.pieces)
        assert work == pytest.approx(pipeline.compute, abs=1e-4)
    least = max(pipeline.load, pipeline.compute) * pipeline.windows * pipeline.blocks
    assert total(pipeline) >= least - 1e-4


@given(st.builds(Pipeline, clocks, clocks, clocks, st.just(1), st.integers(1, 6)))
@settings(max_examples=100, deadline=None)
def test_one_block_keeps_the_pace_of_the_slowest_loop(pipeline: Pipeline) -> None:
    loop = (pipeline.latency + pipeline.load + pipeline.compute) / pipeline.stages
    pace = max(pipeline.compute, pipeline.load, loop)
    assert steady_pace(pipeline) == pytest.approx(pace)


@given(pipelines)
@settings(max_examples=50, deadline=None)
def test_one_more_buffer_never_costs_one_block_time(pipeline: Pipeline) -> None:
    alone = replace(pipeline, blocks=1)
    totals = [total(replace(alone, stages=stages)) for stages in range(1, 7)]
    assert totals == sorted(totals, reverse=True)
