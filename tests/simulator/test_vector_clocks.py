"""Lamport clocks: what one warp did before another could go on is in an earlier epoch."""

from inside import inside

PRODUCER, CONSUMER, OTHER = range(3)


def test_a_warp_that_acquires_goes_on_in_a_later_epoch() -> None:
    # The next copy is made while others still wait; what is known already begins no epoch.
    assert inside(
        "clocked",
        [
            ["release", 0, PRODUCER],
            ["acquire", 0, CONSUMER, "known"],
            ["acquire", 0, CONSUMER, "known"],
            ["release", 0, CONSUMER],
            ["acquire", 0, PRODUCER, "known"],
        ],
    ) == [[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 2, 0], [2, 2, 0]]
