"""Run the blocks of a launch: control flow, divergence, barriers and schedules.

A group of threads runs in lockstep under a mask. Where its threads part at a branch, both sides
run one after the other, and they join again at the branch's immediate post-dominator, as the
hardware's convergence barriers make them do.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.simulator import arithmetic, memory_operations, tensor_operations, warp_operations
from sgemm_lab.simulator.bundles import Bundle, bundles
from sgemm_lab.simulator.flow import END, BasicBlock, basic_blocks
from sgemm_lab.simulator.fma import fma32
from sgemm_lab.simulator.group import BlockBatch, Launch, ThreadGroup
from sgemm_lab.simulator.operations import Binder, Step
from sgemm_lab.simulator.ptx import Guard, Instruction, PtxError, PtxKernel, Register
from sgemm_lab.simulator.registers import Mask, registers_of
from sgemm_lab.simulator.tally import Tally

_OPERATIONS = [
    (re.compile(pattern), binder)
    for module in (arithmetic, memory_operations, warp_operations, tensor_operations)
    for pattern, binder in module.OPERATIONS
]
_BARRIER = re.compile(r"bar\.sync|barrier\.sync(?:\.aligned)?|bar\.cta\.sync")
_BRANCH = re.compile(r"bra(?:\.uni)?|ret|exit")

# Lanes that run side by side. Too few and Python's own time shows, too many and the registers
# no longer fit the processor's cache.
_REGISTER_BYTES = 6 << 20
_MIN_LANES, _MAX_LANES = 1024, 16384
# Elements of one NumPy call on a bundle of fused multiply-adds.
_BUNDLE_ELEMENTS = 1 << 16


@lru_cache(maxsize=4096)
def _operation(opcode: str) -> tuple[Binder, "re.Match[str]"] | None:
    for pattern, binder in _OPERATIONS:
        match = pattern.fullmatch(opcode)
        if match is not None:
            return binder, match
    return None


def check_opcodes(kernel: PtxKernel) -> None:
    """Refuse a kernel that uses an instruction the simulator does not know.

    Raises:
        PtxError: names the opcode and its source line.
    """
    for instruction in kernel.instructions:
        opcode = instruction.opcode
        if _BARRIER.fullmatch(opcode):
            if len(instruction.operands) > 1:
                raise PtxError(
                    f"A barrier for some threads of a block ('{opcode}' with a thread count) at "
                    f"{instruction.location} is not simulated. Use __syncthreads()."
                )
        elif not _BRANCH.fullmatch(opcode) and _operation(opcode) is None:
            raise PtxError(
                f"The simulator does not know the instruction '{opcode}' at "
                f"{instruction.location}. Write that line in another way, or run on a GPU."
            )


@dataclass(eq=False)
class _Segment:
    """Steps up to a barrier, or to the end of a basic block."""

    steps: list[Step]
    barrier: Instruction | None
    guard: "Callable[[Mask | None], Mask] | None"


@dataclass(eq=False)
class _Frame:
    """Threads on their way to a block where they will meet others."""

    block: int
    reconvergence: int
    mask: Mask


@dataclass(frozen=True, eq=False)
class Arrival:
    """Some threads of a group wait at a barrier."""

    barrier: Instruction
    mask: Mask


class EndlessLoopError(LabError):
    """A kernel that ran on and on. The message says where it was."""

    def __init__(self, block: BasicBlock) -> None:
        places = [instruction.location for instruction in (*block.instructions, block.terminator)
                  if instruction is not None and instruction.location.line]  # fmt: skip
        where = f", now at {places[0]}" if places else ""
        super().__init__(
            f"The kernel does not come to an end{where}. Look at the loop around that line: does "
            "its condition ever become false?"
        )


class Program:
    """A group of threads with every instruction bound to its registers, ready to run."""

    def __init__(self, group: ThreadGroup, blocks: list[BasicBlock], tally: Tally) -> None:
        self.group = group
        self._blocks = blocks
        self._tally = tally
        # Blocks are bound when they first run: many never do.
        self._segments: list[list[_Segment] | None] = [None] * len(blocks)
        self._conditions = [
            None
            if block.terminator is None or block.terminator.guard is None
            else _condition(group, block.terminator.guard)
            for block in blocks
        ]

    def _segments_of(self, block: BasicBlock) -> list[_Segment]:
        segments = []
        start = 0
        for position, instruction in enumerate(block.instructions):
            if _BARRIER.fullmatch(instruction.opcode):
                guard = None
                if instruction.guard is not None:
                    guard = _condition(self.group, instruction.guard)
                steps = self._steps(block.instructions[start:position])
                segments.append(_Segment(steps, instruction, guard))
                start = position + 1
        segments.append(_Segment(self._steps(block.instructions[start:]), None, None))
        return segments

    def _steps(self, instructions: tuple[Instruction, ...]) -> list[Step]:
        return [_bind(self.group, bundle, self._tally) for bundle in bundles(instructions)]

    def run(self) -> Iterator[Arrival]:
        """Run from the start; pause at every barrier."""
        group = self.group
        stack = [_Frame(0, END, group.alive.copy())]
        left = math.inf if group.launch.patience is None else group.launch.patience
        while stack:
            frame = stack[-1]
            if frame.block == frame.reconvergence:
                stack.pop()
                continue
            mask = frame.mask & group.alive
            lanes = int(np.count_nonzero(mask))
            if lanes == 0:
                stack.pop()
                continue
            block = self._blocks[frame.block]
            left -= 1
            if left < 0:
                raise EndlessLoopError(block)
            self._tally.block_lanes[block.number] += lanes
            full = lanes == group.lanes
            warps = group.warps if full else _warps_of(mask)
            self._tally.block_warps[block.number] += warps
            step_mask = None if full else mask
            segments = self._segments[block.number]
            if segments is None:
                segments = self._segments[block.number] = self._segments_of(block)
            for segment in segments:
                for step in segment.steps:
                    step(step_mask)
                if segment.barrier is not None:
                    arrived = mask if segment.guard is None else segment.guard(mask)
                    yield Arrival(segment.barrier, arrived)
            self._leave(block, mask, frame, stack)

    def _leave(self, block: BasicBlock, mask: Mask, frame: _Frame, stack: list[_Frame]) -> None:
        """Follow the terminator of a block, parting the threads if they disagree."""
        condition = self._conditions[block.number]
        if condition is None:
            if block.terminator is not None and block.target == END:
                self.group.alive &= ~mask
            frame.block = block.fall_through if block.terminator is None else block.target
            return
        taken = condition(mask)
        count = int(np.count_nonzero(taken))
        exits = block.target == END
        if exits:
            self.group.alive &= ~taken
        if exits or count == 0:
            frame.block = block.fall_through
        elif count == int(np.count_nonzero(mask)):
            frame.block = block.target
        else:
            frame.block = block.reconvergence
            if frame.block == frame.reconvergence:
                # Those who wait below already know these threads: no second wait is needed.
                stack.pop()
            stack.append(_Frame(block.fall_through, block.reconvergence, mask & ~taken))
            stack.append(_Frame(block.target, block.reconvergence, taken))


def _warps_of(mask: Mask) -> int:
    """Warps with at least one lane in a mask."""
    return int(mask.reshape(-1, WARP).any(axis=1).sum())


def _condition(group: ThreadGroup, guard: Guard) -> Callable[[Mask | None], Mask]:
    """A function giving the lanes of a mask where a guard holds."""
    row = group.registers.view(guard.register, np.dtype(np.bool_))
    negated = guard.negated

    def holds(mask: Mask | None) -> Mask:
        where = ~row if negated else row
        return where.copy() if mask is None else where & mask

    return holds


def _bind(group: ThreadGroup, bundle: Bundle, tally: Tally) -> Step:
    if len(bundle) > 1:
        return _bind_fused_multiply_adds(group, bundle)
    instruction = bundle[0]
    operation = _operation(instruction.opcode)
    assert operation is not None
    binder, match = operation
    step = binder(group, instruction, match)
    if instruction.guard is None:
        return step
    condition = _condition(group, instruction.guard)

    def guarded(mask: Mask | None) -> None:
        where = condition(mask)
        lanes = int(np.count_nonzero(where))
        if lanes:
            tally.guarded_lanes[instruction.index] += lanes
            tally.guarded_warps[instruction.index] += _warps_of(where)
            step(None if lanes == group.lanes else where)

    return guarded


def _bind_fused_multiply_adds(group: ThreadGroup, bundle: Bundle) -> Step:
    """One step for many independent ``fma.rn.f32``: whole rows of the register file at once."""
    registers = group.registers.floats
    rows = np.array(
        [
            [
                group.registers.row[register.name]
                for operand in instruction.operands
                for register in registers_of(operand)
            ]
            for instruction in bundle
        ]
    )
    size = max(1, _BUNDLE_ELEMENTS // group.lanes)
    pieces = [rows[start : start + size].T for start in range(0, len(rows), size)]

    def step(mask: Mask | None) -> None:
        for target, a, b, c in pieces:
            result = fma32(registers[a], registers[b], registers[c])
            registers[target] = (
                result if mask is None else np.where(mask, result, registers[target])
            )

    return step


def default_slots(launch: Launch) -> int:
    """How many blocks to run side by side."""
    sizes = {"p": 1, "r": 4, "f": 4}
    registers = {
        operand.name
        for instruction in launch.kernel.instructions
        for operand in instruction.operands
        if isinstance(operand, Register)
    }
    per_lane = sum(sizes.get(name[1:2], 4) for name in registers) or 1
    lanes = min(max(_REGISTER_BYTES // per_lane, _MIN_LANES), _MAX_LANES)
    return max(1, min(launch.blocks, lanes // (launch.warps * 32)))


def run_lockstep(
    launch: Launch,
    blocks: list[BasicBlock],
    tally: Tally,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Run all blocks, many at a time, all threads of a block together."""
    slots = default_slots(launch)
    program: Program | None = None
    for first in range(0, launch.blocks, slots):
        numbers = range(first, min(first + slots, launch.blocks))
        if program is None or program.group.batch.slots != len(numbers):
            batch = BlockBatch(launch, len(numbers))
            program = Program(ThreadGroup(batch, range(launch.warps)), blocks, tally)
        group = program.group
        group.batch.start(numbers)
        group.start()
        for arrival in program.run():
            _pass_barrier(group, arrival, tally)
        if progress is not None:
            progress(numbers[-1] + 1, launch.blocks)


