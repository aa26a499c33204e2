"""Lamport clocks: what one warp did before another could go on is in an earlier window."""

from inside import inside

PRODUCER, CONSUMER, OTHER = range(3)


def test_a_warp_that_acquires_goes_on_in_a_later_window() -> None:
    # The next copy is made while others still wait; what is known already begins no window.
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


def test_warps_that_synchronize_go_on_in_the_same_window() -> None:
    *_, met, _, with_released, reset = inside(
        "clocked",
        [
            ["release", 0, PRODUCER],
            ["release", 0, PRODUCER],
            ["synchronize", 0, [PRODUCER, CONSUMER]],
            ["release", 0, PRODUCER],
            ["synchronize", 0, [CONSUMER, OTHER], "known"],
            ["start"],
        ],
    )
    assert met == [3, 3, 0]
    assert with_released == [4, 4, 4]
    assert reset == [0, 0, 0]
