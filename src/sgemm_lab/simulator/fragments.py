"""Which lane of a warp holds which element of the matrices of ``mma.sync`` and ``wgmma``.

Where the elements sit is fixed by the PTX manual ("Matrix Fragments for mma.m16n8k8 / m16n8k16",
"Asynchronous Warpgroup Level Matrix Instructions").
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

PACKED = {"tf32": 1, "f16": 2, "bf16": 2}
"""How many elements a register holds, by the type: neighbours along k."""


class Holders(NamedTuple):
    """What holds the elements of a matrix: per element its lane, register, and place in that."""

    lane: Array
    register: Array
    one: Array


def holders(type_: str, depth: int) -> tuple[Holders, Holders, Holders]:
    """Return who holds the elements of A (16×depth), B (depth×8) and C (16×8).

    ``type_`` is one of ``PACKED``; ``depth`` is 8, or 16 where a register holds two elements.
    Four lanes share a row of A or C, or a column of B. Along k each of them has one register.
    """
    packed = PACKED[type_]
    row, column, k = np.arange(16)[:, None], np.arange(8), np.arange(depth)
    part, inside, one = k // (4 * packed), k % (4 * packed) // packed, k % packed
    a = 4 * (row % 8) + inside, row // 8 + 2 * part, one
    b_by_column = 4 * column[:, None] + inside, part, one
    c = 4 * (row % 8) + column // 2, row // 8 * 2 + column % 2, 0
    found_a, found_b, found_c = (np.broadcast_arrays(*one) for one in (a, b_by_column, c))
    return Holders(*found_a), Holders(*(found.T for found in found_b)), Holders(*found_c)
