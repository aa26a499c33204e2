"""Races in global memory, with both lines; and what only looks like one."""

import re

import numpy as np
import pytest
from golden_launch import Case
from simulator_kernels import ptx_of


def case(name: str, body: str, blocks: int = 4) -> Case:
    source = f'\nextern "C" __global__ void k(int* y, int* z) {{\n{body}\n}}'
    given = {"y": np.zeros(256, "i4"), "z": np.zeros(256, "i4")}
    options = {"watch_races_in": ("y", "z"), "count_requests": False}
    return Case(name, ptx_of(source), "k", (blocks,), (64,), given, 0, options)


def found(body: str) -> list[str]:
    return [str(hazard) for hazard in case("", body).simulate().hazards]


SHARED_FLAG = """__shared__ volatile int flag; __shared__ int v; int t = threadIdx.x;
        if (t == 0) flag = 0;
        __syncthreads();
        if (t == 0) { v = z[1]; __threadfence_block(); flag = 1; }
        if (t == 32) { while (!flag) {} __threadfence_block(); y[blockIdx.x] = v; }"""

LAST_BLOCK = """__shared__ int last; int t = threadIdx.x;
        y[64 * blockIdx.x + t] = t;
        __syncthreads(); // written
        if (t == 0) {
            __threadfence();
            last = atomicAdd(&z[0], 1) == gridDim.x - 1;
        }
        __syncthreads(); // told
        if (last || t > 31) z[1 + t] = y[t] + y[64 + t];"""
"""Every thread writes, one of each block passes a fence and counts the block; some threads read."""

VOLATILE_FLAG = """volatile int *done = z, *sum = y; int b = blockIdx.x;
        if (threadIdx.x == 63) {
            if (b) { while (!done[b - 1]) {} }
            sum[b] = (b ? sum[b - 1] : 0) + 1;
            done[b] = 1;
        }"""
"""Sum and flag are volatile, but no fence orders the two."""

NAMED = [
    ("y[0] += threadIdx.x;", "y\\[0\\], which thread .* accesses at line 3"),
    ("y[threadIdx.x] = blockIdx.x;", "block . writes y.*block . accesses at line 3"),
    ("if (threadIdx.x == 0) y[blockIdx.x] = 1;\nz[blockIdx.x] = y[(blockIdx.x + 1) % 4];",
     "reads y.* accesses at line 3.*nothing orders the two"),
    ("y[blockIdx.x] = threadIdx.x;", "of the same block accesses at line 3"),
    ("int i = threadIdx.x; if (blockIdx.x == 0) y[i] = y[(i + 40) % 64] + i;",
     "thread .* of the same block accesses at line 3 with no barrier between"),
    ("if (blockIdx.x == 0) y[0] = 5;\natomicAdd(y, 1);", "y\\[0\\].*accesses at line"),
    ("__shared__ int s[4]; s[threadIdx.x % 4] = 0; atomicAdd(&s[threadIdx.x / 16], 1);\n"
     "y[blockIdx.x] = s[0] * 0;", "s\\[.*no barrier between"),
    ("__shared__ int s[32]; int t = threadIdx.x % 32; if (threadIdx.x < 32) { s[t] = t;\n"
     "__syncwarp(t < 16 ? 0xffffu : 0xffff0000u); y[64 * blockIdx.x + t] = s[t ^ 16]; }",
     "s\\[.*no barrier between"),
    (SHARED_FLAG.replace("__threadfence_block(); flag = 1", "flag = 1"),
     "reads v\\[0\\].*no barrier between"),
    ("volatile int* v = y; __threadfence(); if (threadIdx.x == 0) *v = *v + 1;",
     "changes y\\[0\\] without an atomic, and so does thread 0 of block"),
    (VOLATILE_FLAG, "reads y\\[0\\], which thread 63 of block 0 accesses at line 6"),
    ("volatile int* sum = y; if (threadIdx.x == 0) { sum[1 + blockIdx.x] = 3;\n"
     "if (atomicAdd(z, 1) == 3) sum[0] = sum[1] + sum[2] + sum[3] + sum[4]; }", "reads y\\["),
    ("atomicAdd_block(y, 1);", "orders the threads of one block only"),
    (LAST_BLOCK.replace("__threadfence", "__threadfence_block"), "nothing orders the two"),
    (LAST_BLOCK.replace("        __syncthreads(); // written\n", ""), "nothing orders the two"),
    (LAST_BLOCK.replace("        __syncthreads(); // told\n", ""), "nothing orders the two"),
    (LAST_BLOCK.replace("atomicAdd(&z[0], 1)", "atomicAdd(&z[blockIdx.x], 3)"),
     "nothing orders the two"),
    ("atomicMin(&y[threadIdx.x % 8], z[threadIdx.x]);\nz[64 + threadIdx.x] = y[3];",
     "reads y\\[3\\]"),
    ("int i = 64 * blockIdx.x + threadIdx.x, gone = 0;\n"
     "for (int j = 0; j < i && !gone; j++) gone = !y[j] && z[j];\ny[i] = gone;", "writes y"),
]  # fmt: skip
"""Bodies that race, and what is said of each."""


