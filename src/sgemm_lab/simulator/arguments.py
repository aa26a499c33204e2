"""Arguments of a kernel that are neither arrays nor numbers."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Beyond = Literal["clamp", "border", "wrap", "mirror"]


@dataclass(frozen=True)
class Sampling:
    """How a texture is read. A surface has the usual."""

    linear: bool = False
    """Whether a place between elements gets some of each, and not the one in which it lies."""
    normalized: bool = False
    """Whether places go from 0 to 1, and not to the width."""
    beyond: Beyond = "clamp"
    """What lies beyond the edges: the last element, zeros, the image again, or its mirror image."""


@dataclass(frozen=True)
class Struct:
    """A kernel's argument that is a struct, passed by value."""

    bytes: int
    fields: tuple[tuple[int, str, Any], ...]
    """First byte, name and value: an array, of which the address is passed, or a NumPy number."""

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that its pointers point to, by name."""
        return {
            name: value
            for _, name, value in self.fields
            if isinstance(value, np.ndarray) and value.ndim
        }
