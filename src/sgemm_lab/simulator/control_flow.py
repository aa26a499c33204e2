"""Control flow of a kernel: basic blocks, and where diverged threads meet again."""

from collections.abc import Iterator
from dataclasses import dataclass

from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.ptx import Instruction, PtxKernel, Symbol
from sgemm_lab.simulator.sentences import sentence

END = -1
"""Block number that stands for the end of the kernel."""

_BRANCHES = ("bra",)
_EXITS = ("ret", "exit")


@dataclass(frozen=True, eq=False)
class BasicBlock:
    """Instructions that always run one after the other; equal to itself only."""

    number: int
    instructions: tuple[Instruction, ...]
    """Without the branch or return at the end."""
    terminator: Instruction | None
    """A branch or return, or None where the block falls through."""
    target: int
    """Block that the terminator jumps to (END for a return, unused where there is none)."""
    fall_through: int
    """Block that follows in the text, END after the last."""
    reconvergence: int
    """First block that every path from here passes: the immediate post-dominator, or END."""

    @property
    def successors(self) -> list[int]:
        """Blocks that may follow, without END."""
        found = _successors(self.terminator, self.target, self.fall_through)
        return sorted(found - {END})


def basic_blocks(kernel: PtxKernel) -> list[BasicBlock]:
    """Cut a kernel into basic blocks; block 0 is the entry.

    Raises:
        PtxError: a branch names a label that does not exist.
    """
    instructions = kernel.instructions
    starts = {0, *kernel.labels.values()}
    for instruction in instructions:
        if instruction.parts[0] in _BRANCHES + _EXITS:
            starts.add(instruction.index + 1)
    ordered = sorted(start for start in starts if start < len(instructions))
    number_at = {start: number for number, start in enumerate(ordered)}
    number_at[len(instructions)] = END

    # Threads that branch to a bare return are done: nothing waits for them, no barrier either.
    for start in ordered:
        if instructions[start].parts[0] in _EXITS and instructions[start].guard is None:
            number_at[start] = END

    pieces = []
    for number, start in enumerate(ordered):
        end = ordered[number + 1] if number + 1 < len(ordered) else len(instructions)
        body = tuple(instructions[start:end])
        terminator = body[-1] if body[-1].parts[0] in _BRANCHES + _EXITS else None
        target = END
        if terminator is not None and terminator.parts[0] in _BRANCHES:
            target = number_at[_branch_target(kernel, terminator)]
        after = number + 1 if number + 1 < len(ordered) else END
        pieces.append((body, terminator, target, after))

    successors = [_successors(terminator, target, after) for _, terminator, target, after in pieces]
    reconvergence = _immediate_post_dominators(successors)
    return [
        BasicBlock(
            number=number,
            instructions=body if terminator is None else body[:-1],
            terminator=terminator,
            target=target,
            fall_through=after,
            reconvergence=reconvergence[number],
        )
        for number, (body, terminator, target, after) in enumerate(pieces)
    ]


def _branch_target(kernel: PtxKernel, branch: Instruction) -> int:
    label = branch.operands[0]
    if not isinstance(label, Symbol) or label.name not in kernel.labels:
        raise PtxError(sentence("ptx.label", place=branch.location))
    return kernel.labels[label.name]


def _successors(terminator: Instruction | None, target: int, after: int) -> set[int]:
    if terminator is None:
        return {after}
    return {target} if terminator.guard is None else {target, after}


def _immediate_post_dominators(successors: list[set[int]]) -> list[int]:
    """For each block the first block on every path from it to the end.

    Solves post(b) = {b} + the blocks common to post(s) over all successors s, with sets as bits.
    """
    count = len(successors)
    end_bit = 1 << count
    everything = (end_bit << 1) - 1
    post = [everything] * count
    changed = True
    while changed:
        changed = False
        for block in reversed(range(count)):
            common = everything
            for successor in successors[block]:
                common &= end_bit if successor == END else post[successor]
            updated = common | 1 << block
            if updated != post[block]:
                post[block] = updated
                changed = True
    # Post-dominators lie on one path to the end: the nearest is the one with most others after it.
    return [
        max(
            _bits(post[block] & ~(1 << block | end_bit)),
            key=lambda b: post[b].bit_count(),
            default=END,
        )
        for block in range(count)
    ]


def _bits(number: int) -> Iterator[int]:
    """Positions of the ones in a number."""
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1
