"""Workers that take turns at one unit, each with a wait between its turns.

A worker uses the unit for ``work`` clocks and then waits ``wait`` clocks; the unit serves one at a
time, in a fixed order. ``turns.ts`` is the same in TypeScript; a test compares the two.
"""


def busy(work: float, wait: float, workers: int) -> float:
    """Return the share of the time that the unit is busy, at most 1.

    This is Little's law: ``workers`` turns of ``work`` clocks in every ``work + wait``.
    """
    return min(1.0, workers * work / (work + wait))
