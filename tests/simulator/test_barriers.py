"""Barriers count threads, whichever instruction brings them there."""

import numpy as np
import pytest
from simulator_kernels import NAMED, TWO_BRANCHES, ptx_of

from sgemm_lab.simulator import Result, simulate

LAST = "LAST_BARRIER=__syncthreads();"


def run(ptx: str, schedule: str, parts: int = 128) -> Result:
    args = {"C": np.arange(128, dtype=np.float32), "parts": parts}
    return simulate(ptx, "k", (3,), (128,), args, schedule=schedule)


def expected() -> np.ndarray:
    values = np.arange(128, dtype=np.float32)
    first = sum(2 * values[::-1] + turn for turn in range(3))
    second = -sum(values[::-1] + turn for turn in range(3))
    return np.where(np.arange(128) < 64, first, second)


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_halves_of_a_block_may_meet_at_two_barriers(schedule: str) -> None:
    ptx = ptx_of(TWO_BRANCHES, "sm_90", "FIRST_ONLY=", LAST)
    args = {"C": np.arange(128, dtype=np.float32), "parts": 128}
    result = simulate(ptx, "k", (1,), (128,), args, schedule=schedule)
    assert np.array_equal(result.arrays["C"], expected())
    assert result.hazards == []
    (warning,) = result.warnings
    assert warning.kind == "split barrier"
    assert (warning.location.line, warning.other_location.line) in {(9, 14), (14, 9)}
    assert "A GPU counts both alike, which is right only where" in str(warning)
    assert result.counts.total.barriers == 6


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_a_race_between_the_halves_is_still_found(schedule: str) -> None:
    ptx = ptx_of(TWO_BRANCHES, "sm_90", "FIRST_ONLY=", "LAST_BARRIER=")
    assert "race" in {hazard.kind for hazard in run(ptx, schedule).hazards}


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_threads_of_one_warp_must_meet_at_one_barrier(schedule: str) -> None:
    ptx = ptx_of(TWO_BRANCHES, "sm_90", "FIRST_ONLY=", LAST)
    args = {"C": np.arange(128, dtype=np.float32), "parts": 32}
    result = simulate(ptx, "k", (1,), (128,), args, schedule=schedule)
    (hazard,) = result.hazards
    assert hazard.kind == "barrier"
    assert "do not reach this __syncthreads()" in str(hazard)


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_a_barrier_more_in_one_branch_shifts_the_phases(schedule: str) -> None:
    """The hardware lets it pass: the halves are then one barrier apart, which is a race."""
    ptx = ptx_of(TWO_BRANCHES, "sm_90", "FIRST_ONLY=__syncthreads();", LAST)
    assert "race" in {hazard.kind for hazard in run(ptx, schedule).hazards}


def test_blocks_that_part_differently_do_not_wait_for_each_other() -> None:
    source = """
    extern "C" __global__ void k(float* C, int turns) {
        __shared__ float tile[64];
        int t = threadIdx.x;
        float sum = 0.0f;
        for (int turn = 0; turn < turns + blockIdx.x; ++turn) {
            tile[t] = C[t] + turn;
            __syncthreads();
            if (t < 32 && turn % 2 == blockIdx.x % 2) { sum += tile[63 - t]; __syncthreads(); }
            else { sum -= tile[63 - t]; __syncthreads(); }
        }
        C[64 + blockIdx.x * 64 + t] = sum;
    }"""
    values = np.arange(64 + 64 * 5, dtype=np.float32)
    result = simulate(ptx_of(source), "k", (5,), (64,), {"C": values, "turns": 2})
    assert result.hazards == []
    t = np.arange(64)
    for block in range(5):
        total = np.zeros(64)
        for turn in range(2 + block):
            sign = np.where((t < 32) & (turn % 2 == block % 2), 1, -1)
            total += sign * (63 - t + turn)
        assert np.array_equal(result.arrays["C"][64 + 64 * block :][:64], total)


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_a_barrier_of_some_threads_waits_for_them_alone(schedule: str) -> None:
    ptx = ptx_of(NAMED, "sm_90", "GROUP=0", "THREADS=64", "DISTANCE=32")
    values = np.arange(128, dtype=np.float32)
    result = simulate(ptx, "k", (2,), (128,), {"C": values}, schedule=schedule)
    one = simulate(ptx, "k", (1,), (128,), {"C": values}, schedule=schedule)
    assert result.hazards == one.hazards == []
    assert np.array_equal(one.arrays["C"][:64], values[:64].reshape(2, 32)[::-1].reshape(-1))
    assert (one.arrays["C"][64:] == -1).all()


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_each_warp_may_have_a_barrier_of_its_own(schedule: str) -> None:
    values = np.arange(128, dtype=np.float32)
    near = ptx_of(NAMED, "sm_90", "GROUP=t/32", "THREADS=32", "DISTANCE=1")
    result = simulate(near, "k", (1,), (128,), {"C": values}, schedule=schedule)
    assert result.hazards == []
    assert np.array_equal(result.arrays["C"][:64], values[:64].reshape(32, 2)[:, ::-1].reshape(-1))
    far = ptx_of(NAMED, "sm_90", "GROUP=t/32", "THREADS=32", "DISTANCE=32")
    result = simulate(far, "k", (1,), (128,), {"C": values}, schedule=schedule)
    assert "race" in {hazard.kind for hazard in result.hazards}


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_a_barrier_that_expects_more_threads_than_come_is_named(schedule: str) -> None:
    ptx = ptx_of(NAMED, "sm_90", "GROUP=0", "THREADS=96", "DISTANCE=1")
    args = {"C": np.arange(128, dtype=np.float32)}
    result = simulate(ptx, "k", (1,), (128,), args, schedule=schedule)
    (hazard,) = [hazard for hazard in result.hazards if hazard.kind == "barrier"]
    assert hazard.location.line == 7
