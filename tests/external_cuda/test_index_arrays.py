"""Arrays of integers that lead to elements of others: what they hold, and what else is tried."""

from pathlib import Path

import numpy as np
import pytest
from file_reports import checked
from in_node import answers

from sgemm_lab.external_cuda import ExternalKernel, Pasted, count_external
from sgemm_lab.simulator.hazards import RACE


@pytest.mark.parametrize(
    ("body", "role"),
    [
        ("for (int k = p[r]; k < p[r + 1]; ++k) s += x[k];", "offsets"),
        ("y[i] = x[p[i]];", "indices"),
        ("const int l = p[i]; atomicAdd(&c[l], 1);", "indices"),
        ("int t = p[i]; const float* row = x + t * WIDTH;", "indices"),
        ("y[i] = p[i] + p[i + 2];", None),
        ("int v = p[i]; s += v;", None),
    ],
)
def test_the_source_says_what_integers_mean(body: str, role: str | None) -> None:
    modules = {"arrays": "external_cuda/index_arrays.ts", "cuda": "external_cuda/cuda_file.ts",
               "kernels": "external_cuda/kernels.ts"}  # fmt: skip
    roles = "(files) => arrays.rolesOf(kernels.ownKernels(new cuda.CudaFile(files))[0])"
    text = f"__global__ void k(const int* p) {{ {body} }}"
    [answer] = answers(modules, roles, [[[{"name": "a.cu", "text": text}]]])
    assert answer["gives"].get("p") == role


def test_numbers_fit_what_they_lead_to() -> None:
    text = """
__global__ void sums(const int* row, const int* column, const float* x, float* y, int n) {
    int r = threadIdx.x;
    float s = 0;
    for (int k = row[r]; k < row[r + 1]; ++k) s += x[column[k]];
    if (r < n) y[r] = s;
}
void run() {
    int *row, *column;
    float *x, *y;
    cudaMalloc(&row, 65 * 4); cudaMalloc(&column, 40 * 4); cudaMalloc(&x, 70 * 4);
    cudaMalloc(&y, 64 * 4);
    sums<<<1, 64>>>(row, column, x, y, 64);
}
"""
    done = count_external(ExternalKernel(Pasted("k.cu", text, Path())), (64, 64, 64))
    offsets = done.before["row"]
    assert (offsets[0], offsets[-1]) == (0, 40)
    assert (np.diff(offsets) >= 0).all()
    assert set(done.before["column"]) <= set(range(9))


def test_numbers_that_are_sorted_in_place_are_no_offsets() -> None:
    report = checked(
        "__global__ void sort(int* x) { int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);"
        "  for (int r = 0; r < 8; ++r) { int a = x[i], b = x[i + 1];"
        "    if (a > b) { x[i] = b; x[i + 1] = a; } i ^= r & 1; __syncthreads(); } }"
        "int main() { int* x; cudaMalloc(&x, 1030 * sizeof(int)); sort<<<4, 128>>>(x); }"
    )
    assert RACE in {one.kind for one in report.findings}


VOTES = """
extern __shared__ char raw[];
__global__ void vote(const int* kind, int n, int kinds, int* votes) {
    int *own = (int*)raw, *mark = own + kinds;
    for (int i = threadIdx.x; i < kinds; i += blockDim.x) own[i] = 0;
    mark[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x < n) atomicAdd(&own[kind[threadIdx.x]], 1);
    __syncthreads();
    if (threadIdx.x < kinds) votes[threadIdx.x] = own[threadIdx.x] + mark[threadIdx.x];
}
void run(const int* kind, int* votes) { vote<<<1, 64, 512>>>(kind, 64, 5, votes); }
"""


def test_indices_are_smaller_than_every_size() -> None:
    """Of carved up shared memory nobody sees where an array ends."""
    assert checked(VOTES).findings == ()


VISIT = """
__global__ void visit(const int* node, int* seen, int* next, int* size, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && TEST) next[atomicAdd(size, 1)] = node[i];
}
void run(const int* node, int* seen, int* next, int* size, int n) {
    visit<<<(n + 127) / 128, 128>>>(node, seen, next, size, n);
}
"""


def test_nodes_that_one_thread_takes_by_an_exchange_are_no_race() -> None:
    findings = checked(VISIT.replace("TEST", "!atomicExch(seen + node[i], 1)")).findings
    assert {one.kind for one in findings if one.severity != "information"} == set()


def test_a_counter_that_the_file_clears_begins_at_zero() -> None:
    source = """
__global__ void number(unsigned* next, unsigned long long* last) {
    __shared__ unsigned tile;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
    __syncthreads();
    if (threadIdx.x == 0) last[tile] = tile;
}
int main() {
    unsigned* next;
    unsigned long long* last;
    cudaMalloc(&next, 4);
    cudaMalloc(&last, 8 * 8);
    cudaMemset(next, 0, 4);
    number<<<8, 64>>>(next, last);
}
"""
    report = checked(source)
    assert not report.findings
    assert "as the file's main passes them: next:inout:1" in " ".join(report.said)
    assert checked(source.replace("<<<8", "<<<9")).findings
