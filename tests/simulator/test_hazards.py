"""What is wrong with a kernel is found, and named with line, thread and element."""

import numpy as np
import pytest
from exact_reference import chain_of_fma
from simulator_kernels import SHIFTED_STORE, gemm_inputs, ptx_of, run_gemm, run_warps

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Hazard, Result, simulate
from sgemm_lab.simulator.hazards import most_relevant


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


def test_out_of_bounds_before_the_start_and_far_away() -> None:
    source = """
    extern "C" __global__ void k(int* A, long long by) {
        A[threadIdx.x - by] = 1;
    }"""
    near = only(run_warps(source, {"A": ints(32), "by": 2}))
    assert "writes element -2 of A" in str(near)
    far = only(run_warps(source, {"A": ints(32), "by": 1 << 30}))
    assert far.kind == "out of bounds"


def test_out_of_bounds_shared() -> None:
    result = run_warps(SHIFTED_STORE, {"C": ints(32), "by": 1})
    first = result.hazards[0]
    assert (first.kind, first.array, first.element) == ("out of bounds", "tile", (32,))
    # Element 0 is left unwritten by the same mistake.
    assert [hazard.kind for hazard in result.hazards] == ["out of bounds", "unwritten"]


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


def test_misaligned_vector() -> None:
    source = """
    extern "C" __global__ void k(const float* A, float* C, int K) {
        float4 v = *reinterpret_cast<const float4*>(A + threadIdx.x * K);
        C[threadIdx.x] = v.x + v.w;
    }"""
    a = np.ones((32, 6), dtype=np.float32)
    hazard = only(run_warps(source, {"A": a, "C": a[:, 0], "K": 6}))
    assert (hazard.kind, hazard.array, hazard.element) == ("misaligned", "A", (1, 0))
    assert hazard.thread == (1, 0, 0)
    assert "16 bytes at once from A[1][0]" in str(hazard)
    assert run_warps(source, {"A": a[:, :4].copy(), "C": a[:, 0], "K": 4}).hazards == []


def test_reading_unwritten_shared_memory_and_c() -> None:
    source = """
    extern "C" __global__ void k(float* C) {
        __shared__ float tile[64];
        tile[threadIdx.x] = 1.0f;
        __syncthreads();
        C[threadIdx.x] += tile[2 * threadIdx.x];
    }"""
    args = {"C": np.zeros(32, dtype=np.float32)}
    result = simulate(ptx_of(source), "k", (1,), (32,), args, unwritten=["C"])
    found = {(hazard.kind, hazard.array, hazard.element) for hazard in result.hazards}
    assert found == {("unwritten", "tile", (32,)), ("unwritten", "C", (0,))}
    # What nothing wrote is NaN, so that it cannot pass for a result.
    assert np.isnan(result.arrays["C"][16:]).all()


@pytest.mark.parametrize(
    ("define", "kind"), [("FIRST_BARRIER=", "race"), ("SECOND_BARRIER=", "race")]
)
def test_a_missing_barrier_is_a_race(define: str, kind: str) -> None:
    _, result = run_gemm("tiled", 16, 16, 32, defines=(define,))
    races = [hazard for hazard in result.hazards if hazard.kind == kind]
    assert {race.array for race in races} == {"As", "Bs"}
    race = races[0]
    assert race.other_thread is not None
    assert race.other_thread != race.thread
    assert race.other_location is not None
    assert "Put a __syncthreads() between the two" in str(race)


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
    assert most_relevant(result.hazards) is named
    assert f"thread {named.thread[:2]} of block" in str(named)


def test_one_thread_of_several_that_read_is_somebody_else() -> None:
    source = """
    extern "C" __global__ void k(float* C) {
        __shared__ float tile[32];
        tile[threadIdx.x] = 1.0f;
        __syncthreads();
        C[threadIdx.x] = tile[0] + tile[threadIdx.x];
        if (threadIdx.x == 31) tile[0] = 2.0f;
    }"""
    hazard = only(run_warps(source, {"C": np.zeros(32, dtype=np.float32)}))
    assert hazard.thread == (31, 0, 0)
    assert hazard.other_thread not in (None, (31, 0, 0))
    assert "thread 31 of block 0 writes tile[0]" in str(hazard)


@pytest.mark.parametrize("define", ["FIRST_BARRIER=", "SECOND_BARRIER="])
def test_warp_after_warp_a_missing_barrier_gives_a_wrong_answer(define: str) -> None:
    args, result = run_gemm("tiled", 16, 16, 32, defines=(define,), schedule="warps")
    right = chain_of_fma(args["A"], args["B"])
    assert not np.allclose(result.arrays["C"], right, equal_nan=True)
    assert "race" in {hazard.kind for hazard in result.hazards}


