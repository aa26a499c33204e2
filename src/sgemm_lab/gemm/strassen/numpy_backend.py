"""Run a Strassen plan in NumPy: the same steps in the same order as on a GPU."""

from typing import Any

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.strassen.plan import (
    Addition,
    Factors,
    FactorsTwice,
    Join,
    JoinTwice,
    Multiply,
    Plan,
    Shape,
    View,
)
from sgemm_lab.gemm.strassen.winograd import LEFT, PRODUCTS, QUADRANTS, RESULT, RIGHT, Sum


def run(plan: Plan, a: Any, b: Any) -> Any:
    """Return A·B, computed by the steps of a plan in the type of A (M×K) and B (K×N).

    Workspace and C start as NaN, which exposes elements that a plan does not write.
    """
    m, n, k = plan.size
    if a.shape != (m, k) or b.shape != (k, n):
        raise LabError(
            f"The plan is for A of {m}×{k} and B of {k}×{n}, not {a.shape} and {b.shape}."
        )
    memory = Memory(
        {
            "A": np.ascontiguousarray(a).ravel(),
            "B": np.ascontiguousarray(b).ravel(),
            "C": np.full(m * n, np.nan, a.dtype),
            "work": np.full(plan.workspace_bytes // 4, np.nan, a.dtype),
        }
    )
    for step in plan.steps:
        if isinstance(step, Multiply):
            memory.array(step.product)[:] = memory.array(step.left) @ memory.array(step.right)
        else:
            memory.add(step)
    return memory.places["C"].reshape(m, n)


class Memory:
    """Flat arrays by place ("A", "B", "C", "work"), and additions on matrices in them."""

    def __init__(self, places: dict[str, Any]) -> None:
        self.places = places

    def array(self, view: View) -> Any:
        """Return the existing part of a matrix as a writable view."""
        flat = self.places[view.place]
        step = flat.itemsize
        return np.lib.stride_tricks.as_strided(
            flat[view.offset :], (view.rows, view.columns), (view.stride * step, step)
        )

    def add(self, step: Addition) -> None:
        """Run one pass of additions."""
        if isinstance(step, Factors):
            sums = self._summed(step.matrix, self._padded(step.source, step.half, 2))
            for name, target in step.targets:
                self.array(target)[:] = sums[name]
        elif isinstance(step, FactorsTwice):
            whole = self._padded(step.source, step.half, 4)
            self.array(step.factors)[:] = np.concatenate(
                [
                    inner
                    for outer in self._seven(step.matrix, whole)
                    for inner in self._seven(step.matrix, outer)
                ]
            )
        elif isinstance(step, Join):
            self._write(
                step.result, _joined([self.array(dict(step.products)[p.name]) for p in PRODUCTS])
            )
        elif isinstance(step, JoinTwice):
            parts = np.split(self.array(step.products), len(PRODUCTS) ** 2)
            outer = [
                _joined(parts[i : i + len(PRODUCTS)]) for i in range(0, len(parts), len(PRODUCTS))
            ]
            self._write(step.result, _joined(outer))
        else:
            product = self.array(step.product)
            for name, sign, first in step.targets:
                target = step.result.quadrant(name, step.half)
                part, found = sign * product[: target.rows, : target.columns], self.array(target)
                found[:] = part if first else found + part

    def _padded(self, view: View, part: Shape, parts: int) -> Any:
        """Return a matrix padded with zeros to ``parts`` × ``parts`` blocks of shape ``part``."""
        whole = np.zeros((parts * part[0], parts * part[1]), self.places[view.place].dtype)
        whole[: view.rows, : view.columns] = self.array(view)
        return whole

    def _write(self, result: View, whole: Any) -> None:
        self.array(result)[:] = whole[: result.rows, : result.columns]

    @staticmethod
    def _summed(matrix: str, whole: Any) -> dict[str, Any]:
        """Return the quadrants of A or B, and their sums."""
        (q11, q12), (q21, q22) = (np.hsplit(band, 2) for band in np.vsplit(whole, 2))
        parts = dict(zip((matrix + name for name in QUADRANTS), (q11, q12, q21, q22), strict=True))
        return _with_sums(parts, LEFT if matrix == "A" else RIGHT)

    def _seven(self, matrix: str, whole: Any) -> list[Any]:
        sums = self._summed(matrix, whole)
        return [sums[one.left if matrix == "A" else one.right] for one in PRODUCTS]


def _joined(products: list[Any]) -> Any:
    """Combine seven products, given in the order of ``PRODUCTS``, into a matrix."""
    parts = dict(zip((one.name for one in PRODUCTS), products, strict=True))
    c = _with_sums(parts, RESULT)
    return np.block([[c["C11"], c["C12"]], [c["C21"], c["C22"]]])


def _with_sums(parts: dict[str, Any], sums: tuple[Sum, ...]) -> dict[str, Any]:
    for one in sums:
        parts[one.name] = parts[one.first] + one.sign * parts[one.second]
    return parts
