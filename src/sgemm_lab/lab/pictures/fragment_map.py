"""What one lane holds where a warp multiplies by ``mma.sync``, and what its sums need."""

import re

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import panel
from sgemm_lab.lab.pictures.matrices import Cell, Reading, matrices
from sgemm_lab.simulator.fragments import Holders, holders

_INSTRUCTION = re.compile(r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col\.f32\.tf32\.")
_LANE = 5
"""The lane that is drawn: its elements lie inside of the matrices."""


def fragment_map(name: str | Kernel) -> Output:
    """Draw the ``mma.sync`` in TF32 of a kernel: solid what lane 5 holds, pale what its sums need.

    Raises:
        LabError: the kernel has no such instruction, or several.
    """
    kernel = kernel_of(name)
    found = {int(depth) for depth in _INSTRUCTION.findall(kernel.source)}
    if len(found) != 1:
        raise LabError(f"'{kernel.name}' has {len(found)} kinds of mma.sync; name one with one.")
    (depth,) = found
    a, b, c = (_of_lane(matrix) for matrix in holders("tf32", depth))
    needed = {
        "A": {(row, k) for row, _ in c for k in range(depth)},
        "B": {(k, column) for _, column in c for k in range(depth)},
    }
    rows, columns = 16, 8
    parts, height = matrices(
        (rows, columns, depth), Reading(needed, {"A": a, "B": b}, c, copied=False)
    )
    described = (
        f"Lane {_LANE} holds {len(a)} elements of A, {len(b)} of B and {len(c)} sums, which need "
        f"{len(needed['A'])} elements of A and {len(needed['B'])} of B."
    )
    products = f"**{rows * columns * depth:,}** multiply-adds"
    says = f"{products}, where a multiply-add of a warp does **{WARP}**"
    return panel("One mma of a warp", parts, height, described, says)


def _of_lane(matrix: Holders) -> set[Cell]:
    return {(int(row), int(column)) for row, column in np.argwhere(matrix.lane == _LANE)}
