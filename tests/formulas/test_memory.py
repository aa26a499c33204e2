"""Sectors and wavefronts of a request: an H200's counters, and a slow reference."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_reference import slow_sectors, slow_wavefronts

from sgemm_lab.formulas.memory import global_sectors, shared_cost

REQUESTS = json.loads((Path(__file__).parents[1] / "data" / "warp_requests_h200.json").read_text())[
    "requests"
]


@pytest.mark.parametrize(
    "request_",
    REQUESTS,
    ids=lambda r: f"{r['access']}-{r['bits']}-{r['pattern']}".replace(" ", "-"),
)
def test_equals_the_h200(request_: dict[str, Any]) -> None:
    index = np.array([request_["index"]])
    active = index >= 0
    width = request_["bits"] // 8
    addresses = np.where(active, index * width, 0)
    if request_["access"].startswith("global"):
        assert request_["requests"] == 1
        assert global_sectors(addresses, active, width).tolist() == [request_["sectors"]]
        return
    cost = shared_cost(addresses, active, width, is_load=request_["access"] == "shared load")
    assert cost.wavefronts.tolist() == [request_["wavefronts"]]
    assert cost.bank_conflicts.tolist() == [request_["bank_conflicts"]]


@st.composite
def warps(draw: st.DrawFn) -> tuple[int, list[list[int | None]]]:
    """A width and a few warps of aligned addresses, often with shared ones and patterns."""
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        stride = draw(st.integers(0, 40))
        repeat = draw(st.sampled_from([1, 2, 4, 8]))
        swap = draw(st.sampled_from([0, 1, 2, 3]))
        noise = draw(st.lists(st.integers(0, 200), min_size=32, max_size=32))
        noisy = draw(st.booleans())
        active = draw(st.integers(0, 2**32 - 1) | st.just(2**32 - 1))
        row: list[int | None] = []
        for lane in range(32):
            element = ((lane ^ swap) // repeat) * stride + (noise[lane] if noisy else 0)
            row.append(element * width if active >> lane & 1 else None)
        rows.append(row)
    return width, rows


@settings(max_examples=300, deadline=None)
@given(warps(), st.booleans())
def test_equals_a_plain_model(case: tuple[int, list[list[int | None]]], is_load: bool) -> None:
    width, rows = case
    active = np.array([[a is not None for a in row] for row in rows])
    addresses = np.array([[a or 0 for a in row] for row in rows])
    assert global_sectors(addresses, active, width).tolist() == [
        slow_sectors(row, width) for row in rows
    ]
    assert shared_cost(addresses, active, width, is_load=is_load).wavefronts.tolist() == [
        slow_wavefronts(row, width, is_load) for row in rows
    ]


def test_an_unaligned_request_touches_the_sectors_it_crosses() -> None:
    addresses = np.array([[28] + [0] * 31])
    active = np.array([[True] + [False] * 31])
    assert global_sectors(addresses, active, 8).tolist() == [2]
