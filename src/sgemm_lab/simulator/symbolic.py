"""What is known of an address without running the kernel: a sum of unknowns, and zero bits.

ptxas merges shared accesses only where it can prove how their addresses differ and how they are
aligned. This follows the registers of a kernel's PTX to prove the same.
"""

from dataclasses import dataclass

from sgemm_lab.hardware import WORD_BYTES
from sgemm_lab.simulator.control_flow import BasicBlock
from sgemm_lab.simulator.memory import NamedArray
from sgemm_lab.simulator.operands import registers_written
from sgemm_lab.simulator.ptx import (
    TYPE_BYTES,
    Address,
    Immediate,
    Instruction,
    Operand,
    Register,
    Symbol,
)

# No vector access is wider than 16 bytes, so more than 4 known zero bits are of no use.
_MAX_ZEROS = 4
# Narrower conversions change the value.

Terms = frozenset[tuple[object, int]]
"""A sum of multiples of unknowns: (unknown, factor) pairs."""


@dataclass(frozen=True)
class Linear:
    """A value as a sum of multiples of unknowns and a constant."""

    terms: Terms
    constant: int

    def plus(self, other: "Linear", sign: int = 1) -> "Linear":
        """Add ``sign`` times another value."""
        total = dict(self.terms)
        for root, factor in other.terms:
            total[root] = total.get(root, 0) + sign * factor
        kept = frozenset((root, factor) for root, factor in total.items() if factor)
        return Linear(kept, self.constant + sign * other.constant)

    def times(self, factor: int) -> "Linear":
        """Multiply by a whole number."""
        if factor == 0:
            return Linear(frozenset(), 0)
        return Linear(
            frozenset((root, factor * f) for root, f in self.terms), self.constant * factor
        )


class Knowledge:
    """What holds in the whole kernel: where arrays start, what is aligned, what is set once."""

    def __init__(self, blocks: list[BasicBlock], shared: list[NamedArray]) -> None:
        self.starts = {array.name: array.start for array in shared}
        zeros = {name: _trailing_zeros(start) for name, start in self.starts.items()}
        self.zeros = zeros | _known_zeros(blocks, self.starts)
        self.once = _written_once(blocks)


