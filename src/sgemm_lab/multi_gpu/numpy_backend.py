"""Run a plan in NumPy: the same steps as on GPUs, on any machine."""

from typing import Any

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.plan import Multiply, Plan, Tile


def run(plan: Plan, a: Any, b: Any) -> Any:
    """Return A·B, computed by the steps of a plan, for A (M×K) and B (K×N) of any type of numbers.

    Each GPU is a dictionary of arrays. Elements of C that no product writes are NaN.
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
    for products, receives in plan.by_round():
        for gpu, product in products:
            _multiply(gpus[gpu], product)
        sent = [gpus[step.source][step.source_buffer].copy() for _, step in receives]
        for (gpu, step), tile in zip(receives, sent, strict=True):
            gpus[gpu][step.buffer] = tile
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
