"""Gather independent fused multiply-adds so that NumPy runs many of them in one call.

A register-tiled kernel spends its time in long runs of ``fma.rn.f32``. They touch registers
only, so one may be put off until another instruction needs its result, or overwrites what it
reads or writes.
"""

from collections.abc import Iterable

from sgemm_lab.simulator.operands import registers_read, registers_written
from sgemm_lab.simulator.ptx import Instruction, Register

Bundle = tuple[Instruction, ...]


def bundles(instructions: Iterable[Instruction]) -> list[Bundle]:
    """Order the instructions of a basic block into bundles that give the same results.

    A bundle of several holds only independent ``fma.rn.f32`` on registers; every other
    instruction stands alone, in its old order.
    """
    ordered: list[Bundle] = []
    waiting: list[Instruction] = []
    reads: set[Register] = set()
    writes: set[Register] = set()

    def run_waiting() -> None:
        if waiting:
            ordered.append(tuple(waiting))
        waiting.clear()
        reads.clear()
        writes.clear()

    for instruction in instructions:
        needs, gives = set(registers_read(instruction)), set(registers_written(instruction))
        if needs & writes or gives & (reads | writes):
            run_waiting()
        if _can_wait(instruction):
            waiting.append(instruction)
            reads |= needs
            writes |= gives
        else:
            ordered.append((instruction,))
    run_waiting()
    return ordered


def _can_wait(instruction: Instruction) -> bool:
    return (
        instruction.opcode == "fma.rn.f32"
        and instruction.guard is None
        and all(isinstance(operand, Register) for operand in instruction.operands)
    )
