"""Limits of a simulated launch: size of the product, basic blocks and seconds."""

from typing import Any, Literal

import numpy.typing as npt

from sgemm_lab.counting import sentence
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size

Schedule = Literal["lockstep", "warps"]
Matrix = npt.NDArray[Any]

TIME_LIMIT = 600.0
"""Default time limit of a simulated launch, in seconds."""

MAX_BASIC_BLOCKS, BASIC_BLOCKS_PER_PRODUCT = 20_000, 16
"""Basic blocks that any launch may run, plus those per product, before a loop counts as endless."""

LARGEST_PRODUCT = 1024**3
"""Largest M·N·K; a larger launch takes more than minutes."""
LARGEST_MATRICES = 2**26
"""Largest number of elements of A, B and C together; more would need over 1 GB."""


def check_size(size: Size) -> None:
    """Refuse a size that the simulator cannot run in minutes and in 1 GB."""
    m, n, k = size
    if m * n * k > LARGEST_PRODUCT:
        raise LabError(sentence("size.product", m=m, n=n, k=k))
    if m * k + k * n + m * n > LARGEST_MATRICES:
        raise LabError(sentence("size.matrices", m=m, n=n, k=k, most=LARGEST_MATRICES))


def max_basic_blocks(size: Size) -> int:
    """Return the number of basic blocks after which a loop counts as endless, for M, N, K.

    Fully diverged threads run a few basic blocks per product; a kernel of the book runs a few
    thousand in all.
    """
    m, n, k = size
    return MAX_BASIC_BLOCKS + BASIC_BLOCKS_PER_PRODUCT * m * n * k
