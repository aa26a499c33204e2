"""Pair the lines of a WGSL program with the corresponding lines of its CUDA kernel.

Nobody writes the pairs down. Statements that make the same thing belong together
(``statements.py``), in the order in which both sources have them. What one language makes and the
other does not has its reason in ``line_pairing.json``; without a reason there is no view, so a new
rung cannot be added before each of its lines has its fellow or its reason.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel
from sgemm_lab.wgsl.statements import Statement, statements

_MOST = 4
"""Statements of one language that may together be one of the other."""

Side = Sequence[Statement]
Places = tuple[range, range]
"""Which statements of the one source, and of the other, say the same."""


@dataclass(frozen=True)
class Row:
    """Statements of both languages that make the same; one side may have none."""

    cuda: tuple[Statement, ...]
    wgsl: tuple[Statement, ...]
    why: str = ""
    """Why one side has none, why the two stand at different places, or what else may be asked."""


def rows(kernel: Kernel, program: Kernel) -> list[Row]:
    """Lay a kernel and its program side by side, in the kernel's order.

    Raises:
        LabError: a statement has no fellow on the other side, and ``line_pairing.json`` no reason.
    """
    cuda, wgsl = statements(kernel.source), statements(program.source)
    fellows = _in_order(cuda, wgsl)
    moved = _moved(cuda, wgsl, fellows)
    pairs = [*fellows, *moved]
    alone = [cuda[i] for i in _left(len(cuda), [ours for ours, _ in pairs])]
    alone += [wgsl[j] for j in _left(len(wgsl), [theirs for _, theirs in pairs])]

    def reason(side: str, one: Statement) -> str:
        return _reason(side, one, alone, program.name)

    # A row's place: that of its line in CUDA; what WGSL has alone stands behind what is above it.
    placed: list[tuple[tuple[int, int], Row]] = []
    for ours, theirs in pairs:
        both = tuple(cuda[i] for i in ours), tuple(wgsl[j] for j in theirs)
        why = reason("moved", both[0][0]) if (ours, theirs) in moved else _said(both[0])
        placed.append(((ours.start, -1), Row(*both, why)))
    for i, one in enumerate(cuda):
        if one in alone:
            placed.append(((i, -1), Row((one,), (), reason("cuda", one))))
    for j, one in enumerate(wgsl):
        if one in alone:
            above = max((ours.stop - 1 for ours, theirs in fellows if theirs.stop <= j), default=-1)
            placed.append(((above, j), Row((), (one,), reason("wgsl", one))))
    return _joined([row for _, row in sorted(placed, key=lambda one: one[0])])


def _in_order(cuda: Side, wgsl: Side) -> list[Places]:
    """Return the pairs that leave the fewest statements alone, without changing any order."""
    # best[i][j]: statements in pairs among those from i and from j on, and the pair that begins.
    best: list[list[tuple[int, Places | None]]] = [
        [(0, None)] * (len(wgsl) + 1) for _ in range(len(cuda) + 1)
    ]
    for i in reversed(range(len(cuda))):
        for j in reversed(range(len(wgsl))):
            best[i][j] = max(
                (best[i + 1][j][0], (range(i, i + 1), range(j, j))),
                (best[i][j + 1][0], (range(i, i), range(j, j + 1))),
                *(
                    (p + q + best[i + p][j + q][0], (range(i, i + p), range(j, j + q)))
                    for p, q in _groups(cuda[i:], wgsl[j:])
                ),
                key=lambda one: one[0],
            )
    i = j = 0
    pairs: list[Places] = []
    while (step := best[i][j][1]) is not None:
        i, j = step[0].stop, step[1].stop
        if step[0] and step[1]:
            pairs.append(step)
    return pairs


def _groups(cuda: Side, wgsl: Side) -> list[tuple[int, int]]:
    """Return how many statements from here on may say the same: one of one language, at least."""
    ours, theirs = cuda[0], wgsl[0]
    if ours.place[:1] != theirs.place[:1] or ours.is_shared or theirs.is_shared:
        return []
    if ours.names == theirs.names and ours.opens != theirs.opens:
        return [(_block(cuda), _block(wgsl))]  # what is a line here is a block there
    if ours.asked and theirs.asked:  # one language may have to ask for more
        return [(1, 1)] * (ours.asked <= theirs.asked or theirs.asked <= ours.asked)
    more = range(2, _MOST + 1)
    counts = [(1, 1), *((1, n) for n in more), *((n, 1) for n in more)]
    return [
        (p, q)
        for p, q in counts
        if p <= len(cuda)
        and q <= len(wgsl)
        and _made(cuda[:p]) == _made(wgsl[:q])
        and all(one.inside == ours.inside for one in cuda[:p])
        and all(one.inside == theirs.inside for one in wgsl[:q])
    ]


def _made(side: Side) -> frozenset[str]:
    return frozenset[str]().union(*(one.names for one in side))


def _block(side: Side) -> int:
    """Return how many statements the first one is with all that stands in it."""
    if not side[0].opens:
        return 1
    return 1 + next(n for n, one in enumerate(side[1:], 1) if one.inside == side[0].inside)


def _moved(cuda: Side, wgsl: Side, fellows: list[Places]) -> list[Places]:
    """Return pairs of what is alone on both sides: the two stand at different places."""
    ours = _left(len(cuda), [one for one, _ in fellows])
    theirs = _left(len(wgsl), [one for _, one in fellows])
    pairs = []
    for i in ours:
        alike = [j for j in theirs if wgsl[j].names == cuda[i].names and not cuda[i].is_end]
        same = [k for k in ours if cuda[k].names == cuda[i].names]
        if len(alike) == len(same) == 1:
            pairs.append((range(i, i + 1), range(alike[0], alike[0] + 1)))
    return pairs


def _left(count: int, taken: Sequence[range]) -> list[int]:
    gone = {place for some in taken for place in some}
    return [place for place in range(count) if place not in gone]


def _joined(found: list[Row]) -> list[Row]:
    """Join neighbouring rows that lack the same side for the same reason."""
    joined = []
    for (ours, theirs, why), some in groupby(
        found, lambda row: (bool(row.cuda), bool(row.wgsl), row.why)
    ):
        group = list(some)
        if not why or (ours and theirs):
            joined += group
            continue
        cuda = tuple(one for row in group for one in row.cuda)
        wgsl = tuple(one for row in group for one in row.wgsl)
        joined.append(Row(cuda, wgsl, why))
    return joined


def _reason(side: str, one: Statement, alone: Side, program: str) -> str:
    """Return why a statement has no fellow, or not at its place.

    What stands in a block shares the block's reason, unless it has one of its own. A function that
    the other language lacks has one reason for all of it.
    """
    reasons = _reasons()[side]
    ended = frozenset(name.removeprefix("end ") for name in one.names)
    places = [ended, *reversed(one.place)]
    if one.inside and one.inside[0] in alone:
        places.reverse()
    for names in places:
        for name in sorted(names):
            found = reasons.get((name, program)) or reasons.get((name, ""))
            if found:
                return found
    language = "WGSL" if side == "wgsl" else "CUDA"
    what = "does not stand where WGSL has it" if side == "moved" else "has no fellow"
    raise LabError(
        f"'{program}', line {one.first} in {language}, “{one.code}”, {what}, and line_pairing.json "
        f"has no reason. Make it like the other, or add “{', '.join(sorted(ended))}” to “{side}” "
        "there."
    )


def _said(some: Side) -> str:
    """Return what a reader may ask of lines that do have their fellows."""
    return next((why for (name, _), why in _reasons()["said"].items() if name in _made(some)), "")


@cache
def _reasons() -> dict[str, dict[tuple[str, str], str]]:
    """Return the reasons: by side, by what is made, and by the one program that they are for."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    kept: dict[str, list[dict[str, str]]] = json.loads(text)
    return {
        side: {
            (name, one.get("in", "")): one["why"]
            for one in some
            for name in one["makes"].split(", ")
        }
        for side, some in kept.items()
    }
