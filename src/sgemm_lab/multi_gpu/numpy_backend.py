"""A plan run in NumPy: the same steps on any machine, with arrays in place of GPUs."""

from typing import Any

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.plan import Multiply, Plan, Receive, Send, Tile


def run(plan: Plan, a: Any, b: Any) -> Any:
    """Return A·B, computed by the steps of a plan.

    Each GPU is a dictionary of arrays; a send puts a copy into the post, a receive takes it out.
    C has NaN where no product wrote.

    Args:
        plan: for the sizes of a and b.
        a: M×K, a NumPy array of any type of numbers.
        b: K×N.

    Raises:
        LabError: a or b is not of the plan's size, or the plan asks for what is not there.
    """
    m, n, k = plan.size
    if a.shape != (m, k) or b.shape != (k, n):
        raise LabError(
            f"The plan is for A of {m}×{k} and B of {k}×{n}, not {a.shape} and {b.shape}."
        )
    matrices = {"A": a, "B": b}
    gpus = [
        {name: _part(matrices[tile.matrix], tile).copy() for name, tile in share.own.items()}
        for share in plan.shares
    ]
    post: dict[tuple[int, int, int, Tile], Any] = {}
    for number in range(plan.rounds):
        steps = [
            (gpu, step)
            for gpu, share in enumerate(plan.shares)
            for step in share.steps
            if step.round == number
        ]
        for gpu, step in steps:
            if isinstance(step, Multiply):
                _multiply(gpus[gpu], step)
        for gpu, step in steps:
            if isinstance(step, Send):
                post[number, gpu, step.to, step.tile] = gpus[gpu][step.buffer].copy()
        for gpu, step in steps:
            if isinstance(step, Receive):
                key = (number, step.source, gpu, step.tile)
                if key not in post:
                    raise LabError(f"GPU {gpu} waits for {step.tile}, which nobody sends.")
                gpus[gpu][step.buffer] = post.pop(key)
    c = np.full((m, n), np.nan, dtype=np.result_type(a, b))
    for gpu, share in enumerate(plan.shares):
        for name, tile in share.results.items():
            _part(c, tile)[:] = gpus[gpu][name]
    return c


def _multiply(buffers: dict[str, Any], step: Multiply) -> None:
    product = buffers[step.a] @ buffers[step.b]
    buffers[step.c] = buffers[step.c] + product if step.adds else product


def _part(matrix: Any, tile: Tile) -> Any:
    rows = slice(tile.row, tile.row + tile.rows)
    return matrix[rows, tile.column : tile.column + tile.columns]
