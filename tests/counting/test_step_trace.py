"""Walks: every access of a kernel at a toy size."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.step_trace import StepTrace, trace_steps
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import parse_kernel

WRONG = Path(__file__).parents[1] / "wrong_kernels"


def steps_on(found: StepTrace, name: str, *, store: bool, block: int = 0) -> list[dict[str, Any]]:
    return [
        step
        for step in found["blocks"][block]
        if found["arrays"][step["array"]]["name"] == name and step["store"] is store
    ]


@pytest.mark.parametrize(
    ("name", "size", "windows", "steps"),
    [
        ("tiled:TILE=2", (4, 4, 8), 4, 41),
        ("sliding_window:TILE=2,BK=2", (4, 4, 8), 4, 41),
        ("float4_by_row:TILE=4,BK=4", (4, 4, 8), 2, None),
        ("float4_by_row:TILE=4,BK=4", (4, 4, 6), 2, None),
        ("register_cache:BM=4,BN=4,BK=4,TM=4,TN=4", (8, 8, 8), 2, None),
    ],
)
def test_the_toys_of_the_book(
    name: str, size: tuple[int, int, int], windows: int, steps: int | None
) -> None:
    found = trace_steps(load_kernel(name), size)
    m, n, k = size
    assert found["size"] == [m, n, k]
    assert found["problems"] == []
    # Each K-window has two barriers, and after the last one C is stored.
    assert {step["epoch"] for step in found["blocks"][0]} == set(range(2 * windows + 1))
    if steps:
        assert len(found["blocks"][0]) == steps
    # The sums stored are those of the product.
    product = np.reshape(found["a"], (m, k)) @ np.reshape(found["b"], (k, n))
    stored = np.full((m, n), np.nan)
    for block in range(len(found["blocks"])):
        for step in steps_on(found, "C", store=True, block=block):
            stored[step["rows"], step["columns"]] = step["values"]
    assert np.array_equal(stored, product)


def test_values_tell_where_a_copy_comes_from() -> None:
    found = trace_steps(load_kernel("sliding_window:TILE=2,BK=2"), (4, 4, 8))
    first, second = steps_on(found, "As", store=True, block=2)[:2]  # rows 2 and 3 of A
    places = list(zip(first["rows"], first["columns"], strict=True))
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert first["threads"] == [0, 1, 2, 3]
    assert first["values"] == [17, 18, 25, 26]  # A[2,0] A[2,1] A[3,0] A[3,1]
    assert second["values"] == [19, 20, 27, 28]
    assert len(set(found["a"]) | set(found["b"])) == 64
    text = found["source"][first["line"] - found["first_line"]]
    assert text.strip().startswith("As[ty][l + tx] = ")


def test_of_a_large_tile_only_what_holds_numbers_is_kept() -> None:
    found = trace_steps(load_kernel("double_buffer:BM=64,BN=64,BK=4"), (8, 8, 12))
    shapes = {array["name"]: array for array in found["arrays"]}
    assert shapes["As"]["shape"] == [2, 4, 68]
    assert (shapes["As"]["rows"], shapes["As"]["columns"]) == (8, 8)  # both buffers, rows of A
    reads = steps_on(found, "As", store=False)
    assert {thread for step in reads for thread in step["threads"]} == {0, 1, 8, 9}
    assert {row for step in reads for row in step["rows"]} == set(range(8))


def test_a_walk_says_where_the_launch_fails() -> None:
    source = (WRONG / "outside_load.cu").read_text()
    found = trace_steps(parse_kernel("outside_load", source).with_constants(TILE=2), (5, 2, 4))
    # The third row of blocks has one row of A too many, in every window of K.
    assert [[bool(step["fault"]) for step in steps].count(True) for steps in found["blocks"]] == [
        0,
        0,
        1,
    ]
    step = next(step for step in found["blocks"][2] if step["fault"])
    assert "thread (0, 1) of block (0, 2) reads element 20 of A" in step["fault"]
    assert step["threads"] == step["rows"] == step["columns"] == step["values"] == []
    assert found["arrays"][step["array"]]["name"] == "A"
    assert found["problems"] == [step["fault"]]  # and not what follows from it


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ((4, 40, 8), "M and N go up to 12, K and .* up to 24: take 4×12×8"),
        ((8, 8, 20), "take 8×8×16"),
        ((20, 4, 20), "take 12×4×12"),
    ],
)
def test_sizes_that_cannot_be_drawn_are_refused_with_one_that_can(
    size: tuple[int, int, int], words: str
) -> None:
    with pytest.raises(LabError, match=rf"is too large to be drawn .*{words}"):
        trace_steps(load_kernel("naive"), size)


def test_warps_that_wait_without_the_others_are_refused() -> None:
    with pytest.raises(LabError, match="some warps wait without the others"):
        trace_steps(load_kernel("producers"), (4, 4, 8))
