"""The sizes of a record: predicted times, memory, and interrupted runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgemm_lab.measuring.interleaved import Budget
from sgemm_lab.measuring.sizes import Pace, fits_memory
from sgemm_lab.records.gpu_record import Measurement

SIZE = (1000, 1000, 1000)
BUDGET = Budget(seconds=0.4, min_samples=5, warm_up_seconds=0.1)


def pace(**seconds: float) -> Pace:
    """Return the pace after products with these seconds at 1000³."""
    found = Pace(BUDGET)
    found.update(Measurement(name, "", *SIZE, 1, (took,)) for name, took in seconds.items())
    return found


def test_a_fast_product_takes_its_budget_and_a_slow_one_its_samples() -> None:
    found = pace(fast=1e-6, slow=2.0)
    assert found.predicted("fast", SIZE) == pytest.approx(0.5, rel=1e-4)
    assert found.predicted("slow", SIZE) == pytest.approx(2 * 2 + 2 + 5 * 2)


def test_an_unmeasured_product_has_the_speed_of_the_slowest() -> None:
    found = pace(fast=1e-6, slow=2.0)
    assert found.predicted("new", SIZE) == found.predicted("slow", SIZE)


def test_the_slowest_are_dropped_but_never_the_library() -> None:
    found = pace(naive=2.0, tiled=0.2, cublas=0.01)
    names = ["naive", "tiled", "cublas"]
    assert found.in_time(names, SIZE, 100) == names
    assert found.in_time(names, SIZE, 5) == ["tiled", "cublas"]
    assert found.in_time(names, SIZE, 1) == []


@given(
    times=st.dictionaries(st.sampled_from("abcdef"), st.floats(1e-6, 100), min_size=1),
    left=st.floats(0, 1000),
)
def test_the_chosen_products_fit_the_time(times: dict[str, float], left: float) -> None:
    found = pace(cublas=1e-3, **times)
    kept = found.in_time([*times, "cublas"], SIZE, left)
    assert sum(found.predicted(name, SIZE) for name in kept) <= left
    # Nothing is left out that is faster than something kept.
    out = set(times) - set(kept)
    if kept:
        assert all(times[o] >= times[k] for o in out for k in set(kept) - {"cublas"})


def test_matrices_leave_memory_for_a_workspace() -> None:
    assert fits_memory(SIZE, 15_000_001)
    assert not fits_memory(SIZE, 14_999_999)
