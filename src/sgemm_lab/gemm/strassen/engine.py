"""Run a Strassen plan on a GPU: the passes of ``additions.cu``, and a product for the leaves."""

from collections.abc import Callable
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from sgemm_lab.cuda.compiler import compile_source
from sgemm_lab.cuda.launch import (
    check_arrays,
    device_target,
    load_function,
    require_gpu,
)
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.gemm.strassen.error import UNIFORM, matrix, norm_error, sampled_rows
from sgemm_lab.gemm.strassen.numpy_backend import run as run_in_numpy
from sgemm_lab.gemm.strassen.plan import (
    VECTOR,
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
from sgemm_lab.gemm.strassen.winograd import PRODUCTS, QUADRANTS
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Size
from sgemm_lab.text import bytes_moved_text

SOURCE = Path(__file__).with_name("additions.cu")
ENTRIES = (
    "left_factors",
    "right_factors",
    "join",
    "spread",
    "left_factors_twice",
    "right_factors_twice",
    "join_twice",
)

TARGETS = {
    "A": ("A11", "A12", "A22", "S1", "S2", "S3", "S4"),
    "B": ("B11", "B21", "B22", "T1", "T2", "T3", "T4"),
}
"""Outputs of the passes over A and over B, in the order of their arguments."""

_JOINED = tuple(sorted(one.name for one in PRODUCTS))

BLOCK = (32, 4)
"""Threads along a row, each with a float4, and rows."""
_MOST_BLOCKS_DOWN = 4096
"""With more rows, blocks loop over rows."""

NUMPY_SIZE: Size = (500, 600, 700)
GPU_SIZE: Size = (8192, 8192, 8192)
"""Sizes of a run that names none."""

_NOTHING, _STORE, _ADD, _SUBTRACT = range(4)
"""Constants of ``additions.cu``."""

Leaf = Callable[[Any, Any, Any], None]
"""Computes c = a·b for contiguous float32 matrices on the GPU."""


class GpuProduct:
    """C = A·B by a plan, on the current GPU and the current stream.

    It owns the plan's workspace, so two calls must not overlap. After the first call it allocates
    nothing, so a CUDA graph can capture it.
    """

    def __init__(self, plan: Plan, leaf: Leaf | None = None, work: Any = None) -> None:
        """Compile the passes and allocate ``plan.workspace_bytes`` on the GPU.

        ``leaf`` is the product for the leaves, by default the dispatcher. ``work`` is an existing
        float32 workspace, at least as long as the plan's.
        """
        self._cupy = require_gpu()
        self.plan = plan
        here = self._cupy.cuda.Device().id
        self._leaf = leaf or dispatcher(here)
        self._passes = {entry: load_pass(here, entry) for entry in ENTRIES}
        self._work = self._workspace() if work is None else work

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute c = a·b."""
        self._run(a, b, c, adds=True, multiplies=True)

    def only_additions(self, a: Any, b: Any, c: Any) -> None:
        """Run only the passes, for timing. C is not the product."""
        self._run(a, b, c, adds=True, multiplies=False)

    def only_products(self, a: Any, b: Any, c: Any) -> None:
        """Run only the leaf products on the workspace's content, for timing."""
        self._run(a, b, c, adds=False, multiplies=True)

    def _run(self, a: Any, b: Any, c: Any, *, adds: bool, multiplies: bool) -> None:
        size = check_arrays(self._cupy, a, b, c)
        if size != self.plan.size:
            raise LabError(f"The plan is for M, N, K = {self.plan.size}, not {size}.")
        places = {"A": a, "B": b, "C": c, "work": self._work}
        for step in self.plan.steps:
            if isinstance(step, Multiply):
                if multiplies:
                    self._leaf(*(_matrix(places, v) for v in (step.left, step.right, step.product)))
            elif adds:
                self._launch(places, step)

    def _launch(self, places: dict[str, Any], step: Addition) -> None:
        entry, arguments = launch_of(step)
        rows, columns = step.half
        across, down = ceil(columns / VECTOR / BLOCK[0]), ceil(rows / BLOCK[1])
        given = tuple(
            self._cupy.int32(one)
            if isinstance(one, int)
            else self._cupy.uint64(
                places[one.place].data.ptr + FLOAT_BYTES * one.offset if one else 0
            )
            for one in arguments
        )
        self._passes[entry]((across, min(down, _MOST_BLOCKS_DOWN)), BLOCK, given)

    def _workspace(self) -> Any:
        size = self.plan.workspace_bytes
        try:
            return self._cupy.empty(size // FLOAT_BYTES, dtype="float32")
        except self._cupy.cuda.memory.OutOfMemoryError:
            raise LabError(
                f"The GPU's memory cannot hold a workspace of {bytes_moved_text(size)}. "
                "Set a smaller limit, or take fewer levels."
            ) from None


Argument = View | int | None
"""Argument of a pass: a matrix, an integer, or a null pointer."""


def launch_of(step: Addition) -> tuple[str, tuple[Argument, ...]]:
    """Return the entry of ``additions.cu`` for a pass, and its arguments."""
    if isinstance(step, Factors):
        targets = dict(step.targets)
        given = (*_part(step.source, step.half), *map(targets.get, TARGETS[step.matrix]))
        return "left_factors" if step.matrix == "A" else "right_factors", given
    if isinstance(step, FactorsTwice):
        entry = "left_factors_twice" if step.matrix == "A" else "right_factors_twice"
        return entry, (*_part(step.source, step.half), step.factors)
    if isinstance(step, JoinTwice):
        return "join_twice", (step.products, *_part(step.result, step.half))
    if isinstance(step, Join):
        products = dict(step.products)
        return "join", (*(products[name] for name in _JOINED), *_part(step.result, step.half))
    done = {name: _STORE if first else _ADD if sign > 0 else _SUBTRACT
            for name, sign, first in step.targets}  # fmt: skip
    signs = (done.get(name, _NOTHING) for name in QUADRANTS)
    return "spread", (step.product, *_part(step.result, step.half), *signs)


@lru_cache(maxsize=16)
def load_pass(_device_id: int, entry: str) -> Any:
    """Compile the additions for the current GPU, whose number is the key, and return ``entry``."""
    text = SOURCE.read_text(encoding="utf-8")
    # All entries are in one cubin, which is compiled once.
    compiled = compile_source(text, SOURCE.name, device_target(), ENTRIES[0])
    return load_function(compiled, entry)


def _part(whole: View, half: Shape) -> tuple[Argument, ...]:
    return (whole, whole.stride, whole.rows, whole.columns, *half)


def _matrix(places: dict[str, Any], view: View) -> Any:
    """Return a contiguous matrix as an array."""
    flat = places[view.place].reshape(-1)
    return flat[view.offset : view.offset + view.elements].reshape(view.rows, view.columns)


def random_product_error(plan: Plan, *, live: bool) -> float:
    """Multiply random matrices by a plan; return the norm-wise error.

    A ``live`` product is the GPU's, with the dispatcher for its leaves, else NumPy's.
    """
    m, n, k = plan.size
    library: Any = require_gpu() if live else np
    a, b = (matrix(library, UNIFORM, shape, seed) for shape, seed in (((m, k), 1), ((k, n), 2)))
    if live:
        c = library.full((m, n), library.nan, dtype="float32")
        GpuProduct(plan)(a, b, c)
    else:
        c = run_in_numpy(plan, a, b)
    return norm_error(library, a, b, c, sampled_rows(m))
