"""What is wrong with a kernel is found, and named with line, thread and element."""

import numpy as np
import pytest
from simulator_kernels import gemm_inputs, ptx_of, run_gemm, run_warps

from sgemm_lab.simulator import Hazard, Result, simulate


def only(result: Result) -> Hazard:
    assert len(result.hazards) == 1, [str(hazard) for hazard in result.hazards]
    return result.hazards[0]


def ints(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int32)


def test_out_of_bounds_load_names_array_element_thread_and_line() -> None:
    source = """
    extern "C" __global__ void k(const int* A, int* C) {
        C[threadIdx.x] = A[threadIdx.x + 1];
    }"""
    hazard = only(run_warps(source, {"A": ints(32), "C": ints(32)}))
    assert hazard.kind == "out of bounds"
    assert (hazard.array, hazard.element) == ("A", (32,))
    assert (hazard.thread, hazard.block) == ((31, 0, 0), (0, 0, 0))
    assert hazard.location.line == 3
    assert "reads element 32 of A, which has 32 elements" in str(hazard)


def test_a_word_that_ends_behind_its_array_is_out_of_bounds() -> None:
    source = """
    extern "C" __global__ void k(const long long* A, long long* C) {
        C[threadIdx.x] = A[threadIdx.x];
    }"""
    hazard = only(run_warps(source, {"A": ints(63), "C": ints(64)}))
    assert (hazard.kind, hazard.element) == ("out of bounds", (63,))


def test_an_edge_off_by_one_is_caught() -> None:
    source = """
    extern "C" __global__ void k(const float* A, float* C, int M, int N) {
        int col = threadIdx.x % 8, row = threadIdx.x / 8;
        if (row <= M - 1 && col <= N) C[row * N + col] = A[row * N + col];
    }"""
    a = np.ones((4, 5), dtype=np.float32)
    result = run_warps(source, {"A": a, "C": a, "M": 4, "N": 5})
    assert {hazard.kind for hazard in result.hazards} == {"out of bounds"}
    assert {hazard.array for hazard in result.hazards} == {"A", "C"}


def test_of_a_race_two_threads_of_different_warps_are_named() -> None:
    # A tile of 8 × 8 has two warps: rows 0 to 3 and rows 4 to 7. A row of A stays in its warp.
    _, result = run_gemm("tiled", 16, 16, 32, defines=("SECOND_BARRIER=",))
    races = {hazard.array: hazard for hazard in result.hazards if hazard.kind == "race"}
    for race in races.values():
        assert race.other_thread is not None
        assert race.other_thread != race.thread
    assert not races["As"].across_warps
    named = races["Bs"]
    assert named.across_warps
    assert named.other_thread is not None
    assert (named.thread[1] < 4) != (named.other_thread[1] < 4)
    assert f"thread {named.thread[:2]} of block" in str(named)


def test_threads_that_returned_need_not_reach_a_barrier() -> None:
    source = """
    extern "C" __global__ void k(float* C, int limit) {
        if (threadIdx.x >= limit) return;
        __shared__ float tile[64];
        tile[threadIdx.x] = C[threadIdx.x];
        __syncthreads();
        C[threadIdx.x] = tile[limit - 1 - threadIdx.x];
    }"""
    values = np.arange(64, dtype=np.float32)
    for schedule in ("lockstep", "warps"):
        args = {"C": values, "limit": 40}
        result = simulate(ptx_of(source), "k", (1,), (64,), args, schedule=schedule)
        assert result.hazards == []
        assert np.array_equal(result.arrays["C"][:40], values[:40][::-1])


def test_without_hazard_search_faults_are_still_found() -> None:
    source = """
    extern "C" __global__ void k(int* A) { A[threadIdx.x + 1] = 1; }"""
    result = run_warps(source, {"A": ints(32)}, check_hazards=False)
    assert only(result).kind == "out of bounds"


def test_the_arrays_passed_in_stay_as_they_are() -> None:
    args = gemm_inputs(3, 3, 3)
    before = {name: np.copy(value) for name, value in args.items()}
    _, result = run_gemm("naive", 3, 3, 3)
    assert np.isfinite(result.arrays["C"]).all()
    for name, value in before.items():
        assert np.array_equal(args[name], value, equal_nan=True)


@pytest.mark.parametrize(("use", "does_harm"), [
    ("for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d); if (t == 0) y[0] = v;", True),
    ("int w = __shfl_down_sync(~0u, v, 16); if (t + 16 < 20) v += w; y[t] = v;", False),
    ("for (int d = 2; d; d /= 2) v += __shfl_down_sync(~0u, v, d, 4); if (t % 4 == 0) y[t] = v;",
     False),
    ("y[t] = __shfl_sync(~0u, v, 25);", True),
    ("y[t] = __shfl_sync(~0u, v, 19);", False),
])  # fmt: skip
def test_a_value_of_a_lane_that_has_returned_is_a_hazard_where_it_is_used(
    use: str, does_harm: bool
) -> None:
    source = f"""extern "C" __global__ void k(int* y) {{
        int t = threadIdx.x;
        if (t >= 20) return;
        int v = y[t];
        {use}
    }}"""
    result = simulate(ptx_of(source), "k", (1,), (32,), {"y": np.arange(32, dtype="i4")})
    assert [one.kind for one in result.hazards] == ["exchange"] * does_harm
    assert all("a lane of its warp that does not run" in str(one) for one in result.hazards)
