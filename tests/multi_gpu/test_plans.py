"""Plans: correct for random sizes on 1 to 9 GPUs."""

from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.layouts import LAYOUTS, cannon, make_plan, rows, squarest_grid, summa
from sgemm_lab.multi_gpu.numpy_backend import run
from sgemm_lab.multi_gpu.plan import Plan

SIZES = st.tuples(*(st.integers(1, 40) for _ in range(3)))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    layout = draw(st.sampled_from(sorted(LAYOUTS)))
    gpus = draw(st.sampled_from([1, 4, 9]) if layout == "cannon" else st.integers(1, 9))
    return make_plan(layout, draw(SIZES), gpus)


def factors(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, so that the order of summation does not matter."""
    m, n, k = plan.size
    random = np.random.default_rng(7)
    return random.integers(-8, 9, (m, k)), random.integers(-8, 9, (k, n))


@given(plans())
@settings(deadline=None, max_examples=300)
def test_a_plan_gives_the_product(plan: Plan) -> None:
    a, b = factors(plan)
    assert np.array_equal(run(plan, a.astype(float), b.astype(float)), a @ b)


@given(plans())
@settings(deadline=None, max_examples=100)
def test_every_received_tile_is_used_before_the_next_one_replaces_it(plan: Plan) -> None:
    unused: list[set[str]] = [set() for _ in plan.shares]
    for products, receives in plan.by_round():
        for gpu, product in products:
            unused[gpu] -= {product.a, product.b}
        for _, step in receives:
            unused[step.source].discard(step.source_buffer)
        for gpu, step in receives:
            share = plan.shares[gpu]
            assert step.buffer not in unused[gpu] | {*share.own, *share.results}
            unused[gpu].add(step.buffer)
    assert not any(unused)


def test_cannon_needs_a_square_number_of_gpus() -> None:
    with pytest.raises(LabError, match=r"8 is not one\. Take 4 or 9"):
        cannon((4, 4, 4), 8)


@pytest.mark.parametrize("arguments", [((0, 1, 1), 1), ((1, 1, 1), 0)])
def test_numbers_below_one_are_refused(arguments: tuple[tuple[int, int, int], int]) -> None:
    for layout in (rows, summa):
        with pytest.raises(LabError, match=r"1 or more|at least 1 GPU"):
            layout(*arguments)


def test_cannon_sends_to_neighbours_only() -> None:
    plan = cannon((9, 9, 9), 9)
    for gpu, share in enumerate(plan.shares):
        i, j = divmod(gpu, 3)
        near = {i * 3 + (j + 1) % 3, (i + 1) % 3 * 3 + j}
        assert {step.source for step in share.receives} == near


def test_two_buffers_are_enough() -> None:
    plan = rows((8, 8, 8), 8)
    assert [name for name in plan.shares[0].buffers if name.startswith("got")] == ["got1", "got0"]


@given(st.integers(1, 200))
def test_the_squarest_grid(gpus: int) -> None:
    down, across = squarest_grid(gpus)
    assert down * across == gpus
    assert down <= isqrt(gpus)
