"""Arrays of integers that a kernel uses as row offsets or as indices, and numbers that fit those.

Of ``x[col[k]]`` the array ``col`` holds indices; of ``row[r]`` and ``row[r + 1]`` the array ``row``
holds where rows begin and end, as in the CSR format: it ascends from 0 to a length.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sgemm_lab.external_cuda.declarations import matching
from sgemm_lab.external_cuda.tokens import Token

Role = Literal["offsets", "indices"]

_ENDS = frozenset({";", ",", ")"})


def roles_of(tokens: Sequence[Token], names: Collection[str]) -> Mapping[str, Role]:
    """Return what the arrays of some names hold, as far as a kernel's tokens say."""
    subscripts: dict[str, set[str]] = {}
    found: dict[str, Role] = {}
    inside = _brackets(tokens)
    for place, token in enumerate(tokens[:-1]):
        if token.text not in names or tokens[place + 1].text != "[":
            continue
        end = matching(tokens, place + 1)
        subscripts.setdefault(token.text, set()).add(_text(tokens[place + 2 : end]))
        variable = tokens[place - 2].text if tokens[place - 1].text == "=" else ""
        after = tokens[min(end + 1, len(tokens) - 1)].text
        if inside[place] or (after in _ENDS and _is_index(variable, tokens, inside)):
            found[token.text] = "indices"
    for name, texts in subscripts.items():
        if any(f"{text} + 1" in texts for text in texts):
            found[name] = "offsets"
    return found


def _brackets(tokens: Sequence[Token]) -> list[int]:
    """Return in how many square brackets each token stands."""
    depth, found = 0, []
    for token in tokens:
        depth -= token.text == "]"
        found.append(depth)
        depth += token.text == "["
    return found


def _is_index(name: str, tokens: Sequence[Token], inside: Sequence[int]) -> bool:
    """Return whether a variable stands in a subscript, or as a factor."""
    return any(
        token.text == name
        and (inside[place] or "*" in (tokens[place - 1].text, tokens[place + 1].text))
        for place, token in enumerate(tokens[:-1])
    )


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)


def values_for(
    role: Role, count: int, length: int, bound: int, random: np.random.Generator
) -> npt.NDArray[Any]:
    """Draw indices below ``bound``, or offsets that ascend from 0 to ``length``."""
    if role == "indices":
        return random.integers(0, max(1, bound), count).astype("f8")
    offsets = np.sort(random.integers(0, length + 1, count)).astype("f8")
    offsets[0], offsets[-1] = 0, length
    return offsets
