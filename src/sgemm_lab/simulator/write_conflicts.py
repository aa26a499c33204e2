"""Lanes of one store that meet at one word, in shared and in global memory.

CUDA says of the lanes of a warp that store to one place with one instruction: one of them lands,
and which one is not defined. So they race where what they store differs, and only there.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def words_of(values: list[Array], word_bytes: int) -> Array:
    """What lanes store, cut into words: (lanes, words). ``values`` has an array per element."""
    own = np.ascontiguousarray(np.stack(values, axis=1))
    return own.view(f"u{word_bytes}").reshape(len(own), -1)


def loses(index: Array, words: Array) -> npt.NDArray[np.bool_]:
    """Where a lane stores something else than the last lane that stores to its word.

    Args:
        index: the word that each lane stores to.
        words: what each of them stores there.
    """
    _, place = np.unique(index, return_inverse=True)
    last = np.zeros(place.max(initial=-1) + 1, np.intp)
    last[place] = np.arange(len(index))
    return np.asarray(words != words[last[place]])
