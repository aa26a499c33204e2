"""Simulate a launch without one of its barriers: the same steps in another order.

The barrier is removed from the PTX, so each thread executes the same steps. They are simulated warp
by warp, or thread by thread if a block has one warp: an order that hardware may choose. The result
records which values differ.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict

import numpy as np

from sgemm_lab.counting.entries import Column, Entries, entries_of
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import LaunchShape
from sgemm_lab.simulator import Result
from sgemm_lab.simulator.hazards import RACE, most_relevant

_BARRIER = "__syncthreads()"

Order = Literal["warps", "threads"]
Simulate = Callable[[str, Order], Result]
"""Runs PTX in an order; with a trace."""


class ReorderedStep(TypedDict):
    """A part of a step of the trace, made at another time."""

    of: int  # the step with all barriers
    window: int  # barriers the block had passed
    first: int  # of the entries of that step
    count: int
    # Entries that are not what they should be: number among these, value, and the two factors.
    wrong: list[list[float | None]]


class WithoutBarrier(TypedDict):
    """The launch without the barrier of one line."""

    line: int
    order: Order  # what runs on alone to its next barrier
    problem: str  # the most relevant race that the simulator finds; empty if it finds none
    blocks: list[list[ReorderedStep]]


class StepPositions:
    """Where the entries of a block stand in the steps of its trace."""

    def __init__(self, entries: Entries, steps: Sequence[Column], moved: Sequence[bool]) -> None:
        """Take the entries with the factor of A first, as the trace has them."""
        self.entries = entries
        self.step = np.full(len(entries), -1)
        self.position = np.zeros(len(entries), dtype=np.int64)
        for number, those in enumerate(steps):
            self.step[those] = number
            self.position[those] = np.arange(len(those))
        self.moved = moved
        """For each step, whether it may change places with its neighbours: it uses registers."""


def launches_without_barrier(
    source: Sequence[str],
    first_line: int,
    ptx: str,
    shape: LaunchShape,
    places: Sequence[StepPositions],
    arrays: Sequence[str],
    run: Simulate,
) -> list[WithoutBarrier]:
    """Simulate a launch once for each barrier, without it.

    A barrier is left out of the list if a block has one thread, or if its threads would go another
    way without it. ``arrays`` are the names of those that the entries number.
    """
    if shape.threads < 2:
        return []
    order: Order = "warps" if shape.threads > WARP else "threads"
    found: list[WithoutBarrier] = []
    for line in [first_line + i for i, text in enumerate(source) if _BARRIER in text]:
        shorter = without_barrier(ptx, line)
        if shorter == ptx:
            continue
        result = run(shorter, order)
        assert result.trace is not None
        blocks = [
            _reordered_steps(block, entries_of(result.trace, number, arrays), order)
            for number, block in enumerate(places)
        ]
        races = [hazard for hazard in result.hazards if hazard.kind == RACE]
        problem = str(most_relevant(races)) if races else ""
        steps = [block for block in blocks if block is not None]
        if result.trace.complete and len(steps) == len(blocks):
            found.append({"line": line, "order": order, "problem": problem, "blocks": steps})
    return found


def without_barrier(ptx: str, line: int) -> str:
    """Return PTX without the barriers of one line of the source."""
    kept, here = [], 0
    for text in ptx.splitlines(keepends=True):
        place = re.match(r"\s*\.loc\s+\d+\s+(\d+)", text)
        if place:
            here = int(place[1])
        if not (here == line and re.match(r"\s*(?:bar|barrier)(?:\.cta)?\.sync", text)):
            kept.append(text)
    return "".join(kept)


def _reordered_steps(
    places: StepPositions, entries: Entries, order: Order
) -> list[ReorderedStep] | None:
    """Return the steps of a block in their new order; None if they are not the same steps."""
    before, now = places.entries, entries
    was, is_ = before.by_thread, now.by_thread
    same = len(was) == len(is_) and all(
        np.array_equal(before[name][was], now[name][is_])
        for name in ("thread", "line", "array", "element", "store")
    )
    if not same:
        return None
    meant = np.empty(len(now), dtype=np.int64)  # for each entry the one that it was
    meant[is_] = was
    size = WARP if order == "warps" else 1
    turn = now["thread"] // size
    parts: list[tuple[tuple[int, ...], Column]] = []
    run, last = 0, None
    for number in dict.fromkeys(now["step"].tolist()):
        those = np.flatnonzero(now["step"] == number)
        those = those[places.step[meant[those]] >= 0]
        for step in dict.fromkeys(places.step[meant[those]].tolist()):
            mine = those[places.step[meant[those]] == step]
            moves = places.moved[step]
            state = (int(turn[mine[0]]), int(now["window"][mine[0]]))
            # What only uses registers keeps the order that the trace gave it.
            run += not (moves and last == state)
            last = state if moves else None
            parts.append(((run, step), mine))
    parts.sort(key=lambda part: part[0])
    return [
        _reordered_step(places, entries, meant, piece)
        for _, mine in parts
        for piece in _neighbours(mine, places.position[meant[mine]])
    ]


def _neighbours(those: Column, position: Column) -> list[Column]:
    """Split entries where the next is not beside the last."""
    order = np.argsort(position)
    gaps = np.flatnonzero(np.diff(position[order]) != 1) + 1
    return np.split(those[order], gaps)


def _reordered_step(
    places: StepPositions, entries: Entries, meant: Column, those: Column
) -> ReorderedStep:
    before = places.entries
    wrong: list[list[float | None]] = []
    for i, (here, there) in enumerate(zip(those.tolist(), meant[those].tolist(), strict=True)):
        value, a, b = (_plain(entries[name][here]) for name in ("value", "a", "b"))
        values = [value, b, a] if before["swapped"][there] else [value, a, b]
        if values != [_plain(before[name][there]) for name in ("value", "a", "b")]:
            wrong.append([i, *values])
    return {
        "of": int(places.step[meant[those[0]]]),
        "window": int(entries["window"][those[0]]),
        "first": int(places.position[meant[those[0]]]),
        "count": len(those),
        "wrong": wrong,
    }


def _plain(value: Any) -> float | None:
    return float(value) if value == value else None
