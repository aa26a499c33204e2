"""Variables of a PTX module: ``__device__`` and ``__constant__`` ones, with what they start with.

The grammar is that of NVIDIA's "Parallel Thread Execution ISA", sections "Variables" and
"Initializers". All of them lie in global memory here; loads of ``.const`` ones are not counted
among its requests, as a GPU has a cache of its own for them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

TYPE_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
_VARIABLE = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak|extern|common)\s+)*\.(?P<space>global|const)\s+"
    r"(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<alignment>\d+)\s+)?"
    r"\.(?P<type>[bsuf])(?P<bits>8|16|32|64)\s+"
    r"(?P<name>[\w$]+)(?P<sizes>(?:\[\d*\])*)\s*(?:=\s*(?P<values>\{[^}]*\}|[^;]+))?;",
    re.M,
)


@dataclass(frozen=True)
class ModuleVariable:
    """One ``.global`` or ``.const`` variable."""

    name: str
    """As the PTX names it."""
    bytes: int
    item_bytes: int
    """Of one element, as far as the PTX says: messages count in it."""
    values: tuple[tuple[int, int, int], ...] = ()
    """What it starts with, where that is no zero: first byte, bytes, bits."""
    addresses: tuple[tuple[int, str], ...] = ()
    """Addresses of other variables in it: first byte, name."""
    is_set: bool = False
    """Whether the source says what it starts with."""
    constant: bool = False


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


def module_variables(text: str) -> list[ModuleVariable]:
    """Return the variables that a module declares outside its functions."""
    return [_variable(match) for match in _VARIABLE.finditer(text)]


def _variable(match: "re.Match[str]") -> ModuleVariable:
    width = TYPE_BYTES[match["bits"]]
    sizes = [int(size or 0) for size in re.findall(r"\[(\d*)\]", match["sizes"])]
    size = width * int(np.prod(sizes)) if sizes else width
    values, addresses = [], []
    for place, text in enumerate(_items(match["values"])):
        number = _bits(text)
        if number is None:
            addresses.append((place * width, re.sub(r"^generic\((.*)\)$", r"\1", text)))
        elif number:
            values.append((place * width, width, number))
    return ModuleVariable(
        match["name"],
        size,
        width if width > 1 else int(match["alignment"] or 1),
        tuple(values),
        tuple(addresses),
        match["values"] is not None,
        match["space"] == "const",
    )


def _items(text: str | None) -> Iterable[str]:
    return [item.strip() for item in (text or "").strip("{} \n").split(",") if item.strip()]


def _bits(text: str) -> int | None:
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return int(text[2:], 16)
    try:
        return int(text.rstrip("U"), 0)
    except ValueError:
        return None


def used_variables(
    variables: Sequence[ModuleVariable], symbols: Iterable[str]
) -> list[ModuleVariable]:
    """Return the variables that some symbols name, with those whose address they hold."""
    by_name = {one.name: one for one in variables}
    used: dict[str, ModuleVariable] = {}
    waiting = list(symbols)
    while waiting:
        one = by_name.get(waiting.pop())
        if one is not None and one.name not in used:
            used[one.name] = one
            waiting += [name for _, name in one.addresses]
    return [one for one in variables if one.name in used]


def bytes_at_start(variable: ModuleVariable) -> npt.NDArray[np.uint8]:
    """Return what a variable starts with, but for addresses."""
    found = np.zeros(variable.bytes, np.uint8)
    for start, width, bits in variable.values:
        pieces = (bits & (2 ** (8 * width) - 1)).to_bytes(width, "little")
        found[start : start + width] = np.frombuffer(pieces, np.uint8)
    return found


def array_of(variable: ModuleVariable) -> npt.NDArray[Any]:
    """Return what a variable starts with, as elements that messages can count."""
    width = variable.item_bytes if variable.item_bytes in (1, 2, 4, 8) else 1
    found = bytes_at_start(variable)
    return found.view(f"u{width}") if len(found) % width == 0 else found


def bytes_of(struct: Struct, addresses: Mapping[str, int]) -> npt.NDArray[np.uint8]:
    """Return a struct as it lies in memory, given where its arrays lie."""
    found = np.zeros(struct.bytes, np.uint8)
    for start, name, value in struct.fields:
        is_array = isinstance(value, np.ndarray) and value.ndim
        number = np.uint64(addresses[name]) if is_array else np.asarray(value)[()]
        piece = np.frombuffer(number.tobytes(), np.uint8)
        found[start : start + len(piece)] = piece
    return found
