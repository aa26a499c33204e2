"""The main loop of a kernel in machine code: what its instructions are for, and what they cost.

Counted from the disassembler's text alone, so no GPU is needed. An SM of compute capability 9.0 has
four schedulers, and each starts one instruction per clock. So a clock in which it starts something
else than a multiply-add (FFMA) is lost to arithmetic.

A multiply-add may also keep its scheduler longer than a clock. Registers lie in two banks, those
with odd and those with even numbers, and a bank gives one register per clock. A register that the
instruction before has marked ``.reuse`` at the same place among its operands is still there and
costs nothing. Accesses to memory and barriers do not count as the instruction before: the assembler
marks registers across them. NVIDIA has not published this rule. It was found by measurement on an
H200: ``records/notes.md``, "Ahead of chapters 8 to 10".

What the clocks of a turn leave of the peak is an estimate and no bound. Loads in a row cost more,
and while one warp waits for a bank another may start what is no multiply-add.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from sgemm_lab.errors import LabError

MULTIPLY, SHARED, GLOBAL, STORE, BARRIER, BRANCH, OTHER = (
    "multiply", "shared", "global", "store", "barrier", "branch", "other",
)  # fmt: skip
"""What an instruction is for: a multiply-add, a load from shared memory, an access to global
memory, a store into shared memory, waiting for others, a branch; all else is addresses,
comparisons and moves."""

_KINDS = {
    MULTIPLY: ("FFMA",),
    SHARED: ("LDS", "LDSM"),
    GLOBAL: ("LDG", "LDGSTS", "LD", "STG", "ST", "RED", "ATOMG", "UBLKCP", "UTMALDG"),
    STORE: ("STS", "ATOMS"),
    BARRIER: (
        "BAR", "SYNCS", "DEPBAR", "LDGDEPBAR", "ARRIVES", "MEMBAR", "FENCE", "WARPSYNC",
        "NANOSLEEP",
    ),
    BRANCH: ("BRA", "BRX", "JMP", "CALL", "RET", "EXIT", "BSSY", "BSYNC", "BREAK"),
}  # fmt: skip
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}

_APART = {SHARED, GLOBAL, STORE, BARRIER}
"""Kinds across which registers marked ``.reuse`` stay."""

_LABEL = re.compile(r"^(\.L\w+):")
_LINE = re.compile(r"^\s+(?:/\*[0-9a-f]+\*/\s+)?(?P<text>[@A-Z].*?) *;")
_PARTS = re.compile(r"(?:@(?P<guard>\S+) +)?(?P<name>[A-Z]\w*)\S* ?(?P<operands>.*)")
_REGISTER = re.compile(r"-?\|?R(\d+)(?:\.reuse)?\|?")
_TARGET = re.compile(r"`\((\.L\w+)\)")


@dataclass(frozen=True)
class Instruction:
    """One instruction, and the label before it, if any."""

    text: str
    """As the disassembler writes it, without address: "FFMA R0, R81, R87.reuse, R0"."""
    label: str = ""

    @cached_property
    def _parts(self) -> re.Match[str]:
        found = _PARTS.match(self.text)
        assert found is not None, self.text
        return found

    @property
    def kind(self) -> str:
        """What it is for."""
        return _KIND_OF.get(self._parts["name"], OTHER)

    @property
    def operands(self) -> list[str]:
        """The operands, the destination first."""
        return [one.strip() for one in self._parts["operands"].split(",")]

    @property
    def target(self) -> str | None:
        """The label that a branch may go to."""
        found = _TARGET.search(self.text) if self._parts["name"] == "BRA" else None
        return found[1] if found else None

    @property
    def goes_on(self) -> bool:
        """Whether the next instruction may follow it."""
        sure = self._parts["name"] in ("BRA", "EXIT") and "P" not in self._parts["operands"]
        return not sure or self._parts["guard"] is not None


@dataclass(frozen=True)
class Step:
    """An instruction of a loop with what is known of it."""

    instruction: Instruction
    extra: int
    """Clocks beyond the first that its registers take: 0, but for multiply-adds."""
    always: bool
    """Every turn of the loop executes it."""
    fetched: tuple[int, ...]
    """The registers that a multiply-add has to fetch from a bank."""


@dataclass(frozen=True)
class Loop:
    """The main loop of a kernel, instruction by instruction."""

    steps: tuple[Step, ...]

    @property
    def each_turn(self) -> list[Step]:
        """The steps of every turn, without those behind a condition."""
        return [step for step in self.steps if step.always]

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of a turn."""
        return sum(step.instruction.kind == MULTIPLY for step in self.each_turn)

    @property
    def extra(self) -> int:
        """Clocks that banks add to a turn."""
        return sum(step.extra for step in self.each_turn)

    @property
    def reads_in_a_row(self) -> int:
        """Loads from shared memory of a turn that stand right behind another one."""
        kinds = [step.instruction.kind for step in self.each_turn]
        return sum(before == kind == SHARED for before, kind in pairwise(kinds))


