"""Barriers in memory, bulk copies, and warps with different tasks."""

import numpy as np
from simulator_kernels import ptx_of

from sgemm_lab.simulator import simulate


def test_elect_names_one_lane_of_a_warp() -> None:
    source = """
    extern "C" __global__ void k(int* C) {
        unsigned chosen;
        asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
                     : "=r"(chosen));
        C[threadIdx.x] = chosen;
    }"""
    args = {"C": np.zeros(64, np.int32)}
    found = simulate(ptx_of(source), "k", (1,), (64,), args).arrays["C"]
    assert found.tolist() == [1 if lane % 32 == 0 else 0 for lane in range(64)]


IGNORE = """
extern "C" __global__ void k(const float* A, float* C, int n) {
    __shared__ __align__(16) float tile[128];
    unsigned to = __cvta_generic_to_shared(tile + 4 * threadIdx.x);
    asm volatile("{ .reg.pred p; setp.ge.s32 p, %2, %3;"
                 " cp.async.cg.shared.global [%0], [%1], 16, p; }"
                 :: "r"(to), "l"(A + 4 * threadIdx.x), "r"((int)threadIdx.x), "r"(n) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int i = 0; i < 4; ++i) C[4 * threadIdx.x + i] = tile[4 * threadIdx.x + i];
}"""


def test_a_copy_whose_predicate_says_ignore_reads_nothing_and_fills_zeros() -> None:
    a = np.arange(1, 41, dtype=np.float32)
    args = {"A": a, "C": np.full(128, np.nan, np.float32), "n": 10}
    result = simulate(ptx_of(IGNORE, "sm_80"), "k", (1,), (32,), args)
    assert result.hazards == []
    assert np.array_equal(result.arrays["C"], np.concatenate([a, np.zeros(88, np.float32)]))


def test_acquire_and_release_are_loads_and_stores() -> None:
    source = """
    extern "C" __global__ void k(int* C) {
        int v, *p = C + threadIdx.x;
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
        asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(p), "r"(v + 1) : "memory");
    }"""
    args = {"C": np.arange(32, dtype=np.int32)}
    found = simulate(ptx_of(source), "k", (1,), (32,), args).arrays["C"]
    assert found.tolist() == list(range(1, 33))
