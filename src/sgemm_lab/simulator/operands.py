"""Which registers an instruction reads and which it writes."""

from functools import lru_cache

from sgemm_lab.simulator.ptx import (
    Address,
    Guard,
    Instruction,
    Negated,
    Operand,
    Pair,
    PtxKernel,
    Register,
    Vector,
)


def items_of(operand: Operand) -> tuple[Operand, ...]:
    """The items of a vector, or an operand that is none alone."""
    return operand.items if isinstance(operand, Vector) else (operand,)


def registers_of(operand: Operand | Guard) -> list[Register]:
    """Every register an operand mentions."""
    match operand:
        case Register():
            return [operand]
        case Vector(items):
            return [register for item in items for register in registers_of(item)]
        case Pair(first, second):
            return [first, second]
        case Negated(register) | Guard(register):
            return [register]
        case Address(base=Register() as base):
            return [base]
    return []


_NO_DESTINATION = (
    "st", "sust", "red", "bar", "barrier", "cp", "membar", "fence", "bra", "ret", "exit",
    "setmaxnreg",
)  # fmt: skip


def _has_destination(instruction: Instruction) -> bool:
    first = next(iter(instruction.operands), None)
    return instruction.parts[0] not in _NO_DESTINATION and not isinstance(first, Address | None)


def registers_written(instruction: Instruction) -> list[Register]:
    """Registers an instruction gives a value."""
    return registers_of(instruction.operands[0]) if _has_destination(instruction) else []


def registers_read(instruction: Instruction) -> list[Register]:
    """Registers an instruction needs, its guard included."""
    start = 1 if _has_destination(instruction) else 0
    sources: list[Operand | Guard] = list(instruction.operands[start:])
    if instruction.guard is not None:
        sources.append(instruction.guard)
    return [register for source in sources for register in registers_of(source)]


@lru_cache(maxsize=32)
def read_somewhere(kernel: PtxKernel) -> frozenset[str]:
    """Names of the registers that some instruction of a kernel reads."""
    return frozenset(
        register.name
        for instruction in kernel.instructions
        for register in registers_read(instruction)
    )
