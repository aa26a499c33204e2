"""The passes of ``additions.cu``, simulated and compared with the same steps in NumPy."""

from functools import cache
from math import ceil
from typing import Any

import numpy as np
import pytest

from sgemm_lab.cuda.compiler import compile_source
from sgemm_lab.gemm.strassen.engine import BLOCK, ENTRIES, SOURCE, launch_of
from sgemm_lab.gemm.strassen.numpy_backend import Memory
from sgemm_lab.gemm.strassen.plan import LEAN, TWICE, VECTOR, WIDE, Multiply, Plan, Spread, View
from sgemm_lab.simulator import simulate

TEXT = SOURCE.read_text("utf-8")


@cache
def passes() -> str:
    """Return the PTX of all passes."""
    return compile_source(TEXT, SOURCE.name, "sm_90", ENTRIES[0]).ptx


def simulated(memory: Memory, step: Any, blocks_down: int) -> None:
    """Simulate a pass; each matrix is an array from its first element on."""
    entry, arguments = launch_of(step)
    given: dict[str, Any] = {}
    views: dict[str, View] = {}
    for number, one in enumerate(arguments):
        name = f"argument {number}"
        if isinstance(one, View):
            views[name] = one
            given[name] = memory.places[one.place][one.offset :].copy()
        else:
            given[name] = one or 0
    across = ceil(step.half[1] / VECTOR / BLOCK[0])
    # Threads that no hazard concerns: a pass has no shared memory.
    found = simulate(
        passes(), entry, (across, blocks_down), BLOCK, given,
        check_hazards=False, count_requests=False,
    )  # fmt: skip
    assert not found.hazards
    for name, view in views.items():
        before, after = given[name], found.arrays[name]
        changed = np.flatnonzero(before.view("uint32") != after.view("uint32"))
        memory.places[view.place][view.offset + changed] = after[changed]


@pytest.mark.parametrize(
    ("size", "schedules"),
    [
        ((16, 24, 32), (WIDE,)),
        ((17, 23, 30), (WIDE,)),  # rows that no float4 can read, and edges within a quadrant
        ((9, 12, 20), (LEAN,)),
        ((13, 15, 9), (LEAN,)),
        ((13, 24, 40), (TWICE,)),
        ((15, 21, 19), (TWICE,)),
        ((3, 2, 1), (TWICE,)),  # quadrants that do not exist
    ],
)
def test_each_pass_equals_its_step_in_numpy(
    size: tuple[int, int, int], schedules: tuple[str, ...]
) -> None:
    plan = Plan(size, schedules)
    m, n, k = size
    random = np.random.default_rng(7)
    lengths = {"A": m * k, "B": k * n, "C": m * n, "work": plan.workspace_bytes // 4}
    ours = Memory({p: random.random(size, dtype="float32") for p, size in lengths.items()})
    theirs = Memory({place: flat.copy() for place, flat in ours.places.items()})
    for step in plan.steps:
        if isinstance(step, Multiply):
            for memory in (ours, theirs):
                found = memory.array(step.left) @ memory.array(step.right)
                memory.array(step.product)[:] = found
        else:
            ours.add(step)
            simulated(theirs, step, blocks_down=1 if isinstance(step, Spread) else 2)
    for place, flat in ours.places.items():
        assert flat.tobytes() == theirs.places[place].tobytes(), place


@pytest.mark.parametrize("target", ["sm_75", "sm_120"])
def test_two_fused_levels_do_not_spill_registers(target: str) -> None:
    assert compile_source(TEXT, SOURCE.name, target, "left_factors_twice").spill_bytes == 0
