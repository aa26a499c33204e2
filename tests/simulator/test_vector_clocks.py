"""Windows of time: what one warp did before another could go on stands in an earlier one."""

import numpy as np

from sgemm_lab.simulator.vector_clocks import Clocks

PRODUCER, CONSUMER, OTHER = range(3)


def windows(clocks: Clocks) -> list[int]:
    return [int(one) for one in clocks.windows(np.zeros(3, int), np.arange(3))]


def test_who_waits_goes_on_in_a_later_window_than_what_was_told() -> None:
    clocks = Clocks(1, 3)
    filled = clocks.tell(0, PRODUCER)
    assert windows(clocks) == [1, 0, 0]  # the next copy is made while others still wait
    clocks.hear(0, CONSUMER, filled)
    assert windows(clocks) == [1, 1, 0]
    emptied = clocks.tell(0, CONSUMER)
    clocks.hear(0, PRODUCER, emptied)
    assert windows(clocks) == [2, 2, 0]


def test_what_is_known_already_begins_no_window() -> None:
    clocks = Clocks(1, 3)
    filled = clocks.tell(0, PRODUCER)
    for _ in range(2):
        clocks.hear(0, CONSUMER, filled)
    assert windows(clocks) == [1, 1, 0]


def test_who_meets_goes_on_in_the_same_window() -> None:
    clocks = Clocks(1, 3)
    clocks.tell(0, PRODUCER)
    clocks.tell(0, PRODUCER)
    clocks.meet(0, np.array([PRODUCER, CONSUMER]))
    assert windows(clocks) == [3, 3, 0]
    clocks.meet(0, np.array([CONSUMER, OTHER]), heard=clocks.tell(0, PRODUCER))
    assert windows(clocks) == [4, 4, 4]


def test_a_fresh_block_begins_anew() -> None:
    clocks = Clocks(1, 3)
    clocks.meet(0, np.arange(3))
    clocks.start()
    assert windows(clocks) == [0, 0, 0]
