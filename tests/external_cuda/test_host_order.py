"""Launches that lack something that only host code can give."""

import pytest
from file_reports import checked, reports
from turns import TAKES_TURNS, TODAY

pytestmark = TAKES_TURNS

STREAMS = """
__global__ void fill(float* x, CONST float* from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = from[i];
}
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i];
}
void run(float* a, float* b, CONST float* from, int n) {
    cudaStream_t s, t; cudaEvent_t e;
    cudaStreamCreate(&s); cudaStreamCreate(&t); cudaEventCreate(&e);
    fill<<<4, 256, 0, s>>>(a, from, 1024);
    BETWEEN
    twice<<<4, 256, 0, STREAM>>>(ARRAY, b, 1024);
}
"""


@pytest.mark.parametrize(
    ("between", "stream", "array", "found"),
    [
        ("", "t", "a", True),
        ("cudaEventRecord(e, s);", "t", "a", True),
        ("", "s", "a", False),
        ("", "t", "from", False),
        ("cudaEventRecord(e, s); cudaStreamWaitEvent(t, e, 0);", "t", "a", False),
        ("cudaDeviceSynchronize();", "t", "a", False),
        ("cudaMemcpy(b, from, 4, cudaMemcpyDeviceToDevice);", "t", "a", False),
        ("chain(s, t);", "t", "a", False),
    ],
)
@pytest.mark.parametrize("const", ["const", ""])
@pytest.mark.sampled(every=3, first=TODAY)
def test_a_stream_reads_what_another_writes(
    between: str, stream: str, array: str, found: bool, const: str
) -> None:
    source = STREAMS.replace("BETWEEN", between).replace("STREAM", stream).replace("ARRAY", array)
    source = source.replace("CONST", const)
    _, report = reports(source)
    assert [one.severity for one in report.findings] == ["error"] * found
    assert not found or "Nothing makes the launch of twice" in report.findings[0].message


GRID = """
#include <cooperative_groups.h>
__global__ void meet(float* x) {
    float v = x[threadIdx.x];
    cooperative_groups::this_grid().sync();
    x[threadIdx.x] = v;
}
void run(float* x) { LAUNCH }
"""


@pytest.mark.parametrize(
    ("launch", "found"),
    [
        ("meet<<<1, 64>>>(x);", True),
        ("void* all[] = {&x}; cudaLaunchCooperativeKernel((void*)meet, 1, 64, all);", False),
        ("cudaLaunchConfig_t c = {}; cudaLaunchKernelEx(&c, meet, x);", True),
    ],
)
def test_the_barrier_of_the_grid_needs_a_cooperative_launch(launch: str, found: bool) -> None:
    source = GRID.replace("LAUNCH", launch)
    report = checked(source)
    assert [one.kind for one in report.findings] == ["barrier"] * found


TOLD = """
#include <thrust/device_vector.h>
__global__ void pairs(const int* x, int* y, int n) {
    __shared__ int t[130];
    int i = blockIdx.x * 128 + threadIdx.x;
    t[threadIdx.x] = i < n ? x[i] : 0;
    WAIT
    if (i < n) y[i] = t[threadIdx.x] + t[(threadIdx.x + 1) % 128];
}
int main() {
    thrust::device_vector<int> x(900), y(900);
    dim3 BLOCK;
    pairs<<<8, block>>>(x.data().get(), y.data().get(), 900);
}
"""


@pytest.mark.parametrize("block", ["block(128)", "block = dim3(128, 1)", "block{128}"])
@pytest.mark.parametrize(("wait", "found"), [("", ["error"]), ("__syncthreads();", [])])
@pytest.mark.sampled(every=3, first=TODAY)
def test_a_block_of_constants_is_told_by_the_text(wait: str, found: list[str], block: str) -> None:
    report = checked(TOLD.replace("WAIT", wait).replace("BLOCK", block))
    assert [one.severity for one in report.findings] == found
    assert any("blocks of 128 " in one for one in report.said)
