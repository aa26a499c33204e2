"""Barriers in memory, bulk copies, and warps with different tasks."""

import numpy as np
import pytest
from simulator_kernels import ptx_of

from sgemm_lab.simulator import Result, StuckError, simulate

# A producer warp copies stages of 64 floats; a consumer warp adds them up and gives them back.
PIPELINE = """
#ifndef FULL_WAIT
#define FULL_WAIT wait(full + 8 * stage, round & 1);
#endif
#ifndef EMPTY_WAIT
#define EMPTY_WAIT wait(empty + 8 * stage, (round & 1) ^ 1);
#endif
#ifndef BYTES
#define BYTES 256
#endif
constexpr int STAGES = 2;
__device__ void wait(unsigned bar, unsigned parity) {
    asm volatile("{ .reg .pred p;\\n"
                 "LAB_WAIT:\\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n"
                 "@p bra DONE;\\n bra LAB_WAIT;\\n DONE:\\n }" :: "r"(bar), "r"(parity) : "memory");
}
extern "C" __global__ void k(const float* A, float* C, int turns) {
    __shared__ __align__(128) float tile[STAGES][64];
    __shared__ unsigned long long bars[2 * STAGES];
    unsigned full = __cvta_generic_to_shared(bars), empty = full + 8 * STAGES;
    unsigned start = __cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(full + 8 * s));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(empty + 8 * s));
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (threadIdx.x / 32 == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int turn = 0; turn < turns; ++turn) {
                int stage = turn % STAGES, round = turn / STAGES;
                EMPTY_WAIT
                asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                             :: "r"(full + 8 * stage), "r"(BYTES) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                             "[%0], [%1], %2, [%3];"
                             :: "r"(start + 256 * stage), "l"(A + 64 * turn), "r"(256),
                                "r"(full + 8 * stage) : "memory");
            }
        }
    } else {
        float sum = 0.0f;
        for (int turn = 0; turn < turns; ++turn) {
            int stage = turn % STAGES, round = turn / STAGES, lane = threadIdx.x % 32;
            FULL_WAIT
            sum += tile[stage][lane] * (turn + 1) - tile[stage][lane + 32];
            asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }"
                         :: "r"(empty + 8 * stage) : "memory");
        }
        C[blockIdx.x * 32 + threadIdx.x % 32] = sum;
    }
}"""
TURNS = 7
A = np.random.default_rng(3).integers(-9, 9, 64 * TURNS).astype(np.float32)


def run(*defines: str, schedule: str = "lockstep", blocks: int = 3) -> Result:
    args = {"A": A, "C": np.full(32 * blocks, np.nan, np.float32), "turns": TURNS}
    ptx = ptx_of(PIPELINE, "sm_90", *defines)
    return simulate(ptx, "k", (blocks,), (64,), args, schedule=schedule, patience=20_000)


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
    with pytest.raises(StuckError, match=r"waits for ever, now at test\.cu, line \d+: no thread"):
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