def instructions(listing: str) -> list[Instruction]:
    """Read the instructions of a listing: ``nvdisasm``'s, or one that :func:`loop_text` wrote."""
    found, label = [], ""
    for line in listing.splitlines():
        if named := _LABEL.match(line):
            label = named[1]
        elif code := _LINE.match(line):
            found.append(Instruction(code["text"], label))
            label = ""
    return found


def main_loop(listing: str) -> Loop:
    """Return the innermost loop with the most multiply-adds."""
    code = instructions(listing)
    first, last = _main(code)
    body = code[first : last + 1]
    always = _always(body)
    steps = []
    before: Instruction | None = None
    for i, now in enumerate(body):
        fetched = _fetched(before, now)
        extra = max(0, max(sum(r % 2 == bank for r in fetched) for bank in (0, 1)) - 1)
        steps.append(Step(now, extra, i in always, fetched))
        if now.kind not in _APART:
            before = now
    return Loop(tuple(steps))


def loop_text(loop: Loop) -> str:
    """Write a loop in as few letters as can be read back: instructions and the labels in use."""
    used = {step.instruction.target for step in loop.steps}
    lines = []
    for step in loop.steps:
        if step.instruction.label in used:
            lines.append(f"{step.instruction.label}:")
        lines.append(f" {step.instruction.text};")
    return "\n".join(lines) + "\n"


def _main(code: Sequence[Instruction]) -> tuple[int, int]:
    """Return where the main loop begins and ends."""
    places = {one.label: i for i, one in enumerate(code) if one.label}
    loops = [
        (places[one.target], i)
        for i, one in enumerate(code)
        if one.target in places and places[one.target] < i
    ]
    multiplying = {
        (first, last): count
        for first, last in loops
        if (count := sum(one.kind == MULTIPLY for one in code[first : last + 1]))
    }
    innermost = [
        one
        for one in multiplying
        if not any(one[0] <= o[0] and o[1] <= one[1] and o != one for o in multiplying)
    ]
    if not innermost:
        raise LabError("No loop of this machine code has multiply-adds (FFMA).")
    return max(innermost, key=lambda one: multiplying[one])


def _fetched(before: Instruction | None, now: Instruction) -> tuple[int, ...]:
    """Return the registers that a multiply-add fetches from a bank, each one once."""
    if now.kind != MULTIPLY:
        return ()
    left = before.operands[1:] if before else []
    fetched: set[int] = set()
    reused: set[int] = set()
    for place, operand in enumerate(now.operands[1:]):
        found = _REGISTER.fullmatch(operand)
        if found is None:  # RZ, a constant, a register of the whole warp
            continue
        number = int(found[1])
        marked = _REGISTER.fullmatch(left[place]) if place < len(left) else None
        is_left = marked and int(marked[1]) == number and ".reuse" in left[place]
        (reused if is_left else fetched).add(number)
    return tuple(sorted(fetched - reused))


def _always(body: Sequence[Instruction]) -> set[int]:
    """Return the places that every turn comes past: no branch on the way jumps over them."""
    places = {one.label: i for i, one in enumerate(body) if one.label}
    found, waiting = set(), [0]
    jumped: set[int] = set()
    while waiting:
        at = waiting.pop()
        if at in found or at == len(body):
            continue
        found.add(at)
        if body[at].goes_on:
            waiting.append(at + 1)
        target = places.get(body[at].target or "")
        if target is not None:
            waiting.append(target)
            jumped.update(range(at + 1, target))
    return found - jumped
