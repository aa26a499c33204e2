"""A GPU's counters in words: what warps wait for, and the parts of a factor."""

from collections.abc import Mapping
from typing import NamedTuple

from sgemm_lab.text import percent

NAMES = {
    "long_scoreboard": "global memory (long scoreboard)",
    "lg_throttle": "the queue to global memory (LG throttle)",
    "short_scoreboard": "shared memory (short scoreboard)",
    "mio_throttle": "the queue to shared memory (MIO throttle)",
    "barrier": "other warps (barrier)",
    "dispatch_stall": "register banks (dispatch stall)",
    "wait": "the previous instruction's result (wait)",
    "math_pipe_throttle": "a busy arithmetic pipe (math pipe throttle)",
    "no_instruction": "instruction fetch (no instruction)",
    "branch_resolving": "a branch (branch resolving)",
    "drain": "its last stores (drain)",
    "imc_miss": "a constant (IMC miss)",
    "membar": "a memory fence (membar)",
    "sleeping": "the end of a sleep (sleeping)",
    "not_selected": "its turn (not selected)",
}
"""What a warp waits for, and Nsight Compute's name of that stall reason.

A warp that is "not selected" is ready; "selected" is the issue itself.
"""

WARP_GROUP_NAMES = {
    **NAMES,
    "barrier": "wgmma or other warps (barrier)",
    "long_scoreboard": "an mbarrier or global memory (long scoreboard)",
}
"""The same where warp groups multiply: ``wgmmaWait`` and polls of an mbarrier count there, too."""


class Parts(NamedTuple):
    """A factor between two launches as the product of what was counted."""

    instructions: float
    slots: float
    """Of the issue slots filled."""
    sms: float
    """Of the time in which SMs have work."""
    clock: float = 1.0
    """Of the SMs' clocks."""

    @property
    def product(self) -> float:
        """The factor."""
        return self.instructions * self.slots * self.sms * self.clock

    @property
    def all(self) -> str:
        """The product written out."""
        return " × ".join(f"{value:.3f} by {words}" for words, value in self._named)

    @property
    def _named(self) -> list[tuple[str, float]]:
        clock = [("the clock", self.clock)] if self.clock != 1 else []
        return [
            ("the number of instructions", self.instructions),
            ("slots filled", self.slots),
            ("SMs that have a block", self.sms),
            *clock,
        ]


_STALLED = "stalled_"
_READY = ("selected", "not_selected")
_LEAST = 0.02


def waits(counters: Mapping[str, float], names: Mapping[str, str] = NAMES) -> dict[str, float]:
    """Return the shares of their time that warps wait for each reason, longest first.

    It is empty without counters. A warp that is ready does not wait. ``names`` of the reasons are
    ``NAMES`` or ``WARP_GROUP_NAMES``.
    """
    total = _between(counters)
    if not total:
        return {}
    waiting = {
        words: counters.get(_STALLED + reason, 0.0) / total
        for reason, words in names.items()
        if reason not in _READY
    }
    return dict(sorted(waiting.items(), key=lambda one: -one[1]))


def time_text(counters: Mapping[str, float], names: Mapping[str, str] = NAMES) -> str:
    """Return what a warp does from one of its instructions to the next; "" without counters."""
    shares = waits(counters, names)
    if not shares:
        return ""
    total = _between(counters)
    issue, ready = (counters[_STALLED + name] / total for name in _READY)
    shown = {words: share for words, share in shares.items() if share >= _LEAST}
    parts = [f"{percent(share)} for {words}" for words, share in shown.items()]
    rest = 1 - issue - ready - sum(shown.values())
    if rest >= 0.005:
        parts.append(f"{percent(rest)} for other reasons")
    return (
        f"{total:.2f} clocks from one instruction to the next. It issues for {percent(issue)} of "
        f"them, is ready but not selected for {percent(ready)}, and waits {', '.join(parts)}."
    )


def _between(counters: Mapping[str, float]) -> float:
    """Return the clocks from one instruction of a warp to its next; 0 without counters."""
    return sum(value for name, value in counters.items() if name.startswith(_STALLED))


def parts(before: Mapping[str, float], now: Mapping[str, float], sms: int) -> Parts | None:
    """Return the parts of a factor; None where one of the two launches was not counted.

    Both launches have one size, and their ``MeasuredBound.numbers`` are given.
    """
    if not all("issue_active_percent" in one for one in (before, now)):
        return None
    clocks = [one.get("clock_mhz") for one in (before, now)]
    return Parts(
        before["warp_instructions"] / now["warp_instructions"],
        now["issue_active_percent"] / before["issue_active_percent"],
        _busy(now, sms) / _busy(before, sms),
        clocks[1] / clocks[0] if clocks[0] and clocks[1] else 1.0,
    )


def plain(waits_for: str) -> str:
    """Return what a warp waits for without Nsight's name of it."""
    return waits_for.partition(" (")[0]


def _busy(counters: Mapping[str, float], sms: int) -> float:
    """Return the share of the launch in which an SM has work."""
    return counters["sm_active_cycles"] / sms / counters["sm_elapsed_cycles"]
