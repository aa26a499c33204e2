"""Python's garbage collector looks less often during a simulation, and only then."""

import gc
from collections.abc import Iterator

import pytest
from simulator_kernels import run_gemm

from sgemm_lab.simulator.relaxed_gc import OBJECTS, relaxed_gc

PYTHONS_OWN = (700, 10, 10)


@pytest.fixture(autouse=True)
def pythons_own() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*PYTHONS_OWN)
    yield
    gc.set_threshold(*before)


def test_a_launch_that_ends_early_leaves_the_collector_as_it_was() -> None:
    def launch() -> None:
        with relaxed_gc():
            seen.append(gc.get_threshold())
            raise ZeroDivisionError

    seen: list[tuple[int, int, int]] = []
    with pytest.raises(ZeroDivisionError):
        launch()
    assert seen == [(OBJECTS, *PYTHONS_OWN[1:])]
    assert gc.get_threshold() == PYTHONS_OWN


@pytest.mark.parametrize("chosen", [0, 2 * OBJECTS])
def test_who_lets_it_look_seldom_or_never_is_heeded(chosen: int) -> None:
    gc.set_threshold(chosen)
    with relaxed_gc():
        assert gc.get_threshold()[0] == chosen


def test_a_kernel_runs_with_a_collector_that_looks_seldom() -> None:
    seen: list[int] = []
    run_gemm("thread_tile", 40, 40, 40, progress=lambda *_: seen.append(gc.get_threshold()[0]))
    assert set(seen) == {OBJECTS}
    assert gc.get_threshold() == PYTHONS_OWN
