"""What a simulation refuses, and when it gives up."""

import time
from typing import Any

import numpy as np
import pytest
from simulator_kernels import SHIFTED_STORE, ptx_of

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import TimeLimitError, simulate

FILL = """
extern "C" __global__ void k(float* C) {
    C[threadIdx.x] = 1.0f;
}"""
BIG = """
extern "C" __global__ void k(float* C) {
    __shared__ float tile[COUNT];
    tile[threadIdx.x] = C[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = tile[31 - threadIdx.x];
}"""
SLOW = """
extern "C" __global__ void k(volatile float* C) {
    for (int i = 0; blockIdx.x == 700 && C[0] < 9.0f; ++i) C[1] = i;
}"""
C = {"C": np.zeros(32, dtype=np.float32)}


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ((2**31, 1), "grid has 2,147,483,648 along x; a GPU takes at most 2,147,483,647"),
        ((1, 65536), "grid has 65,536 along y; a GPU takes at most 65,535"),
        ((1, 1, 65536), "grid has 65,536 along z"),
        ((2**31 - 1, 65535), "would take hours. Use a smaller grid"),
    ],
)
def test_a_grid_that_no_gpu_takes_or_that_takes_hours_is_refused(
    grid: tuple[int, ...], message: str
) -> None:
    start = time.monotonic()
    with pytest.raises(LabError, match=message):
        simulate(ptx_of(FILL), "k", grid, (32,), C)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"block": (1, 1, 65)}, "block has 65 along z; a GPU takes at most 64"),
        ({"block": (0,)}, r"block needs one to three sizes of 1 or more, not \(0,\)"),
        ({"block": (1025,)}, "A block has at most 1024 threads, not 1025"),
        ({"grid": (1, 1, 1, 1)}, "grid needs one to three sizes of 1 or more"),
        ({"entry": "other"}, "no kernel 'other'. It has: k"),
        ({"args": C}, "takes 2 arguments, but 1 were given"),
        ({"args": {**C, "by": C["C"]}}, "Argument 'by' of the kernel 'k' must be a number"),
        ({"unwritten": ["D"]}, "'D' is named as unwritten, but is no array argument"),
    ],
)
def test_a_launch_that_cannot_be_is_refused(changed: dict[str, Any], message: str) -> None:
    usual = {"entry": "k", "grid": (1,), "block": (32,), "args": {**C, "by": 0}}
    with pytest.raises(LabError, match=message):
        simulate(ptx_of(SHIFTED_STORE), **{**usual, **changed})


def test_more_static_shared_memory_than_the_compiler_takes_is_refused() -> None:
    fits = ptx_of(BIG, "sm_90", f"COUNT={48 * 256}")
    assert simulate(fits, "k", (1,), (32,), C).hazards == []
    with pytest.raises(LabError, match=r"declares 49,156 bytes of shared memory .+ at most 49,152"):
        simulate(ptx_of(BIG, "sm_90", f"COUNT={48 * 256 + 1}"), "k", (1,), (32,), C)


@pytest.mark.parametrize(("target", "limit"), [("sm_90", 232_448), ("sm_80", 166_912)])
def test_static_and_dynamic_shared_memory_count_together(target: str, limit: int) -> None:
    ptx = ptx_of(BIG, target, "COUNT=1024")
    simulate(ptx, "k", (1,), (32,), C, limit - 4096)
    message = f"wants {limit + 1:,} bytes of shared memory for a block; a GPU of {target} has"
    with pytest.raises(LabError, match=message):
        simulate(ptx, "k", (1,), (32,), C, limit - 4095)


def test_a_simulation_ends_when_its_time_is_up_and_says_how_far_it_came() -> None:
    start = time.monotonic()
    with pytest.raises(TimeLimitError) as caught:
        simulate(ptx_of(SLOW), "k", (1000,), (32,), C, time_limit=1.5)
    assert time.monotonic() - start < 10
    said = str(caught.value)
    assert said.startswith("The simulation was stopped after 1.5 seconds: ")
    assert " of 1,000 blocks were done (test.cu, line 3)." in said
    assert "time_limit=" in said


def test_shared_memory_starts_where_it_does_on_the_gpu() -> None:
    """From sm_90 on at 1024: buffers toggled by XOR of addresses meet where a sum has a carry."""
    source = """
    extern "C" __global__ void k(int* C) {
        __shared__ __align__(16384) int tile[2][4096];
        unsigned here = (unsigned)__cvta_generic_to_shared(&tile[0][0]);
        if (threadIdx.x == 0) C[0] = here;
        unsigned last = here + 4 * 4095 - 4 * threadIdx.x;
        C[1 + threadIdx.x] = (last ^ 16384) - last;
    }"""
    for target, start, apart in (("sm_90", 1024, -16384), ("sm_80", 0, 16384)):
        args = {"C": np.zeros(33, dtype=np.int32)}
        made = simulate(ptx_of(source, target), "k", (1,), (32,), args).arrays["C"]
        assert made[0] == start
        assert (made[1:] == apart).all()
