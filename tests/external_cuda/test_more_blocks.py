"""A guard is tried with more blocks than the launch has."""

from pathlib import Path

import pytest

from sgemm_lab.external_cuda import ExternalKernel, Pasted, check_file

SCALE = """
__global__ void scale(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
void run(const float *x, float *y, int n) { scale<<<(n + 255) / 256, 256>>>(x, y, n); }
"""
UNGUARDED = SCALE.replace("if (i < n) ", "")
SUMS = """
__global__ void sums(const float *x, float *part, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (threadIdx.x == 0) for (int k = 1; k < 256; k++) s[0] += s[k];
    if (threadIdx.x == 0) part[blockIdx.x] = s[0];
}
int main() {
    float *x, *part;
    cudaMalloc(&x, 4096 * sizeof(float));
    cudaMalloc(&part, 16 * sizeof(float));
    sums<<<16, 256>>>(x, part, 4096);
}
"""


def messages(text: str) -> list[str]:
    (report,) = check_file(ExternalKernel(Pasted("a.cu", text, Path())))
    return [one.message for one in report.findings]


@pytest.mark.parametrize("text", [SCALE, UNGUARDED, SUMS])
def test_blocks_that_no_launch_has_may_do_anything(text: str) -> None:
    assert messages(text) == []


def test_a_guard_that_lets_one_too_many_through_is_named() -> None:
    (first, *_) = messages(SCALE.replace("i < n", "i <= n"))
    assert "element 4096 of x" in first
    assert "with a block more than the launch has" in first
