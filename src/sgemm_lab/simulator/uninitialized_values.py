"""Uninitialized values, tracked to where they do harm.

A kernel may read memory that nothing wrote and do no harm: at the edge of a matrix threads work on
elements that they do not store. So such a read is a hazard only once what it gave reaches global
memory, or decides an address, a branch, or what other threads of the warp get. Until then its marks
go from register to register, and through shared and local memory, as the values do: a result is
marked where one of its operands is. That is more than need be, never less.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator.group import Access, HazardSink, Suspect, ThreadGroup
from sgemm_lab.simulator.memory import UNWRITTEN, Memory
from sgemm_lab.simulator.operands import registers_of, registers_read, registers_written
from sgemm_lab.simulator.operations import Step
from sgemm_lab.simulator.ptx import Address, Instruction, Register
from sgemm_lab.simulator.registers import Mask

Marks = npt.NDArray[np.uint32]
"""For each lane the reads that its value comes of, a bit for each."""

_NONE = np.uint32(0)
_MOST = 32
"""Bits of a mark. The last one stands for all reads that are left."""

_MEMORY = frozenset({"ld", "st", "atom", "red"})
_BETWEEN_LANES = frozenset(
    {
        *("vote", "match", "redux", "mma", "wmma", "ldmatrix", "elect", "blockvote", "bar"),
        *("mbarrier", "cp", "tex", "tld4", "suld", "sust"),
    }
)
"""What takes values of other lanes, or hands them on in a way of its own: they do harm there."""
_CARRY = "the carry"
"""Stands for the register that sums over several words hand their carry on in."""


@dataclass(frozen=True, eq=False)
class _Rule:
    """What an instruction does with marks."""

    instruction: Instruction
    kind: str
    reads: tuple[str, ...]
    addresses: tuple[str, ...]
    writes: tuple[str, ...]
    guard: str | None

    @classmethod
    def of(cls, instruction: Instruction) -> "_Rule":
        """Sort an instruction by what it does with the values that it reads."""
        parts, kind = instruction.parts, instruction.parts[0]
        guard = None if instruction.guard is None else instruction.guard.register.name
        reads = [one.name for one in registers_read(instruction)]
        writes = [one.name for one in registers_written(instruction) if one.name != "_"]
        if kind in ("addc", "subc", "madc"):
            reads.append(_CARRY)
        if "cc" in parts:
            writes.append(_CARRY)
        addresses = [
            register.name
            for operand in instruction.operands
            if isinstance(operand, Address)
            for register in registers_of(operand)
        ]
        return cls(instruction, kind, tuple(reads), tuple(addresses), tuple(writes), guard)


class UninitializedValues:
    """Tracks uninitialized values for all blocks of a launch."""

    def __init__(self, hazards: HazardSink) -> None:
        self.active = False
        """Whether there is a value to follow: else nothing here costs time."""
        self._hazards = hazards
        self._suspects: list[Suspect] = []
        """For each bit the read that it stands for; those behind the last bit share that."""
        self._bits: dict[int, int] = {}
        """By index of a reading instruction."""
        self._live = 0
        """Bits of the reads that have done no harm so far."""
        self._registers: dict[ThreadGroup, dict[str, Marks]] = {}
        """Of each group the registers that have a mark in some lane."""
        self._memories: dict[Memory, Marks] = {}
        """Of each memory the marks byte by byte."""

    def start(self) -> None:
        """Begin other blocks: their registers and memories hold nothing of what went before."""
        self.active = False
        self._registers.clear()
        self._memories.clear()

    def on_read(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes read memory that nothing wrote."""
        index = access.site.instruction.index
        if index not in self._bits:
            suspect = self._hazards.unwritten(access, lanes)
            self._bits[index] = self._bit_of(suspect)
        if self._bits[index] & self._live:
            self.active = True

    def _bit_of(self, suspect: Suspect) -> int:
        """The bit of a read; that of another one with the same message."""
        for number, other in enumerate(self._suspects):
            if suspect.same(other):
                return 1 << min(number, _MOST - 1)
        self._suspects.append(suspect)
        bit = 1 << min(len(self._suspects), _MOST) - 1
        self._live |= bit
        return bit

    def report_all(self) -> None:
        """Threads cannot go on: nobody can say what the values would have done."""
        self._report(self._live)

    def _report(self, bits: int) -> None:
        bits &= self._live
        if not bits:
            return
        for number, suspect in enumerate(self._suspects):
            if bits >> min(number, _MOST - 1) & 1:
                self._hazards.confirm(suspect)
        self._live &= ~bits
        if not self._live:
            self.start()

    def _harm(self, marks: Marks | None) -> None:
        if marks is not None and len(marks):
            self._report(int(np.bitwise_or.reduce(marks)))

    def wrap_branch(
        self, group: ThreadGroup, names: Iterable[str], choose: Callable[[Mask | None], Mask]
    ) -> Callable[[Mask | None], Mask]:
        """Wrap what chooses the lanes that go another way: some registers decide that."""
        names = tuple(names)

        def choosing(mask: Mask | None) -> Mask:
            if self.active:
                self._harm(self._marks(group, names, mask))
            return choose(mask)

        return choosing

    def wrap_step(
        self,
        group: ThreadGroup,
        instructions: Sequence[Instruction],
        steps: tuple[Step, Step],
        guard: Callable[[Mask | None], Mask] | None,
    ) -> Step:
        """A step with which marks go where values go, for when there are some.

        ``steps`` are one that heeds the guard of the instruction and one that does not; ``guard``
        gives the lanes that run it.
        """
        step, bare = steps
        rules: list[_Rule] = []

        def run(mask: Mask | None) -> None:
            if not rules:  # most kernels never come here
                rules.extend(_Rule.of(one) for one in instructions)
            marked = self._registers.get(group, {})
            touched = [
                rule for rule in rules if not marked.keys().isdisjoint((*rule.reads, *rule.writes))
            ]
            # What chooses the lanes may be written by the step itself.
            where = guard(mask) if touched and guard else mask
            chosen = [self._chooses(group, rule, mask) for rule in touched]
            for rule in touched:
                self._before(group, rule, where, bare)
            step(mask)
            for rule, marks in zip(touched, chosen, strict=True):
                for name in () if marks is None else rule.writes:
                    self._give(group, name, None, _both(marks, self._marks(group, [name], None)))

        return run

    def _chooses(self, group: ThreadGroup, rule: _Rule, mask: Mask | None) -> Marks | None:
        """The marks of a guard. It does harm where it decides more than a register."""
        found = self._marks(group, [rule.guard] if rule.guard else [], mask)
        if not rule.writes or rule.kind in ("atom", *_BETWEEN_LANES):
            self._harm(found)
        return found

    def _before(self, group: ThreadGroup, rule: _Rule, where: Mask | None, bare: Step) -> None:
        """Move marks as an instruction is about to move values; loads and stores do it later."""
        self._harm(self._marks(group, rule.addresses, where))
        marks = self._marks(group, rule.reads, where)
        if rule.kind in _BETWEEN_LANES:
            self._harm(marks)
        if rule.kind in _BETWEEN_LANES or rule.kind in _MEMORY:
            marks = None
        elif rule.kind == "selp":
            marks = self._selected(group, rule)
        elif rule.kind in ("and", "or") and rule.instruction.parts[-1] == "pred":
            marks = self._joined(group, rule)
        elif rule.kind == "shfl":
            marks = self._shuffled(group, rule, where, bare)
        for name in rule.writes if self.active else ():
            self._give(group, name, where, marks)

    def _selected(self, group: ThreadGroup, rule: _Rule) -> Marks | None:
        """``selp``: the marks of the value that is chosen, and of the choice."""
        one, other, choice = (registers_of(one) for one in rule.instruction.operands[1:4])
        marks = [
            self._marks(group, [r.name for r in registers], None)
            for registers in (one, other, choice)
        ]
        register = rule.instruction.operands[3]
        if not isinstance(register, Register):
            return _both(_both(marks[0], marks[1]), marks[2])
        holds = group.registers.view(register, np.dtype(np.bool_))
        chosen = (_NONE if one is None else one for one in marks[:2])
        return _both(np.where(holds, *chosen), marks[2])

    def _joined(self, group: ThreadGroup, rule: _Rule) -> Marks | None:
        """``and``, ``or`` of conditions: one without a mark may settle it alone."""
        one, other = rule.instruction.operands[1:3]
        if not isinstance(one, Register) or not isinstance(other, Register):
            return self._marks(group, rule.reads, None)
        found = None
        for mine, fellow in ((one, other), (other, one)):
            marks = self._marks(group, [mine.name], None)
            if marks is not None:
                holds = group.registers.view(fellow, np.dtype(np.bool_))
                clean = self._marks(group, [fellow.name], None)
                settled = (holds == (rule.kind == "or")) & (
                    (_NONE if clean is None else clean) == 0
                )
                found = _both(found, np.where(settled, _NONE, marks))
        return found

    def _shuffled(
        self, group: ThreadGroup, rule: _Rule, where: Mask | None, bare: Step
    ) -> Marks | None:
        """``shfl``: marks have as many bits as values, so they are moved by the step itself."""
        value, *others = (registers_of(one) for one in rule.instruction.operands[1:])
        steering = [register.name for registers in others for register in registers]
        self._harm(self._marks(group, steering, where))
        written = registers_written(rule.instruction)
        marks = self._marks(group, [one.name for one in value], None)
        if marks is None or not self.active:
            return None
        rows = [group.registers.whole(one, signed=False) if not group.registers.is_predicate(one)
                else group.registers.view(one, np.dtype(np.bool_))
                for one in (value[0], *written)]  # fmt: skip
        before = [row.copy() for row in rows]
        rows[0][:] = marks
        bare(where)
        moved = np.asarray(rows[1], np.uint32).copy()
        for row, kept in zip(rows, before, strict=True):
            row[:] = kept
        return moved

    def on_move(self, access: Access) -> None:
        """Move marks as an access is about to move values, and report where they do harm."""
        site = access.site
        kind = site.instruction.parts[0]
        inside = site.space in ("shared", "local")
        found = self._loaded(access) if site.kind not in ("store", "copy write") else []
        if kind == "ld":
            targets = registers_of(site.instruction.operands[0])
            for register, marks in zip(targets, found, strict=True):
                self._give_some(access, register, marks)
            return
        if kind == "st":
            (operand,) = site.instruction.operands[1:]
            items: list[Any] = list(getattr(operand, "items", [operand]))
            stored = [self._of_lanes(access, registers_of(item)) for item in items]
        elif kind in ("atom", "red"):
            values = registers_read(site.instruction)
            stored = [_both(found[0], self._of_lanes(access, values))]
        else:
            stored = []
        if not inside or not stored:
            # Into memory for good, or to other lanes.
            for marks in (*found, *stored):
                self._harm(marks)
            return
        self._store(access, stored, together=kind != "st")
        if kind == "atom" and self.active:
            self._give_some(access, site.instruction.operands[0], self._loaded(access)[0])

    def _loaded(self, access: Access) -> list[Marks | None]:
        """The marks of each element that an access reads."""
        site, memory = access.site, access.memory
        bit = np.uint32(self._bits.get(site.instruction.index, 0) & self._live)
        kept = self._memories.get(memory)
        found: list[Marks | None] = []
        for word in range(site.words):
            first = access.positions + word * site.word_bytes
            marks = None
            if bit:
                marks = np.where(memory.state[first] == UNWRITTEN, bit, _NONE)
            if kept is not None:
                own = kept.reshape(-1, site.word_bytes)[first // site.word_bytes]
                marks = _both(marks, np.bitwise_or.reduce(own, axis=1))
            found.append(marks)
        return found

    def _store(self, access: Access, stored: list[Marks | None], *, together: bool) -> None:
        """Keep the marks of what is stored; ``together``: beside those that are there."""
        memory, width = access.memory, access.site.word_bytes
        kept = self._memories.get(memory)
        if kept is None:
            if all(marks is None or not marks.any() for marks in stored):
                return
            kept = self._memories[memory] = np.zeros(len(memory.bytes), np.uint32)
        for word, marks in enumerate(stored):
            places = (access.positions + word * width) // width
            given = _NONE if marks is None else marks[:, None]
            if together:
                np.bitwise_or.at(kept.reshape(-1, width), places, given)
            else:
                kept.reshape(-1, width)[places] = given

    def _of_lanes(self, access: Access, registers: Iterable[Register]) -> Marks | None:
        """The marks of some registers in the legal lanes of an access."""
        marks = self._marks(access.group, [one.name for one in registers], None)
        return marks if marks is None or access.lanes is None else marks[access.lanes]

    def _give_some(self, access: Access, register: Any, marks: Marks | None) -> None:
        """Give a register its marks in the legal lanes of an access."""
        group = access.group
        if access.lanes is None or (
            marks is None and register.name not in self._registers.get(group, {})
        ):
            self._give(group, register.name, None, marks)
            return
        where = np.zeros(group.lanes, np.bool_)
        where[access.lanes] = True
        every = np.zeros(group.lanes, np.uint32)
        every[access.lanes] = _NONE if marks is None else marks
        self._give(group, register.name, where, every)

    def _marks(self, group: ThreadGroup, names: Iterable[str], mask: Mask | None) -> Marks | None:
        """The marks of some registers together, and none outside of a mask; None for no mark."""
        marked = self._registers.get(group)
        found = None
        for name in names:
            if marked and name in marked:
                found = _both(found, marked[name])
        return found if found is None or mask is None else np.where(mask, found, _NONE)

    def _give(self, group: ThreadGroup, name: str, where: Mask | None, marks: Marks | None) -> None:
        """Give a register its marks, in some lanes."""
        marked = self._registers.setdefault(group, {})
        if name == "_" or (marks is None and name not in marked):
            return
        if where is not None:
            marks = np.where(where, _NONE if marks is None else marks, marked.get(name, _NONE))
        if marks is not None and marks.any():
            marked[name] = marks
        else:
            marked.pop(name, None)


def _both(one: Marks | None, other: Marks | None) -> Marks | None:
    if one is None or other is None:
        return one if other is None else other
    return one | other