def test_a_barrier_in_a_condition_is_caught_in_both_schedules() -> None:
    source = """
    extern "C" __global__ void k(float* C, int limit) {
        __shared__ float tile[64];
        tile[threadIdx.x] = C[threadIdx.x];
        if (threadIdx.x < limit) {
            __syncthreads();
            C[threadIdx.x] = tile[threadIdx.x ^ 1];
        } else C[threadIdx.x] = 0.0f;
    }"""
    args = {"C": np.ones(64, dtype=np.float32), "limit": 40}
    for schedule in ("lockstep", "warps"):
        result = simulate(ptx_of(source), "k", (1,), (64,), args, schedule=schedule)
        barriers = [hazard for hazard in result.hazards if hazard.kind == "barrier"]
        assert len(barriers) == 1
        assert barriers[0].location.line == 6
        assert "do not reach this __syncthreads()" in str(barriers[0])
        args_all = {**args, "limit": 64}
        assert not simulate(ptx_of(source), "k", (1,), (64,), args_all, schedule=schedule).hazards


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


def test_two_threads_storing_one_word_race() -> None:
    source = """
    extern "C" __global__ void k(int* C) {
        __shared__ int tile[32];
        tile[threadIdx.x / 2] = threadIdx.x;
        __syncthreads();
        C[threadIdx.x] = tile[threadIdx.x / 2];
    }"""
    hazard = only(run_warps(source, {"C": ints(32)}))
    assert (hazard.kind, hazard.array) == ("race", "tile")


def test_a_warp_may_exchange_with_syncwarp() -> None:
    source = """
    extern "C" __global__ void k(float* C) {
        __shared__ float tile[64];
        int t = threadIdx.x;
        tile[t] = C[t];
        SYNC
        float v = tile[t ^ DISTANCE];
        SYNC
        tile[t] = v;
        C[t] = tile[t];
    }"""
    args = {"C": np.arange(64, dtype=np.float32)}

    def kinds(sync: str, distance: int) -> set[str]:
        ptx = ptx_of(source, "sm_90", f"SYNC={sync}", f"DISTANCE={distance}")
        return {h.kind for h in simulate(ptx, "k", (1,), (64,), args).hazards}

    assert kinds("__syncwarp();", 1) == set()
    assert kinds("", 1) == {"race"}
    assert kinds("__syncwarp();", 32) == {"race"}
    assert kinds("__syncthreads();", 32) == set()


@pytest.mark.parametrize("wait", ["WAIT=", 'WAIT=asm volatile("cp.async.wait_group 1;");'])
def test_an_async_copy_not_waited_for_shows(wait: str) -> None:
    args, result = run_gemm("async", 16, 16, 24, defines=(wait,))
    assert "in flight" in {hazard.kind for hazard in result.hazards}
    right = chain_of_fma(args["A"], args["B"])
    assert not np.allclose(result.arrays["C"], right, equal_nan=True)


def test_without_hazard_search_faults_are_still_found() -> None:
    source = """
    extern "C" __global__ void k(int* A) { A[threadIdx.x + 1] = 1; }"""
    result = run_warps(source, {"A": ints(32)}, check_hazards=False)
    assert only(result).kind == "out of bounds"


def test_arguments_that_do_not_fit_are_sentences() -> None:
    ptx = ptx_of("""extern "C" __global__ void k(int* A, int n) { A[threadIdx.x] = n; }""")
    good = {"A": ints(32), "n": 1}
    with pytest.raises(LabError, match="no kernel 'kk'"):
        simulate(ptx, "kk", (1,), (32,), good)
    with pytest.raises(LabError, match="takes 2 arguments, but 1 were given"):
        simulate(ptx, "k", (1,), (32,), {"A": ints(32)})
    with pytest.raises(LabError, match="'n' of the kernel 'k' must be a number"):
        simulate(ptx, "k", (1,), (32,), {"A": ints(32), "n": ints(32)})
    with pytest.raises(LabError, match="at most 1024 threads"):
        simulate(ptx, "k", (1,), (64, 32), good)
    with pytest.raises(LabError, match="grid needs"):
        simulate(ptx, "k", (0,), (32,), good)
    with pytest.raises(LabError, match="'B' is named as unwritten"):
        simulate(ptx, "k", (1,), (32,), good, unwritten=["B"])


def test_the_arrays_passed_in_stay_as_they_are() -> None:
    args = gemm_inputs(3, 3, 3)
    before = {name: np.copy(value) for name, value in args.items()}
    _, result = run_gemm("naive", 3, 3, 3)
    assert np.isfinite(result.arrays["C"]).all()
    for name, value in before.items():
        assert np.array_equal(args[name], value, equal_nan=True)


def test_progress_and_interruption() -> None:
    seen: list[tuple[int, int]] = []
    run_gemm("naive", 300, 300, 1, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (38 * 38, 38 * 38)
    assert len(seen) > 1

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_gemm("naive", 64, 64, 1, progress=interrupt)