def _pass_barrier(group: ThreadGroup, arrival: Arrival, tally: Tally) -> None:
    by_slot = (group.batch.slots, -1)
    present: Mask = np.asarray(arrival.mask.reshape(by_slot).any(axis=1))
    missing = group.alive & ~arrival.mask & present[group.slot]
    if missing.any():
        group.launch.hazards.barrier_missed(group, arrival.barrier, missing)
    group.batch.epoch[present] += 1
    tally.barriers[arrival.barrier.index] += int(np.count_nonzero(present))


def run_warp_after_warp(
    launch: Launch,
    blocks: list[BasicBlock],
    tally: Tally,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Run block after block; in each, every warp runs to its next barrier before the next warp.

    Hardware may do the same, so a kernel whose result differs from lockstep lacks a barrier.
    """
    batch = BlockBatch(launch, 1)
    programs = [Program(ThreadGroup(batch, [warp]), blocks, tally) for warp in range(launch.warps)]
    for number in range(launch.blocks):
        batch.start([number])
        for program in programs:
            program.group.start()
        running = [(program, program.run()) for program in programs]
        while running:
            arrived = []
            for program, steps in running:
                arrival = next(steps, None)
                if arrival is not None:
                    arrived.append((program, steps, arrival))
            if arrived:
                _meet(launch, [(program.group, arrival) for program, _, arrival in arrived])
                batch.epoch += 1
                tally.barriers[arrived[0][2].barrier.index] += 1
            running = [(program, steps) for program, steps, _ in arrived]
        if progress is not None:
            progress(number + 1, launch.blocks)


def _meet(launch: Launch, arrivals: list[tuple[ThreadGroup, Arrival]]) -> None:
    """Check that all warps of a block wait at the same barrier, with all their threads."""
    barrier = min((arrival.barrier for _, arrival in arrivals), key=lambda site: site.index)
    for group, arrival in arrivals:
        missing = group.alive if arrival.barrier is not barrier else group.alive & ~arrival.mask
        if missing.any():
            launch.hazards.barrier_missed(group, barrier, missing)


def flow_of(kernel: PtxKernel) -> list[BasicBlock]:
    """The basic blocks of a kernel that the simulator can run.

    Raises:
        PtxError: the kernel uses an unknown instruction or a broken branch.
    """
    check_opcodes(kernel)
    return basic_blocks(kernel)
