"""Plans: correct for random sizes on 1 to 9 GPUs, and checks that find wrong plans."""

from dataclasses import replace
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.layouts import LAYOUTS, cannon, make_plan, rows, squarest_grid, summa
from sgemm_lab.multi_gpu.numpy_backend import run
from sgemm_lab.multi_gpu.plan import Multiply, Plan, Receive, Send, Share, Step
from sgemm_lab.multi_gpu.validity import PlanError, check

SIZES = st.tuples(*(st.integers(1, 40) for _ in range(3)))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    layout = draw(st.sampled_from(sorted(LAYOUTS)))
    gpus = draw(st.sampled_from([1, 4, 9]) if layout == "cannon" else st.integers(1, 9))
    panels = 1 if layout == "cannon" else draw(st.integers(1, 3))
    return make_plan(layout, draw(SIZES), gpus, panels)


def factors(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, so that the order of summation does not matter."""
    m, n, k = plan.size
    random = np.random.default_rng(7)
    return random.integers(-8, 9, (m, k)), random.integers(-8, 9, (k, n))


@given(plans())
@settings(deadline=None, max_examples=300)
def test_a_plan_is_valid_and_gives_the_product(plan: Plan) -> None:
    check(plan)
    a, b = factors(plan)
    assert np.array_equal(run(plan, a.astype(float), b.astype(float)), a @ b)


@given(plans())
@settings(deadline=None, max_examples=60)
def test_memory_per_gpu_decreases(plan: Plan) -> None:
    m, n, k = plan.size
    own = sum(tile.elements for share in plan.shares for tile in share.own.values())
    assert own == m * k + k * n
    assert sum(t.elements for share in plan.shares for t in share.results.values()) == m * n


@given(plans(), st.data())
@settings(deadline=None, max_examples=200)
def test_a_plan_that_lacks_a_step_is_found(plan: Plan, data: st.DataObject) -> None:
    gpus = [gpu for gpu, share in enumerate(plan.shares) if share.steps]
    gpu = data.draw(st.sampled_from(gpus))
    steps = plan.shares[gpu].steps
    lost = data.draw(st.integers(0, len(steps) - 1))
    with pytest.raises(PlanError):
        check(with_steps(plan, gpu, (*steps[:lost], *steps[lost + 1 :])))


def with_steps(plan: Plan, gpu: int, steps: tuple[Step, ...]) -> Plan:
    shares = list(plan.shares)
    shares[gpu] = replace(shares[gpu], steps=steps)
    return replace(plan, shares=tuple(shares))


def changed(plan: Plan, gpu: int, number: int, **fields: object) -> Plan:
    steps = list(plan.shares[gpu].steps)
    steps[number] = replace(steps[number], **fields)
    return with_steps(plan, gpu, tuple(steps))


def place(share: Share, kind: type) -> int:
    return next(i for i, step in enumerate(share.steps) if isinstance(step, kind))


PLAN = rows((6, 6, 6), 3)


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        (Send, {"to": 1}, "is sent, but not received"),
        (Send, {"buffer": "got0"}, "sends B[0:6, 0:2] from 'got0'"),
        (Receive, {"buffer": "B0"}, "receives into 'B0', which is not free"),
        (Multiply, {"a": "B0"}, "multiplies"),
        (Multiply, {"adds": True}, "the first product must write"),
        (Multiply, {"c": "C9"}, "has no 2×2 tile of C in 'C9'"),
        (Multiply, {"size": (2, 2, 5)}, "multiplies A[0:2, 0:5]"),
    ],
)
def test_a_wrong_plan_has_a_message(kind: type, fields: dict[str, object], words: str) -> None:
    with pytest.raises(PlanError) as caught:
        check(changed(PLAN, 0, place(PLAN.shares[0], kind), **fields))
    assert words in str(caught.value)


def test_a_buffer_that_is_filled_twice_before_its_use_is_found() -> None:
    plan = rows((8, 8, 8), 4)
    steps = [
        replace(step, buffer="got1") if isinstance(step, Receive) else step
        for step in plan.shares[2].steps
    ]
    receives = [replace(s, round=0) for s in steps if isinstance(s, Receive)]
    others = [s for s in steps if not isinstance(s, Receive)]
    with pytest.raises(PlanError, match="before it was used"):
        check_buffers_only(plan, 2, (others[0], *receives[:2], *others[1:]))


def check_buffers_only(plan: Plan, gpu: int, steps: tuple[Step, ...]) -> None:
    from sgemm_lab.multi_gpu.validity import _check_buffers

    _check_buffers(gpu, replace(plan.shares[gpu], steps=steps))


def test_cannon_needs_a_square_number_of_gpus() -> None:
    with pytest.raises(LabError, match=r"8 is not one\. Take 4 or 9"):
        cannon((4, 4, 4), 8)
    with pytest.raises(LabError, match="panels must be 1"):
        cannon((4, 4, 4), 4, panels=2)


@pytest.mark.parametrize("arguments", [((0, 1, 1), 1), ((1, 1, 1), 0)])
def test_numbers_below_one_are_refused(arguments: tuple[tuple[int, int, int], int]) -> None:
    for layout in (rows, summa):
        with pytest.raises(LabError, match=r"1 or more|1 GPU and 1 panel"):
            layout(*arguments)


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(LabError, match=r"no layout 'columns'\. Take one of rows, summa, cannon"):
        make_plan("columns", (4, 4, 4), 2)


def test_arrays_of_another_size_are_refused() -> None:
    with pytest.raises(LabError, match="The plan is for A of 6×6"):
        run(PLAN, np.zeros((6, 5)), np.zeros((5, 6)))


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
