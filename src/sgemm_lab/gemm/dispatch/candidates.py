"""Candidates of a search: kernels of the book with values of their constants.

To add a candidate, add its name to ``candidates.toml``; ``sgemm-lab tune`` then measures it and
fits its time.
"""

import tomllib
from pathlib import Path

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.arrays import MAX_DIMENSION
from sgemm_lab.kernel import Kernel, Size

MOST: dict[str, Size] = {
    "one_row": (16, MAX_DIMENSION, MAX_DIMENSION),
    "one_column": (MAX_DIMENSION, 16, MAX_DIMENSION),
    "thin_k": (MAX_DIMENSION, MAX_DIMENSION, 128),
}
"""The largest M, N and K for which some kernels are candidates: beyond, they are far too slow."""


def is_candidate(kernel: Kernel, size: Size) -> bool:
    """Whether a size is within the range for which a kernel is a candidate."""
    most = MOST.get(kernel.base_name)
    return most is None or all(x <= limit for x, limit in zip(size, most, strict=True))


def candidates() -> list[Kernel]:
    """Return every candidate."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return [load_kernel(name) for name in tomllib.loads(text)["names"]]
