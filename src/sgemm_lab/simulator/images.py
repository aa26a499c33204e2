"""Textures and surfaces: arrays that a kernel reads and writes by place, not by address.

NVIDIA's "CUDA C++ Programming Guide", section "Texture Fetching", describes how coordinates become
elements, and that filters round coordinates to 1/256 of an element. How a filter rounds its result
is not documented: it was inferred from what an H200 read at thousands of places, and this module
gives the same bits (``tests/simulator/test_images_on_h200.py``).
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
"""For each thread an index along an axis, and whether an element lies there."""

_FRACTIONS = 256
"""A filter knows places to as many parts of an element, and weighs elements by as many."""
_PLACE_BITS = 21
"""Bits behind the point that a place from 0 to 1 keeps at least; the rest is cut off."""
_LONG = 1 << 13
"""Sides beyond this keep a place to 1/256 of an element all the same."""
_GUARD_BITS = 4
"""A filter adds floats beside the largest of them, and keeps as many bits below its last one."""
_SLICE_BITS = 9
"""Where it adds the sums of two slices, it keeps as many more."""
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
        sides = self.sides
        linear = self.sampling.linear and result.kind == "f" and places[0].dtype.kind == "f"
        axes: list[list[Weighted]] = []
        shares: list[Array] = []
        for place, size in zip(places, sides, strict=False):
            pair, share = self._along(place, size, linear)
            axes.append(pair)
            shares.append(share)
        none = np.zeros(len(places[0]), "i8")
        whole = [(none, none == 0)]
        axes += [whole] * (3 - len(axes))
        shares += [none] * (3 - len(shares))
        if layer is not None:
            # A layer counts from 0 on, so that what is below lies beyond the last.
            number = layer.astype("i4").view("u4").astype("i8")
            axes[2] = [(np.minimum(number, sides[2] - 1), none == 0)]
        elements = self._elements(memory)
        found = {}
        ends_x, ends_y, ends_z = (range(len(axis)) for axis in axes)
        for corner in product(ends_x, ends_y, ends_z):
            (x, in_x), (y, in_y), (z, in_z) = (
                axis[end] for axis, end in zip(axes, corner, strict=True)
            )
            inside = (in_x & in_y & in_z)[:, None]
            value = elements[z, y, x]
            found[corner] = np.where(inside, value, value.dtype.type(0))
        if not linear:
            return np.asarray(_read_as(found[0, 0, 0], result).astype(result))
        weights = _weights(shares[0], shares[1], shares[2])
        parts = []
        for corner, value in found.items():
            # What has no share along an axis is not read; what is read may still weigh nothing.
            read = np.ones(len(none), bool)
            for end, share in zip(corner, shares, strict=True):
                read &= (end == 0) | (share > 0)
            kept = np.where(read[:, None], value, value.dtype.type(0))
            parts.append((kept, weights[corner][:, None], corner[2]))
        return _mixed(parts).astype(result)

    def _elements(self, memory: Memory) -> Array:
        assert self.array.dtype is not None
        span = memory.bytes[self.array.start : self.array.start + self.array.bytes]
        return span.view(self.array.dtype).reshape(self.array.shape)

    def _along(self, place: Array, size: int, linear: bool) -> tuple[list[Weighted], Array]:
        """The elements along one axis that make what is read, and the second's share of 256."""
        nothing = np.zeros(len(place), "i8")
        if place.dtype.kind != "f":
            return [_inside(place.astype("i8"), size)], nothing
        place = np.where(np.abs(place) < np.finfo("f4").tiny, 0, place).astype("f8")
        with np.errstate(invalid="ignore"):
            where = np.nan_to_num(self._scaled(place, size), nan=0.0)
        # Far beyond an edge all is alike, and an index stays a whole number.
        where = np.clip(where, -2.0 * size - 2, 3.0 * size + 2)
        if not linear:
            return [self._beyond(np.floor(where).astype("i8"), size)], nothing
        parts = np.floor((where - 0.5) * _FRACTIONS + 0.5).astype("i8")
        first, share = parts // _FRACTIONS, parts % _FRACTIONS
        if self._ends:
            # Beyond the middle of the last element there is nothing to mix.
            share = np.where((first < 0) | (first >= size - 1), 0, share)
            first = np.clip(first, 0, size - 1)
        return [self._beyond(first, size), self._beyond(first + 1, size)], share

    @property
    def _ends(self) -> bool:
        """Whether the last element goes on for ever. Only places from 0 to 1 wrap."""
        beyond = self.sampling.beyond
        return beyond == "clamp" or (beyond != "border" and not self.sampling.normalized)

    def _scaled(self, place: Array, size: int) -> Array:
        """Places in elements; those of an image that goes on brought near it."""
        if not self.sampling.normalized:
            return place
        if self.sampling.beyond == "wrap":
            place = place - np.floor(place)
        elif self.sampling.beyond == "mirror":
            place = place - 2 * np.floor(place / 2)
        bits = _PLACE_BITS + max(0, (size - 1) // _LONG).bit_length()
        return np.ldexp(np.floor(np.ldexp(place, bits)), -bits) * size

    def _beyond(self, index: Array, size: int) -> Weighted:
        """Bring indices into an axis."""
        if self.sampling.beyond == "border":
            return _inside(index, size)
        if self._ends:
            index = np.clip(index, 0, size - 1)
        elif self.sampling.beyond == "mirror":
            index = index % (2 * size)
            index = np.where(index < size, index, 2 * size - 1 - index)
        else:
            index = index % size
        return index, np.ones(len(index), bool)


def _inside(index: Array, size: int) -> Weighted:
    return np.clip(index, 0, size - 1), (index >= 0) & (index < size)


def _weights(x: Array, y: Array, z: Array) -> dict[tuple[int, int, int], Array]:
    """How much each of eight neighbours counts, in parts of 256, as the hardware rounds it.

    The weight is shared out along z, then x, then y, so that the sum is always 256.
    """
    found = {}
    for at_z, of_z in ((1, z), (0, _FRACTIONS - z)):
        second = _part(of_z, x)
        for at_x, of_x in ((1, second), (0, of_z - second)):
            # The corner that is rounded up lies where both shares are the larger, or the smaller.
            near = _part(of_x, y if at_x else _FRACTIONS - y)
            found[at_x, at_x, at_z] = near
            found[at_x, 1 - at_x, at_z] = of_x - near
    return found


def _part(weight: Array, share: Array) -> Array:
    return np.asarray((weight * share + _FRACTIONS // 2) // _FRACTIONS)


def _mixed(parts: list[tuple[Array, Array, int]]) -> Array:
    """Add elements by their weights. Each part is elements, weights and the number of its slice.

    Whole numbers are added as fractions of 16 bits, floats of a slice beside the largest of them.
    """
    kind = parts[0][0].dtype
    if kind.kind != "f":
        return _mixed_whole([(value.astype("i8"), weight) for value, weight, _ in parts], kind)
    bits = np.finfo(kind).nmant + 1
    slices = [
        _slice([(v.astype("f8"), weight) for v, weight, of in parts if of == number], bits)
        for number in (0, 1)
    ]
    largest = np.maximum(slices[0][1], slices[1][1])
    last = largest - (bits + _GUARD_BITS + _SLICE_BITS)
    cut = np.floor(np.ldexp(slices[0][0] + slices[1][0], -last))
    total = _nearest(np.ldexp(cut, last), bits)
    # Something infinite is there even where it weighs nothing.
    endless = np.zeros(total.shape)
    for value, _, _ in parts:
        with np.errstate(invalid="ignore"):
            endless = endless + np.where(np.isfinite(value), 0.0, value.astype("f8"))
    return np.where(endless == 0, total, endless)


def _mixed_whole(parts: list[tuple[Array, Array]], kind: np.dtype[Any]) -> Array:
    """Add small whole numbers as fractions of 16 bits: 255 of 8 bits stands for 65535."""
    total = np.asarray(sum(value * weight for value, weight in parts))
    if kind == np.int8:
        # 32767/127 is 258 and a bit; of that bit the hardware takes what these shifts leave.
        total = total + (total + (total >> 12 << 4) + 64 >> 7)
        return np.asarray(np.maximum(total / np.iinfo("i2").max, -1)).astype("f4")
    if kind == np.uint8:
        total = total * 257
    most = np.iinfo("u2" if kind.kind == "u" else "i2").max
    return np.asarray(np.maximum((total + _FRACTIONS // 2 >> 8) / most, -1)).astype("f4")


def _slice(parts: list[tuple[Array, Array]], bits: int) -> tuple[Array, Array]:
    """The sum of up to four floats, and the exponent of the largest.

    Small ones lose their last bits beside large ones.
    """
    if not parts:
        return np.zeros(1), np.full(1, _LEAST)
    counted = [np.where((w != 0) & np.isfinite(value), value, 0.0) for value, w in parts]
    exponent = np.max([np.where(v != 0, np.frexp(v)[1], _LEAST) for v in counted], axis=0)
    last = exponent - (bits + _GUARD_BITS)
    total = np.zeros(counted[0].shape)
    for value, (_, weight) in zip(counted, parts, strict=True):
        total = total + np.ldexp(np.trunc(np.ldexp(value, -last)), last) * weight
    return total / _FRACTIONS, exponent


_LEAST = np.finfo("f4").minexp


def _nearest(values: Array, bits: int) -> Array:
    """The nearest numbers of so many bits; of two that are as near the one farther from zero."""
    mantissa, exponent = np.frexp(values)
    rounded = np.floor(np.abs(mantissa) * 2.0**bits + 0.5)
    return np.asarray(np.ldexp(np.copysign(rounded, mantissa), exponent - bits))


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
