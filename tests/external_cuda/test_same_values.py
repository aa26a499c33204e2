"""Threads of several warps that write the same value: information, not an error."""

import pytest
from file_reports import checked

FLAG = """
__global__ void any_above(const float* x, int* y) {
    __shared__ int any[1];
    if (threadIdx.x == 0) any[0] = 0;
    __syncthreads();
    if (x[threadIdx.x] > -100) any[0] = VALUE;
    BARRIER
    if (threadIdx.x == 0) y[0] = any[0];
}
"""


def severities(value: str, barrier: str = "__syncthreads();") -> list[str]:
    text = FLAG.replace("VALUE", value).replace("BARRIER", barrier)
    report = checked(text, grid=("1",), block=("128",), arguments="x:in:128 y:out:1")
    return [one.severity for one in report.findings]


def test_the_same_value_of_several_warps_is_information() -> None:
    assert severities("1") == ["information"]


@pytest.mark.parametrize(
    ("value", "barrier"),
    [
        ("threadIdx.x", "__syncthreads();"),  # which one stays is chance
        ("threadIdx.x / 32", "__syncthreads();"),
        ("1 + (threadIdx.x == 127)", "__syncthreads();"),
        ("1", ""),  # thread 0 reads while others write
    ],
)
def test_another_value_and_a_read_are_errors(value: str, barrier: str) -> None:
    assert "error" in severities(value, barrier)


def test_a_store_of_which_every_lane_leaves_the_array_is_a_finding() -> None:
    text = "__global__ void k(int* y) { __shared__ int s[4]; s[threadIdx.x + 8] = 1; y[0] = s[0]; }"
    report = checked(text, grid=("1",), block=("32",), arguments="y:out:1")
    assert "out of bounds" in {one.kind for one in report.findings}