class BlockValues:
    """Follows the values of registers through one basic block as linear expressions."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._starts = knowledge.starts
        self._zeros = knowledge.zeros
        self._once = knowledge.once
        self._values: dict[str, Linear] = {}
        self._writes: dict[str, int] = {}
        self._stable: dict[str, Linear] = {}

    def place(self, address: Address) -> Linear:
        """The byte address that a memory operand stands for."""
        where = self.of(address.base)
        if isinstance(address.base, Symbol):
            # No register is involved: the whole address is a known constant.
            start = self._starts.get(address.base.name, 0) + address.base.offset
            where = Linear(frozenset(), start)
        return Linear(where.terms, where.constant + address.offset)

    def alignment(self, terms: Terms) -> int:
        """A power of two in bytes, at most 16, that a sum of terms is surely a multiple of."""
        return 1 << self._zeros_of_terms(terms)

    def of(self, operand: Operand) -> Linear:
        """The present value of an operand."""
        match operand:
            case Immediate(bits):
                return Linear(frozenset(), bits)
            case Symbol(name, offset) if name in self._starts:
                # In machine code a register holds the array's start: an unknown like any other.
                return Linear(frozenset({((name, 0), 1)}), offset)
            case Register(name):
                if name in self._values:
                    return self._values[name]
                return self._stable_value(name)
        return Linear(frozenset({(operand, 1)}), 0)

    def step(self, instruction: Instruction) -> None:
        """Take in what an instruction writes."""
        expression = _linear(instruction, self)
        for register in registers_written(instruction):
            count = self._writes[register.name] = self._writes.get(register.name, 0) + 1
            opaque = Linear(frozenset({((register.name, count), 1)}), 0)
            if register.name in self._once:
                opaque = Linear(frozenset({((register.name, 0), 1)}), 0)
            self._values[register.name] = expression or opaque

    def _zeros_of_terms(self, terms: Terms) -> int:
        """Zero bits that a sum of terms surely ends in."""
        fewest = _MAX_ZEROS
        for root, factor in terms:
            known = self._zeros.get(root[0], 0) if isinstance(root, tuple) else 0
            fewest = min(fewest, known + _trailing_zeros(factor))
        return fewest

    def _stable_value(self, name: str) -> Linear:
        """The value of a register from before this block."""
        if name in self._stable:
            return self._stable[name]
        self._stable[name] = value = Linear(frozenset({((name, 0), 1)}), 0)
        writer = self._once.get(name)
        if writer is not None and all(
            operand.name in self._once
            for operand in writer.operands
            if isinstance(operand, Register)
        ):
            # All that goes into it is written once, so it can be computed from the roots.
            value = _linear(writer, self) or value
        self._stable[name] = value
        return value


def _linear(instruction: Instruction, values: BlockValues) -> Linear | None:
    """What an instruction computes, if that is a linear expression."""
    parts, operands = instruction.parts, instruction.operands
    if instruction.guard is not None or parts[-1] in ("f32", "f64", "pred"):
        return None
    match parts[0], operands:
        case ("mov", (_, Register() | Immediate() | Symbol() as a)):
            return values.of(a)
        case ("cvt" | "cvta", (_, Register() as a)) if TYPE_BYTES.get(parts[-1], 8) >= WORD_BYTES:
            return values.of(a)
        case ("add", (_, a, b)):
            return values.of(a).plus(values.of(b))
        case ("sub", (_, a, b)):
            return values.of(a).plus(values.of(b), -1)
        case ("shl", (_, a, Immediate(bits))):
            return values.of(a).times(1 << bits)
        case ("mul", (_, a, Immediate(bits))) if "hi" not in parts:
            return values.of(a).times(bits)
        case ("mad", (_, a, Immediate(bits), c)) if "hi" not in parts:
            return values.of(a).times(bits).plus(values.of(c))
        case ("or", (_, a, Immediate(bits))):
            left = values.of(a)
            zeros = min(
                _trailing_zeros(values.alignment(left.terms)), _trailing_zeros(left.constant)
            )
            # "or" adds where the bits it sets are known to be zero.
            if 0 <= bits < 1 << zeros:
                return left.plus(Linear(frozenset(), bits))
    return None


def _trailing_zeros(value: int) -> int:
    return _MAX_ZEROS if value == 0 else min(_MAX_ZEROS, (value & -value).bit_length() - 1)


def _written_once(blocks: list[BasicBlock]) -> dict[str, Instruction]:
    writers: dict[str, list[Instruction]] = {}
    for block in blocks:
        for instruction in block.instructions:
            for register in registers_written(instruction):
                writers.setdefault(register.name, []).append(instruction)
    return {name: found[0] for name, found in writers.items() if len(found) == 1}


def _known_zeros(blocks: list[BasicBlock], starts: dict[str, int]) -> dict[str, int]:
    """For each register, how many zero bits its value always ends in.

    Starts from the best and lowers it until every instruction agrees.
    """
    zeros: dict[str, int] = {}
    instructions = [instruction for block in blocks for instruction in block.instructions]
    changed = True
    while changed:
        changed = False
        for instruction in instructions:
            found = _zeros_written(instruction, zeros, starts)
            for register in registers_written(instruction):
                if found < zeros.get(register.name, _MAX_ZEROS + 1):
                    zeros[register.name] = found
                    changed = True
    return zeros


def _zeros_written(instruction: Instruction, zeros: dict[str, int], starts: dict[str, int]) -> int:
    def of(operand: Operand) -> int:
        match operand:
            case Register(name):
                return zeros.get(name, _MAX_ZEROS)
            case Immediate(bits):
                return _trailing_zeros(bits)
            case Symbol(name, offset) if name in starts:
                return _trailing_zeros(starts[name] + offset)
        return 0

    parts, operands = instruction.parts, instruction.operands
    found = 0
    if parts[-1] not in ("f32", "f64", "pred"):
        match parts[0], operands:
            case ("mov" | "cvt" | "cvta" | "neg", (_, a)):
                found = of(a)
            case ("add" | "sub" | "or" | "xor" | "min" | "max", (_, a, b)):
                found = min(of(a), of(b))
            case ("selp", (_, a, b, _)):
                found = min(of(a), of(b))
            case ("and", (_, a, b)):
                found = max(of(a), of(b))
            case ("mul", (_, a, b)) if "hi" not in parts:
                found = of(a) + of(b)
            case ("mad", (_, a, b, c)) if "hi" not in parts:
                found = min(of(a) + of(b), of(c))
            case ("shl", (_, a, Immediate(bits))):
                found = of(a) + bits
            case ("shl", (_, a, _)):
                found = of(a)
            case ("shr", (_, a, Immediate(bits))):
                found = max(0, of(a) - bits) if of(a) < _MAX_ZEROS else 0
    return min(found, _MAX_ZEROS)
