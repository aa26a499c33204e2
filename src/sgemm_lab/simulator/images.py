"""Textures and surfaces: arrays that a kernel reads and writes by place, not by address.

How a place becomes an element is told by NVIDIA's "CUDA C++ Programming Guide", section "Texture
Fetching". It says that a filter knows places to 1/256 of an element. It says neither how it rounds
them nor in which order it adds, so the last bits of a filtered number may be others on a GPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator.memory import Memory, NamedArray

Array = npt.NDArray[Any]
Beyond = Literal["clamp", "border", "wrap", "mirror"]
Weighted = tuple[Array, Array]
"""For each thread an index along an axis, and how much the element there counts."""

_FRACTIONS = 256
"""A filter knows places to as many parts of an element."""
_SMALL = 2
"""Whole numbers of at most as many bytes are read as fractions where a float is asked for."""


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
class Image:
    """A texture or surface, and where it lies in global memory."""

    array: NamedArray
    """Its shape is: depth or layers, height, width, numbers of an element."""
    sampling: Sampling

    @property
    def sides(self) -> tuple[int, int, int]:
        """Width in elements, height, and depth or layers."""
        depth, height, width, _ = self.array.shape
        return width, height, depth

    @property
    def element_bytes(self) -> int:
        """Bytes of an element with all its numbers."""
        depth, height, width, _ = self.array.shape
        return self.array.bytes // (depth * height * width)

    def at(
        self,
        memory: Memory,
        places: Sequence[Array],
        layer: Array | None,
        result: np.dtype[Any],
    ) -> Array:
        """Read at places along x, y and z, one of each for a thread: (threads, numbers).

        Whole places are indices, and beyond the edges lie zeros then.
        """
        linear = self.sampling.linear and result.kind == "f" and places[0].dtype.kind == "f"
        axes = [
            self._along(place, size, linear)
            for place, size in zip(places, self.sides, strict=False)
        ]
        whole = np.ones(len(places[0]))
        axes += [[(np.zeros(len(whole), "i8"), whole)] for _ in range(len(axes), 3)]
        if layer is not None:
            axes[2] = [(np.clip(layer.astype("i8"), 0, self.sides[2] - 1), whole)]
        elements = self._elements(memory)
        found = []
        for (x, of_x), (y, of_y), (z, of_z) in product(*axes):
            weight = (of_x * of_y * of_z)[:, None]
            value = _read_as(elements[z, y, x], result)
            if linear:
                value = value.astype("f8") * weight
            found.append(np.where(weight != 0, value, value.dtype.type(0)))
        total = found[0] if len(found) == 1 else np.sum(found, axis=0)
        return np.asarray(total.astype(result))

    def _elements(self, memory: Memory) -> Array:
        assert self.array.dtype is not None
        span = memory.bytes[self.array.start : self.array.start + self.array.bytes]
        return span.view(self.array.dtype).reshape(self.array.shape)

    def _along(self, place: Array, size: int, linear: bool) -> list[Weighted]:
        """The elements along one axis that make what is read, and what each counts."""
        if place.dtype.kind != "f":
            index = place.astype("i8")
            return [_inside(index, size)]
        where = np.nan_to_num(self._scaled(place, size).astype("f8"), nan=0.0)
        # Far beyond an edge all is alike, and an index stays a whole number.
        where = np.clip(where, -2.0 * size - 2, 3.0 * size + 2)
        if not linear:
            return [self._beyond(np.floor(where).astype("i8"), size)]
        first = np.floor(where - 0.5)
        part = np.round((where - 0.5 - first) * _FRACTIONS) / _FRACTIONS
        pairs = ((first, 1 - part), (first + 1, part))
        found = []
        for number, weight in pairs:
            index, counts = self._beyond(number.astype("i8"), size)
            found.append((index, counts * weight))
        return found

    def _scaled(self, place: Array, size: int) -> Array:
        """Places in elements; those of an image that goes on brought into it."""
        if not self.sampling.normalized:
            return place
        if self.sampling.beyond == "wrap":
            place = place - np.floor(place)
        elif self.sampling.beyond == "mirror":
            turn = np.floor(place)
            inside = place - turn
            place = np.where(turn % 2 == 0, inside, 1 - inside)
        return np.asarray(place * np.float32(size))

    def _beyond(self, index: Array, size: int) -> Weighted:
        """Bring indices into an axis. Only places from 0 to 1 wrap, as the guide says."""
        beyond = self.sampling.beyond
        if beyond == "border":
            return _inside(index, size)
        if beyond == "wrap" and self.sampling.normalized:
            return index % size, np.ones(len(index))
        return np.clip(index, 0, size - 1), np.ones(len(index))


def _inside(index: Array, size: int) -> Weighted:
    inside = (index >= 0) & (index < size)
    return np.clip(index, 0, size - 1), inside.astype("f8")


def _read_as(values: Array, result: np.dtype[Any]) -> Array:
    """Elements as a texture hands them out: floats, or whole numbers of 32 bits.

    Where a float is asked for, small whole numbers become fractions of their largest.
    """
    if result.kind != "f":
        return values if values.dtype.kind in "iu" else values.astype("f4").view("u4")
    if values.dtype.kind == "f":
        return values
    if values.dtype.itemsize > _SMALL:
        return values.view("f4") if values.dtype.itemsize == result.itemsize else values
    most = np.iinfo(values.dtype).max
    return np.maximum(values.astype("f4") / np.float32(most), np.float32(-1))
