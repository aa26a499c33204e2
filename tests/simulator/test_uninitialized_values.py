"""Memory that nothing wrote: a hazard where what is read does harm, and only there.

Each kernel reads words of shared memory that nothing wrote. What becomes of them decides.
"""

import numpy as np
import pytest
from golden_launch import Case
from inside import inside, plain_launch
from simulator_kernels import gemm_inputs, ptx_of

HEAD = """
extern "C" __global__ void k(const int* A, int* C, int n) {
    __shared__ int tile[64], other[64];
    __shared__ unsigned char bytes[64];
    volatile int* here = tile;
    int t = threadIdx.x;
    if (t < n) { here[t] = A[t]; other[t] = A[t]; bytes[t] = t; }
    __syncthreads();
    int v = here[t];
"""
"""Behind it v is set in the first n threads only."""

HARMLESS = {
    "not stored": "if (t < n) C[t] = v;",
    "worked with, and not stored": "v = v * 3 + 7; v ^= v >> 3; if (t < n) C[t] = v;",
    "another value is chosen": "C[t] = t < n ? v : 5;",
    "overwritten": "int w = v; v = t + C[0]; if (w == 0 && t < n) v = 1; if (t < n) C[t] = v;",
    "stored in shared memory, and not read": (
        "volatile int* there = other; there[t] = v; __syncthreads(); if (t < n) C[t] = there[t];"
    ),
    "stored in shared memory, and overwritten": (
        "volatile int* there = other; there[t] = v; __syncwarp(); there[t] = t; C[t] = there[t];"
    ),
    "a byte of it overwritten": (
        "volatile unsigned char* there = bytes; there[t] = v; there[t] = 3; C[t] = there[t];"
    ),
    "from another lane that has one": "C[t] = __shfl_sync(~0u, v, t % n);",
    "in lanes that the sum leaves out": (
        "for (int d = 4; d; d /= 2) v += __shfl_down_sync(~0u, v, d); if (t == 0) C[0] = v;"
    ),
    "another condition settles it": "if ((t < n) & (v > 3)) C[t] = 2;",
    "another condition settles that it holds": "if ((t >= n) | (v > 3)) C[t] = 2;",
    "a guard of its own": "int w = 2; if (t < n) w = v; C[t] = w;",
    "stored in local memory": (
        "int own[8]; for (int i = 0; i < 8; ++i) own[i] = i + v;if (t < n) C[t] = own[A[t] & 7];"
    ),
    "added up beside what is stored": (
        "if (t == 40) atomicAdd(other + t, 1); if (t == 41) C[t] = atomicAdd(other + 2, 4);"
    ),
}
HARMFUL = {
    "stored": "C[t] = v;",
    "worked with, then stored": "v = v * 3 + 7; v ^= v >> 3; C[t] = v;",
    "chosen": "C[t] = t > n / 2 ? v : t;",
    "an address of global memory": "if (t < n) C[t] = 1; else C[v & 31] = 2;",
    "an address of shared memory": "C[t] = other[t < n ? t : v & 7];",
    "decides a branch": "if (v > 3) { __syncwarp(__activemask()); C[t] = 3; }",
    "decides beside another condition": "if ((t < n + 4) & (v > 3)) C[t] = 2;",
    "decides in spite of another condition": "if ((t >= n + 4) | (v > 3)) C[t] = 2;",
    "decides beside what nothing set either": "if ((here[t + 32] < 0) & (v > 3)) C[t] = 2;",
    "decides which value": "C[t] = v > 3 ? 8 : 9;",
    "decides how often": (
        "int w = 0; for (int i = 0; i < (v & 7); ++i) w += A[i] * w + i; C[t] = w;"
    ),
    "decides whether to store": "if (v == 5) C[t] = 3;",
    "by way of shared memory": (
        "volatile int* there = other; there[t ^ 1] = v; __syncthreads(); C[t] = there[t];"
    ),
    "a byte of it": (
        "volatile unsigned char* there = bytes; there[t] = v; __syncthreads(); C[t] = there[t ^ 1];"
    ),
    "by way of local memory": (
        "int own[8]; for (int i = 0; i < 8; ++i) own[i] = i + v; C[t] = own[A[0] & 7];"
    ),
    "from another lane": "C[t] = __shfl_sync(~0u, v, t ^ 31);",
    "in a sum of the warp": (
        "for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d); if (t == 0) C[0] = v;"
    ),
    "decides from which lane": "int w = __shfl_sync(~0u, t, v & 3); if (t < n) C[t] = w;",
    "in a vote": "unsigned all = __ballot_sync(~0u, v > 2); if (t == 0) C[0] = all;",
    "added to global memory": "atomicAdd(C + t % 2, v);",
    "added to what nothing wrote": "C[t] = atomicAdd(tile + 40, t) + 1;",
    "added to what is stored": (
        "atomicAdd(other + 1, v); __syncthreads(); if (t < n) C[t] = other[t];"
    ),
    "in the upper half of a sum": "long long w = (long long)v * 5 + t; C[t] = int(w >> 32);",
}

