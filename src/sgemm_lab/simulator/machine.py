"""Run the blocks of a launch: bind instructions to registers, and schedule blocks and warps."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random

import numpy as np

from sgemm_lab.simulator import (
    approximations,
    arithmetic,
    fma_contraction,
    half_operations,
    image_operations,
    mbarrier_operations,
    memory_operations,
    rare_operations,
    tensor_copies,
    tensor_operations,
    traps,
    warp_operations,
    wgmma_operations,
    wmma_operations,
)
from sgemm_lab.simulator.barriers import run_to_completion
from sgemm_lab.simulator.control_flow import BasicBlock, basic_blocks
from sgemm_lab.simulator.divergence import BlockBarrier, Code, Program, Segment, warps_of
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.execution_counts import Tally
from sgemm_lab.simulator.fma import fma32
from sgemm_lab.simulator.fma_batches import Bundle, bundles
from sgemm_lab.simulator.group import CLUSTER_BARRIER, BlockBatch, Launch, ThreadGroup
from sgemm_lab.simulator.operands import registers_of
from sgemm_lab.simulator.operations import Binder, Step, value
from sgemm_lab.simulator.ptx import TEXTURE, Guard, Instruction, PtxKernel, Register
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.uninitialized_registers import mark, marked

_OPERATIONS = [
    (re.compile(pattern), binder)
    for module in (
        arithmetic,
        approximations,
        fma_contraction,
        half_operations,
        memory_operations,
        mbarrier_operations,
        warp_operations,
        tensor_operations,
        tensor_copies,
        wgmma_operations,
        wmma_operations,
        image_operations,
        rare_operations,
        traps,
    )
    for pattern, binder in module.OPERATIONS
]
_BARRIER = re.compile(r"(?:bar|barrier)(?:\.cta)?\.(?P<how>sync|arrive)(?:\.aligned)?")
_BRANCH = re.compile(r"bra(?:\.uni)?|ret|exit")
_CLUSTER_WAIT = re.compile(r"barrier\.cluster\.wait(?:\.acquire)?(?:\.aligned)?")

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
        if TEXTURE.match(instruction.opcode) and not _operation(instruction.opcode):
            what = image_operations.unsupported_operation(instruction.opcode)
            raise PtxError(sentence("run.texture", what=what, place=instruction.location))
    for instruction in kernel.instructions:
        opcode = instruction.opcode
        known = (
            _BARRIER.fullmatch(opcode)
            or _CLUSTER_WAIT.fullmatch(opcode)
            or _BRANCH.fullmatch(opcode)
            or _operation(opcode)
        )
        if not known:
            raise PtxError(sentence("run.opcode", opcode=opcode, place=instruction.location))


def _code(group: ThreadGroup, blocks: list[BasicBlock], tally: Tally) -> Code:
    """Every instruction bound to a group's registers."""
    # Blocks are bound when they first run: many never do.
    bound: list[list[Segment] | None] = [None] * len(blocks)

    def segments(block: BasicBlock) -> list[Segment]:
        found = bound[block.number]
        if found is None:
            found = bound[block.number] = _segments(group, block, tally)
        return found

    conditions = [
        None
        if block.terminator is None or block.terminator.guard is None
        else _decision(group, block.terminator.guard)
        for block in blocks
    ]
    return Code(blocks, segments, conditions)


def _segments(group: ThreadGroup, block: BasicBlock, tally: Tally) -> list[Segment]:
    one_by_one = group.launch.products is not None
    return [
        Segment(
            [_bind(group, bundle, tally) for bundle in gathered],
            None if barrier is None else _block_barrier(group, barrier),
        )
        for gathered, barrier in _stretches(block, one_by_one)
    ]


