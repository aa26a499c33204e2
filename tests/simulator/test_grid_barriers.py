"""A barrier of the whole grid, as the headers of cooperative groups write it."""

import numpy as np
import pytest
from golden_launch import Case
from simulator_kernels import ptx_of

from sgemm_lab.errors import LabError
from sgemm_lab.simulator.hazards import RACE

BLOCKS, THREADS = 6, 64
SYNC = """
__device__ void everyone() {
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    unsigned* came = (unsigned*)(((unsigned long long)high << 32) | low) + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned old, now, mine = blockIdx.x ? 1 : 0x80000000 - (gridDim.x - 1);
        asm volatile("atom.add.release.gpu.u32 %0,[%1],%2;"
                     : "=r"(old) : "l"(came), "r"(mine) : "memory");
        do asm volatile("ld.acquire.gpu.u32 %0,[%1];" : "=r"(now) : "l"(came) : "memory");
        while (!((old ^ now) & 0x80000000));
    }
    __syncthreads();
}"""
KERNEL = """
extern "C" __global__ void k(float* x, float* y) {
    if (threadIdx.x == 0) x[blockIdx.x] = blockIdx.x + 1;
    MEET
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += x[i];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    MEET
    if (threadIdx.x == 0) x[blockIdx.x] = 0;
}"""


def case(meet: str, blocks: int = BLOCKS, schedule: str = "lockstep") -> Case:
    arrays = {"x": np.zeros(blocks, "f4"), "y": np.zeros(blocks * THREADS, "f4")}
    ptx = ptx_of(SYNC + KERNEL.replace("MEET", meet))
    options = {"watch_races_in": ["x", "y"], "max_basic_blocks": 10_000, "schedule": schedule}
    return Case(f"{meet} {schedule}", ptx, "k", (blocks,), (THREADS,), arrays, 0, options)


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_blocks_wait_for_each_other_and_see_what_all_wrote(schedule: str) -> None:
    done = case("everyone();", schedule=schedule).simulate()
    assert done.hazards == []
    assert set(done.arrays["y"].tolist()) == {BLOCKS * (BLOCKS + 1) / 2}
    assert not done.arrays["x"].any()


def test_without_the_barrier_blocks_race() -> None:
    assert {hazard.kind for hazard in case("__syncthreads();").simulate().hazards} == {RACE}


def test_more_threads_than_a_gpu_has_at_once_are_refused() -> None:
    with pytest.raises(LabError, match="no GPU has room for 640,000 threads"):
        case("everyone();", 10_000).simulate()
