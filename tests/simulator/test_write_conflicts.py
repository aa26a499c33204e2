"""Lanes that store to one word at once, and the ways out of a race that a sentence names."""

import numpy as np
import pytest
from golden_launch import Case
from simulator_kernels import ptx_of

TOGETHER = """
extern "C" __global__ void k(int* C, const int* A) {{
    __shared__ __align__(16) int tile[128];
    __shared__ int sum;
    int t = threadIdx.x;
    {head}
    {store}
    __syncthreads();
    C[t] = tile[t / 2];
}}"""
FULL = "__shared__ unsigned long long full; if (t == 0) mbarrier(&full); __syncthreads();"
BARRIER = """
__device__ void mbarrier(unsigned long long* x) {
    unsigned at = __cvta_generic_to_shared(x);
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at));
}"""
STORES = {
    "of int": ("tile[t / 2] = {value};", "t / 2", "t"),
    "of int4": (
        "reinterpret_cast<int4*>(tile)[t / 2] = make_int4(1, 2, {value}, 4);", "t / 2", "t"
    ),
    "of bytes": (
        "reinterpret_cast<char*>(tile)[t / 2] = {value}; C[t] = 3;", "t / 2", "t"
    ),
    "of long long": (
        "reinterpret_cast<long long*>(tile)[t / 2] = {value};",
        "(t / 2) * 1ll",
        "((long long)t << 40)",
    ),
    "of a copy": (
        "asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;\" ::"
        "\"r\"((unsigned)__cvta_generic_to_shared(tile + t / 2)), \"l\"(A + {value}));",
        "t / 2",
        "t",
    ),
}  # fmt: skip


def together(store: str, value: str, head: str = "", schedule: str = "lockstep") -> Case:
    """A kernel in which two lanes store to each word, by counted barriers or by clocks."""
    source = (BARRIER if head else "") + TOGETHER.format(head=head, store=store.format(value=value))
    args = {"C": np.zeros(64, np.int32), "A": np.arange(64, dtype=np.int32)}
    options = {"schedule": schedule}
    name = f"{store.format(value=value)} {'by clocks' if head else 'by barriers'}, {schedule}"
    return Case(name, ptx_of(source), "k", (1,), (64,), args, 0, options)


def races(case: Case) -> list[str]:
    return [str(hazard) for hazard in case.simulate().hazards if hazard.kind == "race"]


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
@pytest.mark.parametrize("head", ["", FULL], ids=["barriers", "clocks"])
@pytest.mark.parametrize("store", STORES)
def test_only_different_values_at_one_word_are_a_race(store: str, head: str, schedule: str) -> None:
    text, same, different = STORES[store]
    assert races(together(text, same, head, schedule)) == []
    assert races(together(text, different, head, schedule))
