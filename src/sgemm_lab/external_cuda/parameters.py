"""The parameters of a compiled kernel, as the source declares them: see ``structs.ts``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgemm_lab.external_cuda.arguments import Given, read_arguments
from sgemm_lab.external_cuda.compile_file import Opened
from sgemm_lab.external_cuda.elements import Element
from sgemm_lab.external_cuda.module_variables import source_name


@dataclass(frozen=True)
class Parameter:
    """A parameter, or a field of a struct that is one."""

    name: str
    type: str
    """The type without qualifiers and its star: "float", "unsigned int", "half", "T", "int*"."""
    pointer: bool
    constant: bool
    """Whether what it points to may not be written."""
    element: Element | None
    """What it holds or points to, where that is known."""
    image: str
    """Whether it is a "texture" or a "surface"; "" where it is none."""
    offset: int
    """Bytes from the start of the struct."""
    suggested: str
    """An argument that a reader may start from, as ``--args`` has it."""

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number."""
        return not self.pointer and self.element is not None and self.element.whole

    def __str__(self) -> str:
        const = "const " if self.pointer and self.constant else ""
        return f"{const}{self.type}{'*' * self.pointer} {self.name}".strip()


@dataclass(frozen=True)
class Slot:
    """One parameter of the compiled kernel, and what ``--args`` gives for it."""

    parts: tuple[Parameter, ...]
    struct_bytes: int
    """0 where it is no struct."""


@dataclass(frozen=True)
class Signature:
    """What a kernel takes."""

    slots: tuple[Slot, ...]
    product: tuple[Given, ...] | None
    """The arguments by names and types; None if it does not look like a matrix product."""
    by_columns: tuple[Given, ...] | None
    """The same with matrices that lie by columns."""
    is_named_product: bool
    """Whether names, not types alone, say that it multiplies matrices."""
    variables: Mapping[str, Element | None]
    """What the variables of the file that it uses hold, by the name in the PTX."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters that take one argument each; structs are replaced by their fields."""
        return tuple(part for slot in self.slots for part in slot.parts)


def signature_of(opened: Opened) -> Signature:
    """Take the parameters of a kernel apart.

    Raises:
        LabError: a struct cannot be taken apart.
    """
    symbols = [variable.name for variable in opened.compiled.variables]
    found = opened.ask("parameters", variables=[source_name(symbol) for symbol in symbols])
    suggested = iter(found["suggested"])

    def parameter(one: Mapping[str, Any]) -> Parameter:
        return Parameter(
            one["name"], one["type"], one["pointer"], one["constant"], _element(one["element"]),
            one["image"], one["offset"], next(suggested),
        )  # fmt: skip

    product, by_columns = (
        None if text is None else read_arguments(text)
        for text in (found["product"], found["byColumns"])
    )
    return Signature(
        tuple(
            Slot(tuple(map(parameter, slot["fields"])), slot["structBytes"])
            for slot in found["slots"]
        ),
        product,
        by_columns,
        found["isNamedProduct"],
        dict(zip(symbols, map(_element, found["variables"]), strict=True)),
    )


def _element(found: Mapping[str, Any] | None) -> Element | None:
    if found is None:
        return None
    return Element(found["name"], np.dtype(found["stored"]), found["lanes"])
