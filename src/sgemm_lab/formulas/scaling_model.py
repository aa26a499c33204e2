"""Cost model of a product on many GPUs: the 2-D and the 2.5-D layout.

In the 2-D layout, Cannon's, p GPUs form a square. Each of its √p steps multiplies tiles of n/√p
rows and columns, and overlaps sending two of them. The 2.5-D layout has c layers of p/c GPUs, each
with a copy of A and B and a part of K, and does √(p/c³) of Cannon's steps. Before the steps A and B
are broadcast to all layers, and after them the layers' C are summed. Each of these three transfers
is a pipeline over log₂ c GPUs without overlap. Source: E. Solomonik and J. Demmel,
"Communication-optimal parallel 2.5D matrix multiplication and LU factorization algorithms", 2011.

A transfer of b bytes takes α + b/β seconds. The JavaScript version is the same; a test compares the
two.
"""

import math
from dataclasses import dataclass

from sgemm_lab.hardware import FLOAT_BYTES

BUFFERS = 7
"""Tiles of a GPU: one of C, and three each of A and B (its own, and two in transfer)."""


@dataclass(frozen=True)
class OnPaper:
    """Cost of a product of n×n matrices."""

    seconds: float
    efficiency: float
    """Time of the products over the total time."""
    bytes_per_gpu: int
    """Size of all tiles of a GPU."""
    product: float
    """Seconds of the product in a step."""
    transfer: float
    """Seconds of sending and receiving two tiles in a step."""


def least_gpus(copies: int) -> int:
    """Return the minimum number of GPUs for a number of copies; with fewer a layer has no step."""
    return copies**3


def on_paper(
    n: int, gpus: int, copies: int, alpha: float, bytes_per_second: float, flop_per_second: float
) -> OnPaper:
    """Return the cost of a product.

    Args:
        n: rows of A, B and C.
        gpus: p; √(p/c) need not be an integer.
        copies: c; 1 is the 2-D layout.
        alpha: latency of a transfer in seconds.
        bytes_per_second: of each GPU's link.
        flop_per_second: of each GPU.
    """
    side = math.sqrt(gpus / copies)
    steps = side / copies
    tile = FLOAT_BYTES * (n / side) * (n / side)
    product = 2 * (n / side) * (n / side) * (n / side) / flop_per_second
    transfer = 2 * alpha + 2 * tile / bytes_per_second
    # The first tiles are present at the start; the others arrive during the products.
    inner = product + (steps - 1) * max(product, transfer)
    once = math.log2(copies) * alpha + tile / bytes_per_second
    outer = 3 * once if copies > 1 else 0.0  # A, B and C
    total = inner + outer
    held = math.floor(BUFFERS * tile + 0.5)
    return OnPaper(total, steps * product / total, held, product, transfer)
