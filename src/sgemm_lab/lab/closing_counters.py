"""What counters add to a closing box: what warps wait for, and the parts of a factor."""

from collections.abc import Mapping

from sgemm_lab.text import percent

WAITS = {
    "long_scoreboard": "global memory",
    "lg_throttle": "the queue to global memory",
    "short_scoreboard": "shared memory",
    "mio_throttle": "the queue to shared memory",
    "barrier": "other warps at a barrier",
    "dispatch_stall": "register banks",
    "wait": "the instruction before",
    "math_pipe_throttle": "busy arithmetic units",
    "no_instruction": "the instruction itself",
    "branch_resolving": "a branch",
}
"""What a warp waits for, by the GPU's reason. A warp that is ready and not taken does not wait."""

_STALLED = "stalled_"
_MOST, _LEAST = 3, 0.05


def waits_text(counters: Mapping[str, float]) -> str:
    """Return the main reasons for which warps wait, as shares of their time.

    It is "" without counters.

    Args:
        counters: ``MeasuredBound.numbers``.
    """
    stalls = {name: value for name, value in counters.items() if name.startswith(_STALLED)}
    total = sum(stalls.values())
    shares = {words: stalls.get(_STALLED + name, 0.0) for name, words in WAITS.items()}
    longest = sorted(shares.items(), key=lambda one: -one[1])[:_MOST]
    return ", ".join(
        f"{words} {percent(value / total)}" for words, value in longest if value > _LEAST * total
    )


def parts_text(before: Mapping[str, float], now: Mapping[str, float], sms: int) -> str:
    """Return a factor as the product of its parts: instructions, slots filled, SMs at work.

    It is "" where one of the two launches was not counted.

    Args:
        before: ``MeasuredBound.numbers`` of the kernel before, at the same size.
        now: those of the kernel.
        sms: of the GPU.
    """
    if not all("issue_active_percent" in one for one in (before, now)):
        return ""
    instructions = before["warp_instructions"] / now["warp_instructions"]
    slots = now["issue_active_percent"] / before["issue_active_percent"]
    busy = _busy(now, sms) / _busy(before, sms)
    return (
        f"instructions {instructions:.3f} × slots filled {slots:.3f} × SMs at work {busy:.3f} = "
        f"{instructions * slots * busy:.3f}"
    )


def _busy(counters: Mapping[str, float], sms: int) -> float:
    """Return the share of the launch in which an SM has work."""
    return counters["sm_active_cycles"] / sms / counters["sm_elapsed_cycles"]
