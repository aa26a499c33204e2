"""Barriers in memory, bulk copies, and warps with different tasks."""

import numpy as np
import pytest
from simulator_kernels import PIPELINE, ptx_of

from sgemm_lab.simulator import DeadlockError, Result, simulate

TURNS = 7
A = np.random.default_rng(3).integers(-9, 9, 64 * TURNS).astype(np.float32)


def run(*defines: str, schedule: str = "lockstep", blocks: int = 3) -> Result:
    args = {"A": A, "C": np.full(32 * blocks, np.nan, np.float32), "turns": TURNS}
    ptx = ptx_of(PIPELINE, "sm_90", *defines)
    return simulate(ptx, "k", (blocks,), (64,), args, schedule=schedule, max_basic_blocks=20_000)


def expected() -> np.ndarray:
    turns = A.reshape(TURNS, 2, 32)
    return (turns[:, 0] * np.arange(1, TURNS + 1)[:, None] - turns[:, 1]).sum(axis=0)


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_a_producer_and_a_consumer_warp_hand_stages_to_each_other(schedule: str) -> None:
    result = run(schedule=schedule)
    assert [str(hazard) for hazard in result.hazards] == []
    assert np.array_equal(result.arrays["C"].reshape(3, 32), np.tile(expected(), (3, 1)))
    total = result.counts.total
    assert total.async_copy_bytes == 3 * TURNS * 256
    assert total.async_copy_sectors == 3 * TURNS * 8
    # The fence and the copies are no shared requests of a warp; the consumer's reads are.
    assert total.shared_load_requests_as_written == 3 * TURNS * 2


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_a_stage_read_before_its_copy_is_waited_for_shows(schedule: str) -> None:
    result = run("FULL_WAIT=", schedule=schedule)
    assert {hazard.kind for hazard in result.hazards} & {"in flight", "race", "unwritten"}
    assert not np.array_equal(result.arrays["C"][:32], expected())


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_a_stage_filled_before_it_is_given_back_is_a_race(schedule: str) -> None:
    hazards = run("EMPTY_WAIT=", schedule=schedule).hazards
    assert {hazard.kind for hazard in hazards} & {"in flight", "race"}


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_a_barrier_that_expects_too_many_bytes_never_opens(schedule: str) -> None:
    with pytest.raises(
        DeadlockError, match=r"waits for ever, now at test\.cu, line \d+: no thread"
    ):
        run("BYTES=260", schedule=schedule)


def test_an_mbarrier_that_nothing_initialised_is_named() -> None:
    source = PIPELINE.replace("s < STAGES", "s < 1")
    args = {"A": A, "C": np.zeros(32, np.float32), "turns": TURNS}
    with pytest.raises(Exception, match=r"line \d+: a thread uses an mbarrier that nothing has"):
        simulate(ptx_of(source), "k", (1,), (64,), args, time_limit=60)


def test_a_bulk_copy_past_the_end_of_an_array_is_out_of_bounds() -> None:
    """It brings nothing, so its mbarrier never opens: the hazard says why."""
    args = {"A": A[:-16], "C": np.zeros(32, np.float32), "turns": TURNS}
    (hazard,) = simulate(ptx_of(PIPELINE), "k", (1,), (64,), args, time_limit=60).hazards
    assert (hazard.kind, hazard.array) == ("out of bounds", "A")


def test_elect_names_one_lane_of_a_warp() -> None:
    source = """
    extern "C" __global__ void k(int* C) {
        unsigned chosen;
        asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
                     : "=r"(chosen));
        C[threadIdx.x] = chosen;
    }"""
    args = {"C": np.zeros(64, np.int32)}
    found = simulate(ptx_of(source), "k", (1,), (64,), args).arrays["C"]
    assert found.tolist() == [1 if lane % 32 == 0 else 0 for lane in range(64)]


IGNORE = """
extern "C" __global__ void k(const float* A, float* C, int n) {
    __shared__ __align__(16) float tile[128];
    unsigned to = __cvta_generic_to_shared(tile + 4 * threadIdx.x);
    asm volatile("{ .reg.pred p; setp.ge.s32 p, %2, %3;"
                 " cp.async.cg.shared.global [%0], [%1], 16, p; }"
                 :: "r"(to), "l"(A + 4 * threadIdx.x), "r"((int)threadIdx.x), "r"(n) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int i = 0; i < 4; ++i) C[4 * threadIdx.x + i] = tile[4 * threadIdx.x + i];
}"""


def test_a_copy_whose_predicate_says_ignore_reads_nothing_and_fills_zeros() -> None:
    a = np.arange(1, 41, dtype=np.float32)
    args = {"A": a, "C": np.full(128, np.nan, np.float32), "n": 10}
    result = simulate(ptx_of(IGNORE, "sm_80"), "k", (1,), (32,), args)
    assert result.hazards == []
    assert np.array_equal(result.arrays["C"], np.concatenate([a, np.zeros(88, np.float32)]))


def test_acquire_and_release_are_loads_and_stores() -> None:
    source = """
    extern "C" __global__ void k(int* C) {
        int v, *p = C + threadIdx.x;
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
        asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(p), "r"(v + 1) : "memory");
    }"""
    args = {"C": np.arange(32, dtype=np.int32)}
    found = simulate(ptx_of(source), "k", (1,), (32,), args).arrays["C"]
    assert found.tolist() == list(range(1, 33))