EDGE = """
constexpr int T = 8;
extern "C" __global__ void edge(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[T][T], Bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        if (ROWS && k0 + tx < K) As[ty][tx] = A[row * K + k0 + tx];
        if (col < N && k0 + ty < K) Bs[ty][tx] = B[(k0 + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < T && k0 + k < K; ++k) acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
"""


def case(name: str, body: str, schedule: str = "lockstep", n: int = 8) -> Case:
    args = {"A": np.arange(32, dtype=np.int32), "C": np.zeros(32, np.int32), "n": n}
    options = {"schedule": schedule, "max_basic_blocks": 20_000}
    return Case(name, ptx_of(HEAD + body + "}"), "k", (2,), (32,), args, 0, options)


def edge(rows: str, schedule: str) -> Case:
    ptx = ptx_of(EDGE, "sm_90", f"ROWS={rows}")
    options = {"schedule": schedule, "unwritten": ["C"]}
    return Case(f"edge {rows}", ptx, "edge", (2, 2), (8, 8), gemm_inputs(13, 11, 10), 0, options)


def hazards(one: Case) -> list[tuple[str, int]]:
    return [(hazard.kind, hazard.location.line) for hazard in one.simulate().hazards]


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_an_uninitialized_value_is_a_hazard_where_it_does_harm(schedule: str) -> None:
    for name, body in HARMLESS.items():
        assert hazards(case(name, body, schedule)) == [], name
    for name, body in HARMFUL.items():
        line = 10 if name == "added to what nothing wrote" else 9
        assert ("unwritten", line) in hazards(case(name, body, schedule)), name


def test_elements_beyond_an_edge_are_no_hazard_and_a_row_left_out_is() -> None:
    assert hazards(edge("row < M", "lockstep")) == []
    assert "unwritten" in dict(hazards(edge("row < M - 1", "lockstep")))


def test_who_waits_for_ever_hears_of_what_it_read() -> None:
    """What the value would have done, nobody can say."""
    wait = (
        "__shared__ unsigned long long full; unsigned at = __cvta_generic_to_shared(&full);"
        'if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at));'
        "__syncthreads(); unsigned over = 0; while (!over)"
        'asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0;'
        'selp.u32 %0, 1, 0, p;}" : "=r"(over) : "r"(at) : "memory"); C[t] = v;'
    )
    assert hazards(case("wait", wait)) == [("unwritten", 9)]


def test_what_is_no_hazard_gives_the_same_whatever_was_there() -> None:
    """The rule in other words: results do not depend on what memory held."""
    cases = [case(name, body) for name, body in HARMLESS.items()]
    launches = [plain_launch(one) for one in (*cases, edge("row < M", "lockstep"))]
    usual = inside("launched", launches)
    for fill in (0x00, 0x3F, 0x7F):
        assert inside("launchedWithFill", fill, launches) == usual