@pytest.mark.parametrize(("body", "sentence"), NAMED)
def test_races_are_named(body: str, sentence: str) -> None:
    said = found(body)
    assert said
    assert re.search(sentence, "\n".join(said), re.S)


FINE = {
    "an element each": "y[64 * blockIdx.x + threadIdx.x] += 1;",
    "atomics": "atomicAdd(&y[threadIdx.x % 8], 1);",
    "all store the same": "y[0] = 1;",
    "a barrier before the store": """int t = threadIdx.x, i = 64 * blockIdx.x, v = y[i + 63 - t];
        __syncthreads();
        y[i + t] = v + t;""",
    "a barrier before the load": """int t = threadIdx.x, i = 64 * blockIdx.x;
        y[i + t] = t;
        __syncthreads();
        z[i + t] = y[i + 63 - t];""",
    "the last block reads what all have left": """__shared__ int last;
        if (threadIdx.x == 0) {
            y[blockIdx.x] = blockIdx.x + 1;
            __threadfence();
            last = atomicAdd(&z[0], 1) == gridDim.x - 1;
        }
        __syncthreads();
        if (last && threadIdx.x == 0) z[1] = y[0] + y[1] + y[2] + y[3];""",
    "a lock": """bool done = threadIdx.x % 32 != 0;
        volatile int* sum = y;
        while (!done)
            if (atomicCAS(&z[0], 0, 1) == 0) {
                *sum = *sum + 1;
                __threadfence();
                atomicExch(&z[0], 0);
                done = true;
            }""",
    "blocks that wait for the one before": """volatile int* done = z; int b = blockIdx.x;
        if (threadIdx.x == 63) {
            if (b) { while (!done[b - 1]) {} __threadfence(); }
            y[b] = (b ? y[b - 1] : 0) + 1;
            __threadfence();
            done[b] = 1;
        }""",
    "all write before one of them passes a fence": LAST_BLOCK.replace(" || t > 31", ""),
    "each passes a fence before one of them counts": LAST_BLOCK.replace(" || t > 31", "")
    .replace("        __syncthreads(); // written\n", "__threadfence(); __syncthreads();")
    .replace("            __threadfence();\n", ""),
    "a first look before an atomic that only falls": """int i = threadIdx.x;
        int d = y[i % 8] - 1;
        if (d < y[(i + 3) % 8]) { atomicMin(&y[(i + 3) % 8], d); z[0] = 1; }""",
    "labels that fall": """volatile int* label = y; int v = 64 * blockIdx.x + threadIdx.x;
        int p = label[v];
        while (p != label[p]) p = label[p];
        label[v] = p + (blockIdx.x == 0);""",
    "a look at the best before an atomic": """volatile int* best = y; int v = threadIdx.x * 7 % 61;
        if (v > *best) atomicMax(y, v);
        if (*best == 99) z[0] = 1;""",
    "a flag to stop": """volatile int* stop = z;
        for (int i = 0; i < 20 && !*stop; i++)
            if (blockIdx.x == 1 && i == 10 && threadIdx.x == 0) *stop = 1;""",
    "each counts in its own place": "int i = 64 * blockIdx.x + threadIdx.x; y[i]++; y[i]++;",
    "a flag in shared memory": SHARED_FLAG,
    "the smaller one, which nobody changes": """int i = 64 * blockIdx.x + threadIdx.x;
        for (int k = 0; k < 2; k++) y[i] = min(y[i], y[0] + y[7]);""",
    "a barrier of half a warp": """__shared__ int s[32];
        int t = threadIdx.x % 32;
        if (threadIdx.x >= 32) return;
        s[t] = t;
        __syncwarp(t < 16 ? 0xffffu : 0xffff0000u);
        y[64 * blockIdx.x + t] = s[t ^ 1];""",
}


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_what_is_no_race_is_not_told(body: str) -> None:
    assert found(body) == []


def test_without_a_fence_the_last_block_reads_too_early() -> None:
    body = """__shared__ int last; if (threadIdx.x == 0) { y[blockIdx.x] = blockIdx.x + 1;
    last = atomicAdd(&z[0], 1) == gridDim.x - 1; }
    __syncthreads();
    if (last && threadIdx.x == 0) z[1] = y[0] + y[1] + y[2] + y[3];"""
    assert any("nothing orders the two" in one for one in found(body))


def test_a_first_guess_of_a_compare_and_swap_is_no_race() -> None:
    body = """int seen = y[0], mine = 64 * blockIdx.x + threadIdx.x;
        while (seen < mine) {
            int was = atomicCAS(y, seen, mine);
            if (was == seen) break;
            seen = was;
        }"""
    assert found(body) == []
