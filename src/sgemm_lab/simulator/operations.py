"""How an instruction becomes a Python function that runs it for a group of threads.

Each module of operations lists ``(pattern, binder)`` pairs. The pattern matches whole opcodes;
the binder looks up the registers once and returns a step that runs the instruction.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator.operands import registers_of
from sgemm_lab.simulator.ptx import Instruction, Register
from sgemm_lab.simulator.registers import Array, Mask, numpy_type, source

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

Step = Callable[[Mask | None], None]
"""Runs an instruction in the lanes of a mask; None stands for all lanes."""

Match = re.Match[str]
"""What a pattern found in an opcode."""

Binder = Callable[["ThreadGroup", Instruction, Match], Step]
Operations = list[tuple[str, Binder]]


def value(group: "ThreadGroup", instruction: Instruction, position: int, type_: str) -> Any:
    """What the operand at a position reads, as the NumPy type of a PTX type."""
    operand = instruction.operands[position]
    return source(group.registers, group.symbols, operand, numpy_type(type_))


def destination(group: "ThreadGroup", instruction: Instruction, type_: str) -> Array:
    """The register an instruction writes, as the NumPy type of a PTX type."""
    register = instruction.operands[0]
    assert isinstance(register, Register)
    return group.registers.view(register, numpy_type(type_))


def destinations(
    group: "ThreadGroup", instruction: Instruction, type_: npt.DTypeLike
) -> list[Array]:
    """All registers of the operand that an instruction writes, as a NumPy type."""
    written = registers_of(instruction.operands[0])
    return [group.registers.view(register, np.dtype(type_)) for register in written]


def nothing(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """An instruction that changes nothing here.

    ``setmaxnreg`` is such: registers are not short. And so are hints to caches.
    """
    return lambda mask: None


def elementwise(group: "ThreadGroup", target: Array, compute: Callable[[Array], Any]) -> Step:
    """A step that lets ``compute`` fill an array of one value per lane, then keeps active ones.

    ``compute`` gets the array to fill, which may be one of its own inputs.
    """
    scratch = group.registers.scratch(target.dtype)

    def step(mask: Mask | None) -> None:
        if mask is None:
            compute(target)
        else:
            compute(scratch)
            np.copyto(target, scratch, where=mask)

    return step


def assignment(target: Array, compute: Callable[[], Any]) -> Step:
    """A step that assigns what ``compute`` returns, converting to the target's type."""

    def step(mask: Mask | None) -> None:
        result = compute()
        if mask is None:
            np.copyto(target, result, casting="unsafe")
        else:
            np.copyto(target, result, casting="unsafe", where=mask)

    return step
