"""Variables that nothing has written: a warning where they are read, and never right by chance."""

import numpy as np
import pytest

from sgemm_lab.cuda.compiler import source_ptx
from sgemm_lab.simulator import Result, simulate

SUM = """extern "C" __global__ void sum(const float* A, float* C, int n) {
    float acc%s;
    for (int i = 0; i < n; ++i) acc += A[i];
    C[threadIdx.x] = acc;
}"""
SOMETIMES = """extern "C" __global__ void sometimes(const float* A, float* C, int n) {
    float v;
    if (n > %s) v = A[threadIdx.x];
    __syncthreads();
    if (n > 5) C[threadIdx.x] = v;
}"""
ARRAY = """extern "C" __global__ void rows(const float* A, float* C, int n) {
    float acc[2][2]%s;
    for (int i = 0; i < n; ++i)
        for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 2; ++c) acc[r][c] += A[i] * A[r + c];
    C[threadIdx.x] = acc[0][0] + acc[0][1] + acc[1][0] + acc[1][1];
}"""


def run(source: str, entry: str, n: int = 8, blocks: int = 1, schedule: str = "lockstep") -> Result:
    a, c = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    ptx = source_ptx(source, "x.cu", "sm_90")[0]
    return simulate(ptx, entry, (blocks,), (32,), {"A": a, "C": c, "n": n}, schedule=schedule)  # type: ignore[arg-type]


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
@pytest.mark.parametrize(("source", "entry", "line"), [(SUM, "sum", 3), (ARRAY, "rows", 5)])
def test_a_sum_without_a_first_value_is_told_and_wrong(
    source: str, entry: str, line: int, schedule: str
) -> None:
    done = run(source % "", entry, schedule=schedule)
    assert [(warning.kind, warning.location.line) for warning in done.warnings] == [("unset", line)]
    assert "uses a variable of its own that nothing has written" in str(done.warnings[0])
    assert np.isnan(done.arrays["C"][:32]).all()
    assert done.hazards == []


@pytest.mark.parametrize(("source", "entry"), [(SUM, "sum"), (ARRAY, "rows")])
def test_a_first_value_is_enough(source: str, entry: str) -> None:
    first = " = 0.0f" if source is SUM else " = {}"
    done = run(source % first, entry)
    assert done.warnings == []
    assert np.isfinite(done.arrays["C"]).all()


def test_what_is_written_on_every_path_that_reads_it_is_right() -> None:
    done = run(SOMETIMES % 5, "sometimes")
    assert done.warnings == []
    assert done.arrays["C"][:32].tolist() == list(range(32))


def test_what_is_written_on_some_paths_only_is_told() -> None:
    """At a size at which the value is there nothing is wrong; at another one it is missing."""
    assert run(SOMETIMES % 7, "sometimes", n=8).warnings == []
    done = run(SOMETIMES % 7, "sometimes", n=6)
    assert [warning.location.line for warning in done.warnings] == [5]


def test_a_later_block_does_not_find_what_an_earlier_one_left() -> None:
    """The registers of many blocks are used again for the next ones."""
    done = run(SUM % "", "sum", blocks=2000)
    assert np.isnan(done.arrays["C"][:32]).all()


COPIED = """extern "C" __global__ void copied(const float* A, float* C, int n) {
    __shared__ float s[32];
    __shared__ int has[32];
    int t = threadIdx.x;
    float v;
    has[t] = A[t] < n;
    if (has[t]) v = A[t + 32];
    s[t] = v;
    __syncthreads();
    C[t] = %s;
}"""


@pytest.mark.parametrize(
    ("used", "lines"), [("has[31 - t] ? s[31 - t] : 0", []), ("s[31 - t]", [8])]
)
def test_what_is_copied_for_nothing_is_not_told(used: str, lines: list[int]) -> None:
    assert [one.location.line for one in run(COPIED % used, "copied").warnings] == lines
