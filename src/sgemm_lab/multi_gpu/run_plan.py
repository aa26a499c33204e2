"""Run one product by a plan: on the GPUs of this process, or in NumPy."""

import statistics

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.elements import fill, worst_share
from sgemm_lab.multi_gpu.engine import Engine
from sgemm_lab.multi_gpu.numpy_backend import run as run_in_numpy
from sgemm_lab.multi_gpu.plan import Plan, Tile
from sgemm_lab.text import size_text

_TURNS = 5
MOST_IN_NUMPY = 2**33
"""Multiply-adds that NumPy computes within seconds."""


def multiply(plan: Plan) -> float:
    """Run a plan several times; return the median of the seconds, and check sampled rows of C."""
    engine = Engine(plan)
    engine.run()
    took = statistics.median(engine.run() for _ in range(_TURNS))
    engine.fill_nan()
    engine.run()
    worst = engine.check()
    if not worst <= 1:
        raise LabError(f"C is wrong: sampled rows have {worst:.3g} times the rounding bound.")
    return took


def in_numpy(plan: Plan) -> None:
    """Run a plan in NumPy, and check sampled rows of C."""
    m, n, k = plan.size
    if m * n * k > MOST_IN_NUMPY:
        raise LabError(
            f"{size_text(plan.size)} takes NumPy too long. Choose a smaller size, such as 1000."
        )
    a, b = (np.empty(shape, "float32") for shape in ((m, k), (k, n)))
    fill(np, a, Tile("A", 0, 0, m, k))
    fill(np, b, Tile("B", 0, 0, k, n))
    share = worst_share(np, run_in_numpy(plan, a, b), Tile("C", 0, 0, m, n), plan.size)
    if not share <= 1:
        raise LabError(f"C is wrong: its error is {share:.3g} times the rounding bound.")
