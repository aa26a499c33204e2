"""Barriers count threads, whichever instruction brings them there."""

import numpy as np
import pytest
from simulator_kernels import ptx_of

from sgemm_lab.simulator import DeadlockError, simulate


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


def test_a_barrier_that_counts_too_few_is_reported() -> None:
    source = """
    extern "C" __global__ void k(float* C, int half) {
        __shared__ float tile[128];
        int t = threadIdx.x;
        tile[t] = C[t];
        asm volatile("bar.sync %0, COUNT;" :: "r"(half ? t / 64 + 1 : 1) : "memory");
        C[t] = tile[t ^ 32];
    }"""

    def found(count: int, half: int) -> list[str]:
        values = np.arange(128, dtype=np.float32)
        given = {"C": values, "half": half}
        ptx = ptx_of(source.replace("COUNT", f"{count}"))
        return [str(one) for one in simulate(ptx, "k", (1,), (128,), given).hazards]

    assert found(64, half=1) == []
    assert found(128, half=0) == []
    assert any("waits for 32 threads" in one and "64 wait there" in one for one in found(32, 1))
    assert any("waits for 64 threads" in one for one in found(64, half=0))


def test_who_waits_for_a_block_that_comes_later_does_not_miss_a_barrier() -> None:
    source = """
    extern "C" __global__ void k(float* C, int* flag) {
        if (blockIdx.x == 1) { __syncthreads(); if (threadIdx.x == 0) atomicExch(flag, 1); }
        else {
            if (threadIdx.x == 0) while (atomicAdd(flag, 0) == 0) {}
            __syncthreads();
            C[threadIdx.x] = 1.0f;
        }
    }"""
    given = {"C": np.zeros(64, "f4"), "flag": np.zeros(1, "i4")}
    assert simulate(ptx_of(source), "k", (2,), (64,), given).hazards == []
    with pytest.raises(DeadlockError):
        simulate(ptx_of(source), "k", (2,), (64,), given, schedule="warps", max_basic_blocks=10**5)


LOCK = """extern "C" __global__ void k(int* lock, int* sum) {{
    int key = threadIdx.x % 3;
    while (atomicCAS(&lock[key], 0, 1)) {{ }}
    __threadfence();
    volatile int* own = sum;
    own[key] = own[key] + 1;
    __threadfence();
    {release}
}}"""


def test_a_thread_that_holds_a_lock_does_not_wait_for_those_of_its_warp() -> None:
    given = {"lock": np.zeros(3, "i4"), "sum": np.zeros(3, "i4")}
    source = LOCK.format(release="atomicExch(&lock[key], 0);")
    result = simulate(ptx_of(source), "k", (2,), (64,), given, watch_races_in=("sum",))
    assert result.hazards == []
    assert result.arrays["sum"].tolist() == [44, 42, 42]
    with pytest.raises(DeadlockError):
        simulate(ptx_of(LOCK.format(release="")), "k", (2,), (64,), given)
