"""Plans of Strassen's product, run in NumPy at any size and compared with float64."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.strassen.numpy_backend import run
from sgemm_lab.gemm.strassen.plan import (
    LEAN,
    TWICE,
    WIDE,
    Factors,
    Multiply,
    Plan,
    default_workspace,
    make_plan,
    schedule_choices,
)
from sgemm_lab.gemm.strassen.winograd import PRODUCTS, terms

extent = st.integers(1, 40)
sizes = st.tuples(extent, extent, extent)
outer = st.lists(st.sampled_from((WIDE, LEAN)), max_size=3).map(tuple)
schedules = outer | outer.filter(lambda names: len(names) < 2).map(lambda names: (*names, TWICE))


def matrices(size: tuple[int, int, int], dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    m, n, k = size
    random = np.random.default_rng(m + 50 * n + 2500 * k)
    # Whole numbers: each sum and product of them is exact, so one missing term is seen.
    return tuple(random.integers(-8, 9, shape).astype(dtype) for shape in ((m, k), (k, n)))


def test_the_seven_products_equal_the_definition() -> None:
    for row, column in itertools.product("12", "12"):
        found: dict[tuple[str, str], Fraction] = {}
        for name, sign in terms(f"C{row}{column}"):
            one = next(product for product in PRODUCTS if product.name == name)
            for (a, plus), (b, minus) in itertools.product(terms(one.left), terms(one.right)):
                found[a, b] = found.get((a, b), Fraction(0)) + sign * plus * minus
        wanted = {(f"A{row}{k}", f"B{k}{column}"): 1 for k in "12"}
        assert {pair: sign for pair, sign in found.items() if sign} == wanted


@given(sizes, schedules)
@settings(max_examples=60, deadline=None)
def test_a_plan_multiplies_exactly_at_any_size(
    size: tuple[int, int, int], levels: tuple[str, ...]
) -> None:
    a, b = matrices(size)
    assert (run(Plan(size, levels), a, b) == a @ b).all()


@given(sizes, st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_all_schedules_give_the_same_bits(size: tuple[int, int, int], levels: int) -> None:
    random = np.random.default_rng(sum(size))
    m, n, k = size
    a, b = (random.random(s, dtype="float32") - np.float32(0.5) for s in ((m, k), (k, n)))
    results = {run(Plan(size, chosen), a, b).tobytes() for chosen in schedule_choices(levels)}
    assert len(results) == 1


@given(sizes, schedules)
@settings(max_examples=30, deadline=None)
def test_leaves_are_contiguous_and_matrices_do_not_overlap(
    size: tuple[int, int, int], levels: tuple[str, ...]
) -> None:
    plan = Plan(size, levels)
    m, n, k = size
    room = {"A": m * k, "B": k * n, "C": m * n, "work": plan.workspace_bytes // 4}
    assert sum(isinstance(step, Multiply) for step in plan.steps) == plan.products
    for step in plan.steps:
        views = list(vars(step).values())
        named = vars(step).get("targets", vars(step).get("products", ()))
        views += [view for _, view in named] if isinstance(named, tuple) else []
        for view in views:
            if hasattr(view, "stride") and view.elements:
                last = view.offset + (view.rows - 1) * view.stride + view.columns
                assert last <= room[view.place]
        if isinstance(step, Multiply):
            assert step.size == plan.leaf
            for view in (step.left, step.right, step.product):
                assert view.stride == view.columns


def test_a_wide_level_reads_and_writes_each_matrix_once() -> None:
    plan = Plan((256, 256, 256), (WIDE,))
    quarter = 128 * 128 * 4
    # A: four read, four sums and three copies written. B as well. C: seven read, four written.
    assert plan.moved_bytes == (11 + 11 + 11) * quarter
    assert plan.workspace_bytes == (7 + 7 + 7) * quarter
    inner = Plan((256, 256, 256), (WIDE, WIDE))
    assert inner.moved_bytes == (8 + 8 + 11) * quarter + 7 * plan.moved_bytes // 4


def test_a_lean_level_holds_three_matrices() -> None:
    plan = Plan((256, 256, 256), (LEAN,))
    assert plan.workspace_bytes == 3 * 128 * 128 * 4
    sums = {step.targets[0][0]: len(step.reads) for step in plan.steps if isinstance(step, Factors)}
    assert sums == {
        "A11": 1, "A12": 1, "A22": 1, "S1": 2, "S2": 3, "S3": 2, "S4": 4,
        "B11": 1, "B21": 1, "B22": 1, "T1": 2, "T2": 3, "T3": 2, "T4": 4,
    }  # fmt: skip
    assert plan.moved_bytes == (2 * (15 + 6) + 31) * 128 * 128 * 4


def test_outer_levels_become_lean_for_a_small_workspace() -> None:
    size = (1024, 1024, 1024)
    chosen = [
        make_plan(size, 3, Plan(size, wanted).workspace_bytes).schedules
        for wanted in ((WIDE, TWICE), (LEAN, TWICE), (LEAN, LEAN, LEAN))
    ]
    assert chosen == [(WIDE, TWICE), (LEAN, TWICE), (LEAN, LEAN, LEAN)]
    assert make_plan(size, 3).workspace_bytes <= default_workspace(size)


def test_a_limit_below_every_schedule_is_an_error() -> None:
    with pytest.raises(LabError, match="Allow more, or take fewer levels"):
        make_plan((512, 512, 512), 2, 1000)
    with pytest.raises(LabError, match="0 to 6 levels, not 7"):
        make_plan((512, 512, 512), 7)