@lru_cache(maxsize=1024)
def _stretches(
    block: BasicBlock, one_by_one: bool
) -> list[tuple[list[Bundle], Instruction | None]]:
    """A block cut behind its barriers: bundles of instructions, and the barrier that follows."""

    def gather(instructions: tuple[Instruction, ...]) -> list[Bundle]:
        return [(one,) for one in instructions] if one_by_one else bundles(instructions)

    found: list[tuple[list[Bundle], Instruction | None]] = []
    start = 0
    for position, instruction in enumerate(block.instructions):
        if _BARRIER.fullmatch(instruction.opcode) or _CLUSTER_WAIT.fullmatch(instruction.opcode):
            found.append((gather(block.instructions[start:position]), instruction))
            start = position + 1
    found.append((gather(block.instructions[start:]), None))
    return found


def _block_barrier(group: ThreadGroup, instruction: Instruction) -> BlockBarrier:
    match = _BARRIER.fullmatch(instruction.opcode)
    if match is None:
        return BlockBarrier(instruction, CLUSTER_BARRIER, None, True, None)
    waits = match is not None and match["how"] == "sync"
    number, threads = (
        value(group, instruction, position, "u32") if position < len(instruction.operands) else None
        for position in (0, 1)
    )
    guard = None if instruction.guard is None else _decision(group, instruction.guard)
    names = [one.name for operand in instruction.operands for one in registers_of(operand)]
    if names:
        everybody = guard or (lambda mask: group.alive.copy() if mask is None else mask)
        guard = group.launch.uninitialized.wrap_branch(group, names, everybody)
    return BlockBarrier(instruction, number, threads, waits, guard)


def _decision(group: ThreadGroup, guard: Guard) -> Callable[[Mask | None], Mask]:
    """The lanes where a guard holds that decides where threads go on."""
    holds = _condition(group, guard)
    return group.launch.uninitialized.wrap_branch(group, [guard.register.name], holds)


def _condition(group: ThreadGroup, guard: Guard) -> Callable[[Mask | None], Mask]:
    """A function giving the lanes of a mask where a guard holds."""
    row = group.registers.view(guard.register, np.dtype(np.bool_))
    negated = guard.negated

    def holds(mask: Mask | None) -> Mask:
        where = ~row if negated else row
        return where.copy() if mask is None else where & mask

    return holds


def _bind(group: ThreadGroup, bundle: Bundle, tally: Tally) -> tuple[Step, Step]:
    """A step, plain and with marks of what nothing has set."""
    instruction = bundle[0]
    one = len(bundle) == 1
    step = _bound(group, instruction) if one else _bind_fused_multiply_adds(group, bundle)
    step = _warning(group, bundle, _looking(group, bundle, step))
    condition = None if instruction.guard is None else _condition(group, instruction.guard)
    guarded = step if condition is None else _guarded(group, instruction, step, condition, tally)
    following = group.launch.uninitialized.wrap_step(group, bundle, (guarded, step), condition)
    return guarded, following


def _guarded(
    group: ThreadGroup,
    instruction: Instruction,
    step: Step,
    condition: Callable[[Mask | None], Mask],
    tally: Tally,
) -> Step:

    def guarded(mask: Mask | None) -> None:
        where = condition(mask)
        lanes = int(np.count_nonzero(where))
        if lanes:
            tally.guarded_lanes[instruction.index] += lanes
            tally.guarded_warps[instruction.index] += warps_of(where)
            step(None if lanes == group.lanes else where)

    return guarded


def _looking(group: ThreadGroup, bundle: Bundle, step: Step) -> Step:
    """Tell of registers without a value before a step that may read some."""
    unset = group.launch.unset
    reads = [(one, unset[one.index]) for one in bundle if one.index in unset]
    if not reads:
        return step

    def looking(mask: Mask | None) -> None:
        for instruction, registers in reads:
            lanes = np.flatnonzero(marked(group.registers, registers, mask))
            if len(lanes):
                group.launch.hazards.unset(group, int(lanes[0]), instruction)
        step(mask)

    return looking


def _warning(group: ThreadGroup, bundle: Bundle, step: Step) -> Step:
    """Tell of registers of products that may still run before a step that uses some."""
    faults = group.launch.early_uses
    early = [(one, faults[one.index]) for one in bundle if one.index in faults]
    if not early:
        return step

    def warning(mask: Mask | None) -> None:
        lane = int(np.flatnonzero(group.alive if mask is None else mask)[0])
        for instruction, key in early:
            group.launch.hazards.early_use(group, lane, instruction, key)
        step(mask)

    return warning


