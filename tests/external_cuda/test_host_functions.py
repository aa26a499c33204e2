"""A file without a main: its functions that launch kernels are called with arguments made up."""

from pathlib import Path

import pytest
from file_reports import checked
from turns import TAKES_TURNS

from sgemm_lab.external_cuda import ExternalKernel, Pasted
from sgemm_lab.external_cuda.count import count_external

pytestmark = TAKES_TURNS

LIMITED = """
namespace mine {
template <int THREADS> __global__ void turn(const float* x, float* y, int n, int k) {
    __shared__ float part[32];
    int t = threadIdx.x, i = blockIdx.x * k + t;
    if (t < k && i < n) part[t] = x[i];
    __syncthreads();
    if (t < k && i + 1 < n) y[i] = part[t];
}
static void launch(const float* x, float* y, int n, int k) {
    turn<64><<<(n + k - 1) / k, 64>>>(x, y, n, k);
}
}
void run(const float* x, float* y, int n, int m) { mine::launch(x, y, n, LIMIT); }
"""


def test_what_the_function_calculates_is_what_the_kernel_gets() -> None:
    """64 for m would be too large for the shared array: the function takes at most 32."""
    report = checked(LIMITED.replace("LIMIT", "m < 32 ? m : 32"))
    assert not report.findings
    said = "\n".join(report.said)
    assert "where n = 64, m = 64, which are assumed: x:in:" in said
    assert "n=64 k=32. Say --args" in said
    assert "told by line 11: a grid of 2 blocks of 64 threads" in said
    assert "lab_call" not in said
    report = checked(LIMITED.replace("LIMIT", "m"))
    assert {(one.array, one.severity) for one in report.findings} == {("part", "warning")}


def test_a_race_of_blocks_that_check_before_they_act() -> None:
    report = checked("""
__global__ void visit(const int* node, int* seen, int* next, int* size, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !seen[node[i]]) { seen[node[i]] = 1; next[atomicAdd(size, 1)] = node[i]; }
}
void run(const int* node, int* seen, int* next, int* size, int n) {
    cudaMemset(size, 0, sizeof(int));
    visit<<<(n + 127) / 128, 128>>>(node, seen, next, size, n);
}
""")
    assert {(one.kind, one.array) for one in report.findings} == {("race", "seen")}


OWN = """
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i];
}
void run(const float* host, float* back, size_t n) {
    float *x, *y; cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, ROOM * sizeof(float));
    cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
    twice<<<(n + 255) / 256, 256>>>(x, y, (int)n);
    cudaMemcpy(back, y, n * sizeof(float), cudaMemcpyDeviceToHost);
}
"""


@pytest.mark.parametrize(("room", "found"), [("n", set()), ("(n - 1)", {("out of bounds", "y")})])
def test_arrays_of_the_function_have_its_sizes(room: str, found: set[tuple[str, str]]) -> None:
    report = checked(OWN.replace("ROOM", room))
    assert {(one.kind, one.array) for one in report.findings} == found


PRODUCT = """
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    if (r < M && c < N) { for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];
        C[r * N + c] = s; }
}
void run(const float* A, const float* B, float* C, int m, int k, int n) {
    dim3 grid(GRID), block(16, 16);
    matmul<<<grid, block>>>(A, B, C, m, n, k);
}
"""


def test_a_product_runs_at_many_sizes_with_the_grid_of_its_function() -> None:
    right = checked(PRODUCT.replace("GRID", "(n + 15) / 16, (m + 15) / 16"))
    assert right.verdict == "right"
    assert len(right.sizes) > 3
    small = checked(PRODUCT.replace("GRID", "n / 16, m / 16"))
    assert small.findings


def test_a_grid_follows_the_numbers_of_the_command() -> None:
    source = OWN.replace("ROOM", "n")
    kernel = ExternalKernel(Pasted("k.cu", source, Path()), arguments="x:in:1000 y:out:1000 n=1000")
    done = count_external(kernel, (1, 1, 1), expect=("y = 2 * x",))
    assert (done.grid, done.block, done.wrong) == ((4,), (256,), False)


def test_a_function_that_cannot_be_called_leaves_its_kernel_to_an_assumed_launch() -> None:
    report = checked("""
#include "not_there.h"
__global__ void ones(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1;
}
void run(Tensor x) { ones<<<1, 64>>>(x.data(), x.size()); }
""")
    assert not report.findings
    assert "Launch, assumed" in "\n".join(report.said)


def test_a_macro_launches_with_the_values_of_its_call() -> None:
    report = checked("""
#define GRID(n) ((n) + 127) / 128
#define RUN(kernel, n, ...) kernel<<<GRID(n), 128>>>(__VA_ARGS__)
#define RUN_SCALE(n) RUN(scale<4>, n, x, y, n)
template <int FACTOR> __global__ void scale(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = FACTOR * x[i];
}
void run(const float *x, float *y, int n) {
    RUN_SCALE(n);
}
""")
    assert report.kernel == "scale<4>"
    assert "Launch, told by line 10: a grid of 32 blocks of 128 threads." in report.said
