"""The ``__constant__`` and ``__device__`` variables of a file, as arrays that a reader can name.

The host sets most of them before it launches, and here no host code runs. So ``--args`` may set
them, after the kernel's own arguments: "mask:in:7" or "width=64".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.arguments import Array, Given, Number, called, value_of
from sgemm_lab.external_cuda.elements import Element
from sgemm_lab.simulator.ptx import ModuleVariable
from sgemm_lab.text import plural


@dataclass(frozen=True)
class Variable:
    """A variable that the kernel uses."""

    name: str
    """As the source names it."""
    symbol: str
    """As the PTX names it."""
    element: Element
    start: npt.NDArray[Any]
    """What it holds before the launch, as it lies in memory."""
    array: Array
    """How ``--args`` would give it."""
    note: str = ""
    """What was assumed of it, in a sentence."""


def variables_of(
    used: Sequence[ModuleVariable],
    elements: Mapping[str, Element | None],
    given: Sequence[Given],
    names: Mapping[str, int],
) -> tuple[Variable, ...]:
    """Return the variables of numbers that a kernel uses, with what they start with.

    Args:
        used: those of the PTX.
        elements: what they hold, by their names there.
        given: what ``--args`` says after the kernel's own arguments.
        names: values of names in it.

    Raises:
        LabError: ``given`` names none of them, or does not fit.
    """
    found = []
    left = {called(one): one for one in given}
    for one in used:
        name = source_name(one.name)
        element = elements[one.name]
        if element is None or one.bytes % element.stored.itemsize:
            continue
        found.append(_variable(name, one, element, left.pop(name, None), names))
    if left:
        raise LabError(_unknown(next(iter(left.values())), [v.name for v in found]))
    return tuple(found)


def _unknown(given: Given, known: Sequence[str]) -> str:
    text = f"--args gives {given} after all that the kernel takes."
    if known:
        return text + f" There it may set the variables of the file: {', '.join(known)}."
    return text + " The kernel uses no variable of the file that it could set."


def _variable(
    name: str,
    one: ModuleVariable,
    element: Element,
    given: Given | None,
    names: Mapping[str, int],
) -> Variable:
    count = one.bytes // element.stored.itemsize
    use = "in" if one.constant else "inout"
    array = Array(name, use, str(count))  # type: ignore[arg-type]
    start = one.start.view(element.stored)
    if isinstance(given, Number):
        value = value_of(given, names)
        return Variable(name, one.name, element, element.pack(np.full(count, value, "f8")), array)
    if given is not None:
        return Variable(name, one.name, element, start, _fitting(given, array, one, element))
    note = ""
    if one.constant and not one.is_set and not element.whole:
        return Variable(name, one.name, element, start, array, _filled_note(name, count))
    if not one.is_set and one.constant:
        note = (
            f"{name} holds zeros, as only host code sets it. Set it after the kernel's "
            f"arguments: --args '… {name}=64'."
        )
    return Variable(name, one.name, element, start, array, note)


def _filled_note(name: str, count: int) -> str:
    return (
        f"{name} holds small whole numbers, as only host code sets it. To set it yourself, write "
        f"--args '… {name}:in:{name}.npy', a file of {plural(count, 'number')}."
    )


def _fitting(given: Given, array: Array, one: ModuleVariable, element: Element) -> Array:
    count = one.bytes // element.stored.itemsize
    if not isinstance(given, Array):
        raise LabError(f"'{given}' sets no variable. Write it like {array}.")
    if not given.size.endswith(".npy") and given.size != str(count):
        raise LabError(f"{given.name} has {count:,} elements, but --args gives {given}.")
    return given


def is_filled(variable: Variable) -> bool:
    """Say whether a variable starts with small whole numbers, as arrays do that are read."""
    return variable.note.startswith(f"{variable.name} holds small")


def source_name(symbol: str) -> str:
    """Return the name that a symbol has in the source: "mask" of ``_ZN3box4maskE``."""
    if not symbol.startswith("_Z"):
        return symbol
    rest, name = re.sub(r"^_ZN?K?L?", "", symbol), symbol
    while match := re.match(r"(\d+)", rest):
        length = int(match[1])
        name = rest[match.end() : match.end() + length]
        rest = rest[match.end() + length :]
    return name
