"""Barriers count threads, whichever instruction brings them there."""

import numpy as np
from simulator_kernels import ptx_of

from sgemm_lab.simulator import simulate


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
