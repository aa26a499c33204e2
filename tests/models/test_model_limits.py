"""Which roof limits a kernel: the words say the numbers of the case."""

import re
from typing import Any

import pytest

from sgemm_lab.models.limits import ABOVE, FAR, ceilings, limit_words

GPU: dict[str, Any] = {
    "id": "one",
    "name": "One",
    "peak_gflops": 8000.0,
    "levels": [
        {"id": "dram", "label": "DRAM", "gbs": 1000.0, "measured": True},
        {"id": "l2", "label": "L2", "gbs": 2000.0, "measured": True},
        {"id": "shared", "label": "Shared memory", "gbs": 4000.0, "measured": True},
    ],
}
INTENSITIES = {"dram": 1.0, "l2": 1.5, "shared": 1.25}
"""Roofs of 1,000, 3,000 and 5,000 GFLOP/s."""


def points(gflops: float, kind: str = "measured", **intensities: float) -> list[dict[str, Any]]:
    return [
        {"level": level, "kind": kind, "intensity": intensity, "gflops": gflops}
        for level, intensity in (INTENSITIES | intensities).items()
    ]


def test_roofs_stand_lowest_first_below_the_peak() -> None:
    found = ceilings(GPU, points(900.0))
    assert [(one.level, one.gflops) for one in found] == [
        ("dram", 1000), ("l2", 3000), ("shared", 5000), ("peak", 8000),
    ]  # fmt: skip


def test_a_roof_as_high_as_the_peak_or_below_the_kernel_is_left_out() -> None:
    assert [one.level for one in ceilings(GPU, points(900.0, l2=4.0))] == ["dram", "shared", "peak"]
    at_once = ABOVE * 1000
    assert ceilings(GPU, points(at_once))[0].level == "dram"
    assert ceilings(GPU, points(at_once + 1))[0].level == "l2"


@pytest.mark.parametrize(
    ("gflops", "share", "far"), [(900, "90 %", False), (500, "50 %", False), (499, "50 %", True)]
)
def test_the_next_roof_is_the_lowest_of_the_others(gflops: float, share: str, far: bool) -> None:
    said = limit_words(GPU, points(gflops))
    assert f"is DRAM, 1,000 GFLOP/s; it reaches {share} of that. The next is L2 at 3,000" in said
    assert "it takes 3 times fewer DRAM bytes per FLOP." in said
    assert ("more than bytes holds it back" in said) is far
    assert far is (gflops < FAR * 1000)


def test_shared_memory_is_told_in_wavefronts() -> None:
    said = limit_words(GPU, points(4000.0, dram=9.0, l2=9.0))
    wavefronts = 64 / (128 * 1.25)  # a warp's multiply-adds are 64 FLOP, a wavefront 128 bytes
    assert f"is shared memory, 5,000 GFLOP/s ({wavefronts:.3g} wavefronts" in said
    assert "1.6 times fewer wavefronts per multiply-add." in said


def test_a_bound_that_is_known_stands_alone_with_its_share() -> None:
    known = [one | {"bound_by": "L1", "bound_gflops": 2000.0} for one in points(500.0)]
    said = limit_words(GPU, known)
    assert said == "L1 bounds this kernel: at most 2,000 GFLOP/s. It reaches 25 % of that."


def test_what_was_not_measured_is_held_to_the_lowest_roof_and_the_peak() -> None:
    said = limit_words(GPU, points(1000.0, "predicted"))
    assert re.search(r"DRAM would leave it 1,000 GFLOP/s; .+ takes 8 times fewer", said)


def test_a_kernel_above_every_roof_is_held_to_no_roof() -> None:
    one = [point for point in points(ABOVE * 1000 + 1) if point["level"] == "dram"]
    assert "1.25 times" in limit_words(GPU, one)
    at_the_edge = [point | {"gflops": ABOVE * 1000} for point in one]
    assert "it reaches 125 % of that" in limit_words(GPU, at_the_edge)
