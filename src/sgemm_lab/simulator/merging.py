"""Which shared loads ptxas merges: from the PTX as written to the machine code as compiled.

ptxas joins scalar shared loads of one basic block into 64-bit and 128-bit ones. The rules here
were read off the machine code (``nvdisasm``) of test kernels for sm_90:

* The loads' addresses differ by constants, and no shared store, barrier or other write to shared
  memory stands between them.
* The wide load must be aligned for certain: the analysis below follows the address back through
  the code and counts the zero bits its value must end in.
* Of the four words of an aligned 16-byte piece, three or four make one 128-bit load; otherwise
  two words that fill an aligned 8-byte piece make one 64-bit load.
* Elements narrower than 32 bits, shared stores and global accesses are never merged.

Not seen here: merging across basic blocks after ptxas has removed a branch. Loops that ptxas
unrolls by itself are written out before (see ``unroll``).
"""

from dataclasses import dataclass

from sgemm_lab.simulator.flow import BasicBlock
from sgemm_lab.simulator.memory import NamedArray
from sgemm_lab.simulator.ptx import (
    TYPE_BYTES,
    Address,
    Immediate,
    Instruction,
    Operand,
    Register,
    Symbol,
)
from sgemm_lab.simulator.registers import registers_written

_WORD = 4
# No vector access is wider than 16 bytes, so more than 4 known zero bits are of no use.
_MAX_ZEROS = 4


@dataclass(frozen=True)
class WideLoad:
    """A load in the machine code that stands for one or several in the PTX."""

    offset: int
    """Where it starts, in bytes from the address of the first PTX load it replaces."""
    width: int
    """Bytes per lane."""


Merged = dict[int, tuple[WideLoad, ...]]
"""For each shared load's instruction index, the machine loads issued in its place: one, several,
or none where an earlier PTX load already brings its words."""


@dataclass(frozen=True)
class _Linear:
    """A value as a sum of multiples of unknowns and a constant."""

    terms: frozenset[tuple[object, int]]
    constant: int

    def plus(self, other: "_Linear", sign: int = 1) -> "_Linear":
        total = dict(self.terms)
        for root, factor in other.terms:
            total[root] = total.get(root, 0) + sign * factor
        kept = frozenset((root, factor) for root, factor in total.items() if factor)
        return _Linear(kept, self.constant + sign * other.constant)

    def times(self, factor: int) -> "_Linear":
        if factor == 0:
            return _Linear(frozenset(), 0)
        return _Linear(
            frozenset((root, factor * f) for root, f in self.terms), self.constant * factor
        )


def merge_shared_loads(blocks: list[BasicBlock], shared: list[NamedArray]) -> Merged:
    """Find what ptxas makes of every ``ld.shared`` that no guard stands before."""
    starts = {array.name: array.start for array in shared}
    zeros = {name: _trailing_zeros(start) for name, start in starts.items()}
    zeros |= _known_zeros(blocks, starts)
    once = _written_once(blocks)
    merged: Merged = {}
    for block in blocks:
        addresses = _Addresses(starts, zeros, once)
        candidates: dict[frozenset[tuple[object, int]], list[tuple[int, int, int]]] = {}
        for instruction in block.instructions:
            width = _mergeable_width(instruction)
            operand = instruction.operands[1] if width else None
            if width and isinstance(operand, Address):
                where = addresses.of(operand.base)
                if isinstance(operand.base, Symbol):
                    # No register is involved: the whole address is a known constant.
                    start = starts.get(operand.base.name, 0) + operand.base.offset
                    where = _Linear(frozenset(), start)
                position = where.constant + operand.offset
                candidates.setdefault(where.terms, []).append((instruction.index, position, width))
            elif _writes_shared(instruction):
                _merge(candidates, addresses, merged)
                candidates = {}
            addresses.step(instruction)
        _merge(candidates, addresses, merged)
    return merged


def _mergeable_width(instruction: Instruction) -> int:
    """Bytes per lane of a shared load that may be merged, else 0."""
    parts = instruction.parts
    if parts[0] != "ld" or "volatile" in parts or instruction.guard is not None:
        return 0
    if not parts[1].startswith("shared") or TYPE_BYTES[parts[-1]] != _WORD:
        return 0
    vector = [int(part[1:]) for part in parts if part in ("v2", "v4")]
    return _WORD * (vector[0] if vector else 1)


def _writes_shared(instruction: Instruction) -> bool:
    parts = instruction.parts
    if parts[0] in ("bar", "barrier", "membar", "fence", "cp"):
        return True
    if parts[0] in ("st", "red", "atom"):
        # A store that names no space may go to shared memory.
        return not any(part in ("global", "local") for part in parts)
    return False


