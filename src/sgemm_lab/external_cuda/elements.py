"""Element types of a kernel's arrays, resolved from its source."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.device_code import Sources
from sgemm_lab.external_cuda.kernels import FoundKernel, template_values

_DTYPES = {
    "float": "f4", "double": "f8", "half": "f2", "bool": "?",
    "char": "i1", "signed char": "i1", "int8_t": "i1", "unsigned char": "u1", "uint8_t": "u1",
    "uchar": "u1", "short": "i2", "int16_t": "i2", "unsigned short": "u2", "uint16_t": "u2",
    "ushort": "u2", "int": "i4", "signed": "i4", "signed int": "i4", "int32_t": "i4",
    "unsigned int": "u4", "unsigned": "u4", "uint": "u4", "uint32_t": "u4",
    "long": "i8", "long int": "i8", "long long": "i8", "long long int": "i8", "int64_t": "i8",
    "ptrdiff_t": "i8", "unsigned long": "u8", "unsigned long long": "u8", "uint64_t": "u8",
    "unsigned long long int": "u8", "size_t": "u8",
}  # fmt: skip
_SAME = {"__half": "half", "nv_bfloat16": "bfloat16", "__nv_bfloat16": "bfloat16"}
_FLOATS = {"f2": 2**11, "f4": 2**24, "f8": 2**53, "bfloat16": 2**8}
MOST_STEPS = 8
"""Most aliases that are followed to a type."""


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
    text = _SAME.get(text.removeprefix("std::"), text.removeprefix("std::"))
    if text in ("__nv_bfloat162", "nv_bfloat162"):
        return Element("bfloat16", np.dtype("u2"), 2)
    if text in ("half2", "__half2"):
        return Element("half", np.dtype("f2"), 2)
    if text == "bfloat16":
        return Element("bfloat16", np.dtype("u2"))
    if text in _DTYPES:
        return Element(text, np.dtype(_DTYPES[text]))
    vector = re.fullmatch(r"(u?)(float|double|int|char|short|longlong|long)([1234])", text)
    if vector is None:
        return None
    base = {"longlong": "long long"}.get(vector[2], vector[2])
    base = f"unsigned {base}" if vector[1] else base
    return Element(base, np.dtype(_DTYPES[base]), int(vector[3]))


def resolve(
    text: str,
    kernel: FoundKernel,
    entry: str,
    sources: Sources,
    defines: Mapping[str, str],
) -> Element | None:
    """Return the element type of a parameter.

    ``entry`` gives template arguments, such as "tiled<float>". Typedefs, ``using`` and macros are
    followed.
    """
    known = {**_aliases(sources), **defines, **template_values(kernel, entry)}
    for _ in range(MOST_STEPS):
        found = element_of(text)
        if found is not None or text not in known:
            return found
        text = known[text]
    return None


def _aliases(sources: Sources) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sources.files:
        for d in file.declarations:
            texts = [t.text for t in d.tokens if t.text not in ("const", "volatile")]
            if texts[0] == "typedef" and len(texts) >= 4 and "{" not in texts:
                found[texts[-2]] = " ".join(texts[1:-2])
            elif texts[0] == "using" and len(texts) > 4 and texts[2] == "=":
                found[texts[1]] = " ".join(texts[3:-1])
            elif d.kind == "directive":
                macro = re.fullmatch(r"#\s*define\s+(\w+)\s+([\w ]+?)\s*", d.tokens[0].text)
                if macro:
                    found[macro[1]] = macro[2]
    return found


def named_element(text: str) -> Element:
    """Return the element type called ``text``, such as "half".

    Raises:
        LabError: there is no such type.
    """
    found = element_of(text)
    if found is None:
        raise LabError(f"'{text}' is no type of numbers. Write float, half, bfloat16, int, …")
    return found
