"""The arrays that a kernel keeps in shared memory, read from its source."""

import re
from math import prod

from sgemm_lab.counting.sentences import sentence
from sgemm_lab.errors import LabError
from sgemm_lab.expression import UnreadableError, whole_number
from sgemm_lab.kernel import Kernel

SharedPart = tuple[str, int, int]
"""An array inside dynamic shared memory: its name, its first byte there, and its bytes."""

_DECLARED = re.compile(r"__shared__ (?:__align__\(\d+\) )?float (\w+)((?:\[[^\]]+\])+)")
_PLACED = re.compile(
    r"auto& (\w+) = \*reinterpret_cast<float\(\*\)((?:\[[^\]]+\])+)>\(shared(?: \+ (.+))?\);"
)
_FLOAT = 4


def shared_shapes(kernel: Kernel) -> dict[str, list[int]]:
    """Return the shape of each array in shared memory, such as [8, 132] for ``As[BK][BM + PAD]``.

    An array whose size the launch decides is left out.

    Raises:
        LabError: a side of an array is no arithmetic over the kernel's constants.
    """
    found = [*_DECLARED.findall(kernel.source)]
    found += [(name, sides) for name, sides, _ in _PLACED.findall(kernel.source)]
    return {name: _shape(kernel, name, sides) for name, sides in found}


def shared_parts(kernel: Kernel) -> tuple[SharedPart, ...]:
    """Return the arrays that a kernel places in its dynamic shared memory.

    They stand in the source as ``auto& As = *reinterpret_cast<float(*)[BK][BM]>(shared + …);``.

    Raises:
        LabError: a side or a place is no arithmetic over the kernel's constants.
    """
    return tuple(
        (
            name,
            _FLOAT * _number(kernel, offset or "0", f"shared + {offset}"),
            _FLOAT * prod(_shape(kernel, name, sides)),
        )
        for name, sides, offset in _PLACED.findall(kernel.source)
    )


def _shape(kernel: Kernel, name: str, sides: str) -> list[int]:
    return [_number(kernel, side, f"{name}{sides}") for side in re.findall(r"\[([^\]]+)\]", sides)]


def _number(kernel: Kernel, text: str, where: str) -> int:
    try:
        return whole_number(text, kernel.computed_constants, floor=True)
    except UnreadableError:
        raise LabError(sentence("shared.shape", where=where, kernel=kernel.name)) from None
