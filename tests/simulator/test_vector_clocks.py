"""Lamport clocks: what one warp did before another could go on is in an earlier window."""

import numpy as np

from sgemm_lab.simulator.vector_clocks import VectorClocks

PRODUCER, CONSUMER, OTHER = range(3)


def windows(clocks: VectorClocks) -> list[int]:
    return [int(one) for one in clocks.windows(np.zeros(3, int), np.arange(3))]


def test_a_warp_that_acquires_goes_on_in_a_later_window() -> None:
    clocks = VectorClocks(1, 3)
    filled = clocks.release(0, PRODUCER)
    assert windows(clocks) == [1, 0, 0]  # the next copy is made while others still wait
    for _ in range(2):  # what is known already begins no window
        clocks.acquire(0, CONSUMER, filled)
        assert windows(clocks) == [1, 1, 0]
    emptied = clocks.release(0, CONSUMER)
    clocks.acquire(0, PRODUCER, emptied)
    assert windows(clocks) == [2, 2, 0]


def test_warps_that_synchronize_go_on_in_the_same_window() -> None:
    clocks = VectorClocks(1, 3)
    clocks.release(0, PRODUCER)
    clocks.release(0, PRODUCER)
    clocks.synchronize([(0, PRODUCER), (0, CONSUMER)])
    assert windows(clocks) == [3, 3, 0]
    clocks.synchronize([(0, CONSUMER), (0, OTHER)], clocks.release(0, PRODUCER))
    assert windows(clocks) == [4, 4, 4]
    clocks.start()
    assert windows(clocks) == [0, 0, 0]
