"""Registers that are read before anything wrote them: variables without a first value.

The compiler gives such a variable a register, and on some path to a read of it nothing writes
that. What it holds then is chance. Here it holds a mark, a number that no computation makes, so
that a result that depends on it is wrong at every run, and a read of it can be reported.

A compiler also makes such reads by itself, where the result is not used afterwards. So a read is
a warning; whether it does harm is seen in the results.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sgemm_lab.simulator.control_flow import BasicBlock
from sgemm_lab.simulator.operands import registers_read, registers_written
from sgemm_lab.simulator.ptx import Instruction, PtxKernel, Register
from sgemm_lab.simulator.registers import Mask, RegisterFile

_MARKS = {2: 0x7DAD, 4: 0x7FB0DEAD, 8: 0x7FF4DEAD7FB0DEAD}
"""By bytes of a register: signalling NaNs, which no arithmetic returns."""

_COPIES = ("mov", "selp")
"""What hands a value on without using it."""

UnsetReads = Mapping[int, tuple[Register, ...]]
"""By index of an instruction: registers that it uses and that may have no value there."""


def unset_reads(kernel: PtxKernel, blocks: Sequence[BasicBlock]) -> UnsetReads:
    """Find the instructions that use a register which on some path nothing has written.

    What a guarded instruction writes counts as written: its guard mostly stands before the reads
    too. Predicates are left out, for they have room for no mark.
    """
    names = {
        register.name: 0
        for instruction in kernel.instructions
        for register in (*registers_read(instruction), *registers_written(instruction))
        if register.name != "_" and kernel.register_type(register.name) != "pred"
    }
    bits = {name: 1 << number for number, name in enumerate(names)}
    uses = [[_Uses(one, bits) for one in block.instructions] for block in blocks]
    written = [(1 << len(bits)) - 1] * len(blocks)
    waiting = {0} if blocks else set()
    if blocks:
        written[0] = 0
    while waiting:
        number = min(waiting)
        waiting.remove(number)
        known = written[number]
        for use in uses[number]:
            known = use.after(known)
        for successor in blocks[number].successors:
            if written[successor] & known != written[successor]:
                written[successor] &= known
                waiting.add(successor)
    found: dict[int, tuple[Register, ...]] = {}
    for block in blocks:
        known = written[block.number]
        for instruction, use in zip(block.instructions, uses[block.number], strict=True):
            if use.reads & ~known and not use.copies:
                reads = dict.fromkeys(registers_read(instruction))
                found[instruction.index] = tuple(r for r in reads if bits.get(r.name, 0) & ~known)
            known = use.after(known)
    return found


class _Uses:
    """What an instruction does with registers, as bits."""

    def __init__(self, instruction: Instruction, bits: dict[str, int]) -> None:
        self.reads = sum({bits.get(r.name, 0) for r in registers_read(instruction)})
        self.writes = sum({bits.get(r.name, 0) for r in registers_written(instruction)})
        self.copies = instruction.parts[0] in _COPIES

    def after(self, known: int) -> int:
        """Return which registers have a value behind it; a copy of none has none."""
        if self.copies and self.reads & ~known:
            return known & ~self.writes
        return known | self.writes


def mark(registers: RegisterFile, unset: UnsetReads) -> None:
    """Put the marks into all registers that may be read before they are written."""
    for register in dict.fromkeys(r for reads in unset.values() for r in reads):
        row = registers.whole(register, signed=False)
        row[:] = _MARKS[row.dtype.itemsize]


def marked(registers: RegisterFile, reads: tuple[Register, ...], mask: Mask | None) -> Mask:
    """Return the lanes of a mask in which one of some registers still holds its mark."""
    found = np.zeros(registers.lanes, dtype=np.bool_)
    for register in reads:
        row = registers.whole(register, signed=False)
        found |= row == _MARKS[row.dtype.itemsize]
    return found if mask is None else found & mask
