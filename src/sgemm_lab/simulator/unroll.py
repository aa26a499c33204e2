"""Unroll the short loops that ptxas unrolls, so that loads of neighbouring turns can merge.

NVRTC leaves some loops with a fixed number of turns in the PTX, and ptxas then unrolls them. Once
unrolled, loads of several turns become neighbours and merge into wide ones. Results do not
change. How long a loop ptxas unrolls is not documented: ``LONGEST`` is an estimate from machine
code, right for loops well below and well above it. ``#pragma unroll`` in the source leaves no
doubt: then the PTX has no loop.
"""

import operator
from collections.abc import Callable
from dataclasses import replace

from sgemm_lab.simulator.control_flow import BasicBlock, basic_blocks
from sgemm_lab.simulator.operands import registers_read, registers_written
from sgemm_lab.simulator.ptx import Immediate, Instruction, Operand, PtxKernel, Register

LONGEST = 450
"""PTX instructions of all turns together, up to which a loop is unrolled."""

_MOST_TURNS = 64
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def unroll_short_loops(kernel: PtxKernel) -> PtxKernel:
    """Return the kernel with its short loops of one basic block written out."""
    blocks = basic_blocks(kernel)
    copies: dict[int, list[Instruction]] = {}
    for block in blocks:
        start = _counter_start(block, blocks)
        if start is None or not block.instructions:
            continue
        turns = _turns(block, start)
        first = block.instructions[0].index
        length = turns * (len(block.instructions) + 1)
        if turns > 1 and length <= LONGEST and first not in kernel.not_unrolled:
            starts = _start_values(block, blocks[block.number - 1])
            copies[first] = [*starts, *block.instructions * turns]
    if not copies:
        return kernel
    return _rewritten(
        kernel, copies, {b.instructions[0].index: b for b in blocks if b.instructions}
    )


def _rewritten(
    kernel: PtxKernel, copies: dict[int, list[Instruction]], blocks: dict[int, BasicBlock]
) -> PtxKernel:
    instructions: list[Instruction] = []
    moved: dict[int, int] = {}
    index = 0
    while index < len(kernel.instructions):
        moved[index] = len(instructions)
        if index in copies:
            instructions += copies[index]
            # The loop's instructions and its branch are replaced.
            index += len(blocks[index].instructions) + 1
        else:
            instructions.append(kernel.instructions[index])
            index += 1
    moved[len(kernel.instructions)] = len(instructions)
    return replace(
        kernel,
        instructions=[replace(old, index=new) for new, old in enumerate(instructions)],
        labels={label: moved[at] for label, at in kernel.labels.items()},
        not_unrolled={moved[at] for at in kernel.not_unrolled if at in moved},
    )


def _counter_start(block: BasicBlock, blocks: list[BasicBlock]) -> Instruction | None:
    """For a loop of one block: the ``mov`` before it that sets its counter to a constant."""
    end = block.terminator
    if end is None or end.guard is None or block.target != block.number or block.number == 0:
        return None
    enters = [
        other.number
        for other in blocks
        if other is not block
        and (
            (other.terminator is not None and other.target == block.number)
            or (other.fall_through == block.number and _falls_through(other))
        )
    ]
    counter = _counter(block)
    if enters != [block.number - 1] or counter is None:
        return None
    for instruction in reversed(blocks[block.number - 1].instructions):
        if counter in registers_written(instruction):
            is_constant = instruction.parts[0] == "mov" and instruction.guard is None
            return instruction if is_constant and _is_immediate(instruction, 1) else None
    return None


def _start_values(block: BasicBlock, before: BasicBlock) -> list[Instruction]:
    """Instructions before a loop that set what it changes, to be said again inside.

    Standing in the same basic block as the turns, they let the addresses of every turn be known.
    Running them twice changes nothing: none reads what it or a later one writes.
    """
    changed = {register for i in block.instructions for register in registers_written(i)}
    later: set[Register] = set()
    chosen: list[Instruction] = []
    for instruction in reversed(before.instructions):
        written = set(registers_written(instruction))
        again = instruction.parts[0] in ("mov", "add") and instruction.guard is None
        if again and written <= changed - later:
            reads = set(registers_read(instruction))
            if not reads & (written | later | changed):
                chosen.insert(0, instruction)
        later |= written
    return chosen


def _falls_through(block: BasicBlock) -> bool:
    return block.terminator is None or block.terminator.guard is not None


def _is_immediate(instruction: Instruction, position: int) -> bool:
    return isinstance(instruction.operands[position], Immediate)


def _last_writer(block: BasicBlock, register: Operand) -> Instruction | None:
    """The only instruction of a block that writes a register."""
    writers = [i for i in block.instructions if register in registers_written(i)]
    return writers[0] if len(writers) == 1 and writers[0].guard is None else None


def _counter(block: BasicBlock) -> Register | None:
    """The register that the loop's condition compares with a constant."""
    assert block.terminator is not None
    assert block.terminator.guard is not None
    compare = _last_writer(block, block.terminator.guard.register)
    if compare is None or compare.parts[0] != "setp" or compare.parts[1] not in _COMPARE:
        return None
    counter = compare.operands[1]
    if len(compare.parts) != 3 or not isinstance(counter, Register):
        return None
    step = _last_writer(block, counter)
    if step is None or step.parts[0] != "add" or step.operands[1] != counter:
        return None
    known = _is_immediate(compare, 2) and _is_immediate(step, 2) and step.index < compare.index
    return counter if known else None


def _turns(block: BasicBlock, start: Instruction) -> int:
    """How often the loop runs; 0 where that is more than anyone would unroll."""
    assert block.terminator is not None
    assert block.terminator.guard is not None
    guard = block.terminator.guard
    compare = _last_writer(block, guard.register)
    counter = start.operands[0]
    step = _last_writer(block, counter)
    assert compare is not None
    assert step is not None
    value, by, limit = (
        operand.bits if isinstance(operand, Immediate) else 0
        for operand in (start.operands[1], step.operands[2], compare.operands[2])
    )
    for turn in range(1, _MOST_TURNS + 1):
        value += by
        if _COMPARE[compare.parts[1]](value, limit) == guard.negated:
            return turn
    return 0
