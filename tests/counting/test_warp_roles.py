"""Walks of kernels whose warps wait for some others only: who does what, and when."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.step_trace import StepTrace, trace_steps
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, parse_kernel

TOY = "BM=64,BN=64,TM=4,TN=4,WM=16,WN=32,STAGES=2"
COPYING, MULTIPLYING = [8, 9, 10, 11], list(range(8))
SIZE = (4, 4, 20)


@cache
def producers() -> StepTrace:
    return trace_steps(load_kernel(f"producers:{TOY}"), SIZE)


def edited(old: str, new: str) -> Kernel:
    source = load_kernel(f"producers:{TOY}").source
    assert source.count(old) == 1
    return parse_kernel("edited", source.replace(old, new))


def deeds(found: StepTrace) -> list[tuple[int, int, set[tuple[str, int]]]]:
    """Each turn: its window, its role, and the arrays of shared memory with their stage."""
    turns: list[tuple[int, int, set[tuple[str, int]]]] = []
    for step in found["blocks"][0]:
        role = next(
            i for i, warps in enumerate(found["roles"]) if step["threads"][0] // 32 in warps
        )
        turn = (step["window"], role)
        if not turns or turns[-1][:2] != turn:
            turns.append((*turn, set()))
        array = found["arrays"][step["array"]]
        if array["space"] == "shared":
            stages = {row // array["shape"][1] for row in step["rows"]}
            turns[-1][2].update((array["name"], stage) for stage in stages)
    return turns


def test_those_who_copy_and_those_who_multiply_are_two_parties() -> None:
    assert producers()["roles"] == [COPYING, MULTIPLYING]
    assert producers()["problems"] == producers()["left_out"] == []
    for step in producers()["blocks"][0]:
        warps = {thread // 32 for thread in step["threads"]}
        assert warps <= set(COPYING) or warps <= set(MULTIPLYING)


def test_a_stage_is_filled_while_the_one_before_is_multiplied() -> None:
    turns = deeds(producers())
    both = sorted({window for window, _, _ in turns}, key=int)
    beside = [
        [used for window, _, used in turns if window == one]
        for one in both
        if sum(window == one for window, _, _ in turns) == 2
    ]
    filled = [{("As", stage), ("Bs", stage)} for stage in (1, 0, 1)]
    assert [used for used, _ in beside] == filled
    for copied, (_, read) in zip(filled, beside, strict=True):
        # The rows of A for the first k of a window are read ahead, when it is there.
        assert not copied & read
        assert {array for array, _ in read} == {"As", "Bs"}


def test_the_steps_stand_in_an_order_in_which_they_may_happen() -> None:
    found = producers()
    windows = [step["window"] for step in found["blocks"][0]]
    assert windows == sorted(windows)
    memory: dict[tuple[int, int, int], Any] = {}
    for step in found["blocks"][0]:
        array = found["arrays"][step["array"]]
        if array["space"] != "shared":
            continue
        for row, column, value in zip(step["rows"], step["columns"], step["values"], strict=True):
            place = (step["array"], row, column)
            if step["store"]:
                memory[place] = value
            assert memory[place] == value
    m, n, k = SIZE
    product = np.reshape(found["a"], (m, k)) @ np.reshape(found["b"], (k, n))
    stored = np.full((m, n), np.nan)
    for step in found["blocks"][0]:
        if found["arrays"][step["array"]]["name"] == "C":
            stored[step["rows"], step["columns"]] = step["values"]
    assert np.array_equal(stored, product)


def test_barriers_of_some_warps_count_as_barriers_of_a_block_do() -> None:
    found = trace_steps(edited("__syncthreads();", 'asm volatile("bar.sync 0, 384;");'), SIZE)
    assert found["blocks"] == producers()["blocks"]


def test_a_named_barrier_of_those_who_multiply_orders_them_alone() -> None:
    read = "mbarrierArrive(&emptied[now]);  // I have read this K tile"
    found = trace_steps(
        edited(read, f'{read}\n            asm volatile("bar.sync 1, 256;");'), SIZE
    )
    assert found["roles"] == [COPYING, MULTIPLYING]
    assert found["problems"] == []
    products = [step["values"] for step in found["blocks"][0] if step["a"]]
    assert products == [step["values"] for step in producers()["blocks"][0] if step["a"]]
    windows = [step["window"] for step in found["blocks"][0]]
    assert windows == sorted(windows)
    assert windows != [step["window"] for step in producers()["blocks"][0]]


def test_a_launch_that_races_keeps_the_order_in_which_it_went_wrong() -> None:
    found = trace_steps(edited("mbarrierWait(&filled[0], 0);", ""), SIZE)
    assert any("no barrier" in problem for problem in found["problems"])
    windows = [step["window"] for step in found["blocks"][0]]
    assert windows != sorted(windows)


def test_a_launch_that_waits_for_ever_is_told() -> None:
    with pytest.raises(LabError, match="The kernel waits forever"):
        trace_steps(edited("mbarrierWait(&emptied[now], 1 - phase);", ""), SIZE)