def _bound(group: ThreadGroup, instruction: Instruction) -> Step:
    operation = _operation(instruction.opcode)
    assert operation is not None
    binder, match = operation
    try:
        return binder(group, instruction, match)
    except PtxError as error:
        if str(instruction.location) in str(error):
            raise
        raise PtxError(f"{instruction.location}: {error}") from None
    except (LookupError, ValueError, TypeError, AttributeError, AssertionError):
        place = instruction.location
        raise PtxError(sentence("run.operands", opcode=instruction.opcode, place=place)) from None


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
    if launch.cooperative:
        return len(launch.numbers)
    sizes = {"p": 1, "r": 4, "f": 4}
    registers = {
        operand.name
        for instruction in launch.kernel.instructions
        for operand in instruction.operands
        if isinstance(operand, Register)
    }
    per_lane = sum(sizes.get(name[1:2], 4) for name in registers) or 1
    lanes = min(max(_REGISTER_BYTES // per_lane, _MIN_LANES), _MAX_LANES)
    blocks = min(len(launch.numbers), lanes // (launch.warps * 32))
    return max(launch.cluster, blocks // launch.cluster * launch.cluster)


def run_lockstep(
    launch: Launch,
    blocks: list[BasicBlock],
    tally: Tally,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Run all blocks, many at a time, all threads of a block together."""
    slots = default_slots(launch)
    program: Program | None = None
    every = launch.numbers
    for first in range(0, len(every), slots):
        numbers = every[first : first + slots]
        if program is None or program.group.batch.slots != len(numbers):
            batch = BlockBatch(launch, len(numbers))
            program = _program(ThreadGroup(batch, range(launch.warps)), blocks, tally)
        group = program.group
        _start(group.batch, numbers, [program])
        run_to_completion(group.batch, [program], tally)
        launch.blocks_done = first + len(numbers)
        if progress is not None:
            progress(launch.blocks_done, len(every))


def run_warp_after_warp(
    launch: Launch,
    blocks: list[BasicBlock],
    tally: Tally,
    progress: Callable[[int, int], None] | None,
    *,
    thread_by_thread: bool = False,
    order: int | None = None,
) -> None:
    """Run block after block; in each, every warp runs to its next barrier before the next warp.

    With ``thread_by_thread`` every thread does so: CUDA orders the threads of a warp neither.
    Hardware may do the same, so a kernel whose result differs from lockstep lacks a barrier. The
    warps run in ascending order, or in one that is drawn with the seed ``order``.
    """
    size = launch.cluster
    batch = BlockBatch(launch, size)
    warps = list(range(launch.warps))
    if order is not None:
        Random(order).shuffle(warps)
    programs = [_program(ThreadGroup(batch, [warp]), blocks, tally) for warp in warps]
    for done in range(size, len(launch.numbers) + 1, size):
        _start(batch, launch.numbers[done - size : done], programs)
        run_to_completion(batch, programs, tally, thread_by_thread=thread_by_thread)
        launch.blocks_done = done
        if progress is not None:
            progress(done, len(launch.numbers))


def _start(batch: BlockBatch, blocks: Sequence[int], programs: Sequence[Program]) -> None:
    """Put fresh blocks into a batch, and marks where registers may be read before a write."""
    batch.start(blocks)
    for program in programs if batch.launch.unset else ():
        mark(program.group.registers, batch.launch.unset)


def _program(group: ThreadGroup, blocks: list[BasicBlock], tally: Tally) -> Program:
    return Program(group, _code(group, blocks, tally), tally)


def flow_of(kernel: PtxKernel) -> list[BasicBlock]:
    """The basic blocks of a kernel that the simulator can run.

    Raises:
        PtxError: the kernel uses an unknown instruction or a broken branch.
    """
    check_opcodes(kernel)
    return basic_blocks(kernel)
