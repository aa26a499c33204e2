"""Sectors and wavefronts of a request: an H200's counters, and a slow reference."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_reference import slow_sectors, slow_wavefronts

from sgemm_lab.simulator.formulas import asked, global_sectors, shared_wavefronts

REQUESTS = json.loads((Path(__file__).parents[1] / "data" / "warp_requests_h200.json").read_text())[
    "requests"
]


@pytest.mark.parametrize("access", ["global load", "global store", "shared load", "shared store"])
def test_equals_the_h200(access: str) -> None:
    requests = [request for request in REQUESTS if request["access"] == access]
    assert len(requests) > 40
    for request in requests:
        width = request["bits"] // 8
        addresses = [one * width if one >= 0 else None for one in request["index"]]
        if access.startswith("global"):
            assert request["requests"] == 1
            assert global_sectors(addresses, width) == request["sectors"], request
        else:
            found = shared_wavefronts(addresses, width, is_load=access == "shared load")
            phases = {tuple(wave.phase) for wave in found}
            assert len(found) == request["wavefronts"], request
            assert len(found) - len(phases) == request["bank_conflicts"], request


@st.composite
def requests(draw: st.DrawFn) -> tuple[int, list[int | None]]:
    """A width and 32 aligned addresses, often with shared ones and patterns."""
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    stride, repeat = draw(st.integers(0, 40)), draw(st.sampled_from([1, 2, 4, 8]))
    swap = draw(st.integers(0, 3))
    noise = draw(st.just([0] * 32) | st.lists(st.integers(0, 200), min_size=32, max_size=32))
    active = draw(st.just(2**32 - 1) | st.integers(0, 2**32 - 1))
    return width, [
        width * (((lane ^ swap) // repeat) * stride + noise[lane]) if active >> lane & 1 else None
        for lane in range(32)
    ]


@settings(max_examples=300, deadline=None)
@given(requests(), st.booleans())
def test_equals_a_plain_model(case: tuple[int, list[int | None]], is_load: bool) -> None:
    width, addresses = case
    assert global_sectors(addresses, width) == slow_sectors(addresses, width)
    found = shared_wavefronts(addresses, width, is_load=is_load)
    assert len(found) == slow_wavefronts(addresses, width, is_load)
    served = sorted(lane for wave in found for lanes in wave.words.values() for lane in lanes)
    assert served == [lane for lane, address in enumerate(addresses) if address is not None]


def test_what_a_lane_asks_for_has_the_names_of_its_elements() -> None:
    place = {"array": "As", "start": 64, "shape": [2, 4, 68]}
    wide, narrow = asked(place, [64, None, 64 + 4 * 273], 16), asked(place, [64], 4)
    assert wide == ["As[0][0][0] to As[0][0][3], bytes 64 to 79",
                    "As[1][0][1] to As[1][0][4], bytes 1,156 to 1,171"]  # fmt: skip
    assert narrow == ["As[0][0][0], bytes 64 to 67"]
    assert asked(None, [0], 8) == ["bytes 0 to 7"]