def _merge(
    candidates: dict[frozenset[tuple[object, int]], list[tuple[int, int, int]]],
    addresses: "_Addresses",
    merged: Merged,
) -> None:
    for terms, loads in candidates.items():
        unit = 1 << addresses.zeros_of_terms(terms)
        owner: dict[int, tuple[int, int]] = {}
        for index, position, width in loads:
            for word in range(position, position + width, _WORD):
                owner.setdefault(word, (index, position))
        issued: dict[int, list[WideLoad]] = {index: [] for index, _, _ in loads}
        for start, width in _pieces(sorted(owner), unit):
            # The machine load stands where the first of its words is needed.
            words = range(start, start + width, _WORD)
            index, position = min(owner[word] for word in words if word in owner)
            issued[index].append(WideLoad(start - position, width))
        # Loads the programmer already wrote wide are never cut.
        whole = _wide_as_written(loads, unit)
        for index, _, _ in loads:
            merged[index] = whole.get(index, tuple(issued[index]))


def _wide_as_written(
    loads: list[tuple[int, int, int]], unit: int
) -> dict[int, tuple[WideLoad, ...]]:
    """Vector loads whose alignment the analysis cannot prove: the programmer vouches for it."""
    return {
        index: (WideLoad(0, width),)
        for index, position, width in loads
        if width > _WORD and (unit < width or position % width)
    }


def _pieces(words: list[int], unit: int) -> list[tuple[int, int]]:
    """Cut sorted word positions into (start, width) of machine loads, given the alignment."""
    left = set(words)
    pieces = []
    for word in words:
        if word not in left:
            continue
        quad, pair = word // 16 * 16, word // 8 * 8
        in_quad = [w for w in range(quad, quad + 16, _WORD) if w in left]
        if unit >= 16 and len(in_quad) >= 3:
            pieces.append((quad, 16))
            left.difference_update(in_quad)
        elif unit >= 8 and {pair, pair + _WORD} <= left:
            pieces.append((pair, 8))
            left.difference_update((pair, pair + _WORD))
        else:
            pieces.append((word, _WORD))
            left.discard(word)
    return pieces


class _Addresses:
    """Follows the values of registers through one basic block as linear expressions."""

    def __init__(
        self, starts: dict[str, int], zeros: dict[str, int], once: dict[str, Instruction]
    ) -> None:
        self._starts = starts
        self._zeros = zeros
        self._once = once
        self._values: dict[str, _Linear] = {}
        self._writes: dict[str, int] = {}
        self._stable: dict[str, _Linear] = {}

    def of(self, operand: Operand) -> _Linear:
        """The present value of an operand."""
        match operand:
            case Immediate(bits):
                return _Linear(frozenset(), bits)
            case Symbol(name, offset) if name in self._starts:
                # In machine code a register holds the array's start: an unknown like any other.
                return _Linear(frozenset({((name, 0), 1)}), offset)
            case Register(name):
                if name in self._values:
                    return self._values[name]
                return self._stable_value(name)
        return _Linear(frozenset({(operand, 1)}), 0)

    def step(self, instruction: Instruction) -> None:
        """Take in what an instruction writes."""
        expression = _linear(instruction, self)
        for register in registers_written(instruction):
            count = self._writes[register.name] = self._writes.get(register.name, 0) + 1
            opaque = _Linear(frozenset({((register.name, count), 1)}), 0)
            if register.name in self._once:
                opaque = _Linear(frozenset({((register.name, 0), 1)}), 0)
            self._values[register.name] = expression or opaque

    def zeros_of_terms(self, terms: frozenset[tuple[object, int]]) -> int:
        """Zero bits that a sum of terms surely ends in."""
        fewest = _MAX_ZEROS
        for root, factor in terms:
            known = self._zeros.get(root[0], 0) if isinstance(root, tuple) else 0
            fewest = min(fewest, known + _trailing_zeros(factor))
        return fewest

    def _stable_value(self, name: str) -> _Linear:
        """The value of a register from before this block."""
        if name in self._stable:
            return self._stable[name]
        self._stable[name] = value = _Linear(frozenset({((name, 0), 1)}), 0)
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


def _linear(instruction: Instruction, values: _Addresses) -> _Linear | None:
    """What an instruction computes, if that is a linear expression."""
    parts, operands = instruction.parts, instruction.operands
    if instruction.guard is not None or parts[-1] in ("f32", "f64", "pred"):
        return None
    match parts[0], operands:
        case ("mov", (_, Register() | Immediate() | Symbol() as a)):
            return values.of(a)
        case ("cvt" | "cvta", (_, Register() as a)) if TYPE_BYTES.get(parts[-1], 8) >= _WORD:
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
            zeros = min(values.zeros_of_terms(left.terms), _trailing_zeros(left.constant))
            # "or" adds where the bits it sets are known to be zero.
            if 0 <= bits < 1 << zeros:
                return left.plus(_Linear(frozenset(), bits))
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
