"""Arrays of integers that a kernel uses as row offsets or as indices, and numbers that fit those.

Of ``x[col[k]]`` the array ``col`` holds indices; of ``row[r]`` and ``row[r + 1]`` the array ``row``
holds where rows begin and end, as in the CSR format: it ascends from 0 to a length. Node says which
arrays of a kernel these are: see ``index_arrays.ts``.
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Role = Literal["offsets", "indices"]


def values_for(
    role: Role, count: int, length: int, bound: int, random: np.random.Generator
) -> npt.NDArray[Any]:
    """Draw indices below ``bound``, or offsets that ascend from 0 to ``length``."""
    if role == "indices":
        return random.integers(0, max(1, bound), count).astype("f8")
    offsets = np.sort(random.integers(0, length + 1, count)).astype("f8")
    offsets[0], offsets[-1] = 0, length
    return offsets
