"""Element types of a kernel's arrays."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError

_TYPES = json.loads(Path(__file__).with_name("elements.json").read_text(encoding="utf-8"))
_FLOATS = {"f2": 2**11, "f4": 2**24, "f8": 2**53, "bfloat16": 2**8}


@dataclass(frozen=True)
class Element:
    """An element type and its NumPy dtype. A bfloat16 is a float32 in NumPy."""

    name: str
    """"float", "half", "bfloat16", "int", ... without the width of a vector."""
    stored: np.dtype[Any]
    """The dtype in memory."""
    lanes: int = 1
    """Numbers of a vector type, such as 4 for float4."""

    @property
    def whole(self) -> bool:
        """Whether it is an integer type."""
        return self.name != "bfloat16" and self.stored.kind in "iub"

    @property
    def exact(self) -> int:
        """Largest n such that every integer up to n is representable."""
        if self.whole:
            bits = 8 * self.stored.itemsize - (self.stored.kind == "i")
            return int(2**bits - 1)
        return _FLOATS["bfloat16" if self.name == "bfloat16" else self.stored.str[1:]]

    def pack(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Convert numbers to their layout in memory; bfloat16 rounds to nearest."""
        if self.name != "bfloat16":
            with np.errstate(all="ignore"):
                return values.astype(self.stored)
        bits = values.astype("f4").view("u4")
        odd = (bits >> np.uint32(16)) & np.uint32(1)
        return ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype("u2")

    def unpack(self, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Convert memory to numbers: float64 or integers."""
        if self.name == "bfloat16":
            return (stored.astype("u4") << np.uint32(16)).view("f4").astype("f8")
        with np.errstate(all="ignore"):  # NumPy warns of bits that are some kinds of NaN
            return stored.astype("f8") if stored.dtype.kind == "f" else stored


FLOAT = Element("float", np.dtype("f4"))


def element_of(text: str) -> Element | None:
    """Return the element type of a C++ type, such as "float4"; None if unknown."""
    text = text.removeprefix("std::")
    if text in _TYPES["pairs"]:
        return _element(_TYPES["pairs"][text], 2)
    name = _TYPES["same"].get(text, text)
    if name in _TYPES["stored"]:
        return _element(name)
    vector = re.fullmatch(r"(u?)(float|double|int|char|short|longlong|long)([1234])", text)
    if vector is None:
        return None
    base = _TYPES["vectors"][vector[2]]
    return _element(f"unsigned {base}" if vector[1] else base, int(vector[3]))


def _element(name: str, lanes: int = 1) -> Element:
    return Element(name, np.dtype(_TYPES["stored"][name]), lanes)


def named_element(text: str) -> Element:
    """Return the element type called ``text``, such as "half".

    Raises:
        LabError: there is no such type.
    """
    found = element_of(text)
    if found is None:
        raise LabError(f"'{text}' is no type of numbers. Write float, half, bfloat16, int, …")
    return found
