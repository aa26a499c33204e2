from typing import Any

import numpy as np
import pytest
from exact_reference import chain_of_fma
from hypothesis import given, settings
from hypothesis import strategies as st
from simulator_kernels import GEMMS, gemm_inputs, run_gemm

from sgemm_lab.checking.judge import rounding_shares
from sgemm_lab.counting.of_kernel import fresh_workspace
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.kernel import Kernel, load_kernels
from sgemm_lab.simulator import PtxError, Result, simulate

SIZES = st.integers(1, 40)


def bits(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint32)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(sorted(GEMMS)), SIZES, SIZES, st.integers(1, 20), st.integers(0, 99))
def test_any_size_equals_the_chain_of_fma(name: str, m: int, n: int, k: int, seed: int) -> None:
    args, result = run_gemm(name, m, n, k, seed=seed)
    assert np.array_equal(bits(result.arrays["C"]), bits(chain_of_fma(args["A"], args["B"])))
    assert result.hazards == []


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_100", "sm_120"])
@pytest.mark.parametrize("name", GEMMS)
def test_every_target_gives_the_same_bits(name: str, target: str) -> None:
    if int(target[3:]) < int(GEMMS[name][3][3:]):
        target = GEMMS[name][3]
    args, result = run_gemm(name, 13, 11, 9, target=target)
    assert np.array_equal(bits(result.arrays["C"]), bits(chain_of_fma(args["A"], args["B"])))
    assert result.hazards == []


@pytest.mark.parametrize("name", GEMMS)
def test_both_schedules_agree_on_a_right_kernel(name: str) -> None:
    _, lockstep = run_gemm(name, 17, 19, 21)
    _, warps = run_gemm(name, 17, 19, 21, schedule="warps")
    assert np.array_equal(bits(lockstep.arrays["C"]), bits(warps.arrays["C"]))
    assert warps.hazards == []
    assert lockstep.counts.total == warps.counts.total


def test_many_blocks_in_several_batches() -> None:
    args, result = run_gemm("naive", 200, 200, 3)
    exact = args["A"].astype(np.float64) @ args["B"]
    assert np.abs(result.arrays["C"] - exact).max() < 1e-6
    assert result.counts.total.ffma_thread_instructions == 200 * 200 * 3


CLUSTERED = [kernel for kernel in load_kernels() if "barrier.cluster" in kernel.source]
GROUPED = [kernel for kernel in load_kernels() if "wgmma" in kernel.source]
IN_PARTS = {"stream_k", "split_k", "one_row", "one_column"}
"""Kernels that add up parts of K, and not all of it in one chain."""


def run_of_the_book(kernel: Kernel, m: int, n: int, k: int) -> tuple[dict[str, Any], Result]:
    shape = kernel.launch_shape(m, n, k)
    args = gemm_inputs(m, n, k)
    result = simulate(
        kernel_ptx(kernel),
        "sgemm",
        shape.grid,
        shape.block,
        {**args, **fresh_workspace(shape)},
        shape.shared_bytes,
        together=shape.workspace_bytes > 0,
        unwritten=["C"],
    )
    return args, result


@pytest.mark.parametrize(
    "kernel",
    [kernel for kernel in load_kernels() if kernel not in (*CLUSTERED, *GROUPED)],
    ids=lambda kernel: kernel.name,
)
@pytest.mark.sampled(every=2, first=1)
def test_kernels_of_the_book(kernel: Kernel) -> None:
    args, result = run_of_the_book(kernel, 37, 22, 13)
    chain = chain_of_fma(args["A"], args["B"])
    if kernel.arithmetic != "fp32":
        shares = rounding_shares(args["A"], args["B"], result.arrays["C"], kernel.arithmetic)
        assert shares.max() <= 1
    elif kernel.name in IN_PARTS:
        assert np.abs(result.arrays["C"] - chain).max() < 1e-5
    else:
        assert np.array_equal(bits(result.arrays["C"]), bits(chain))
    assert result.hazards == []


@pytest.mark.parametrize("kernel", CLUSTERED, ids=lambda kernel: kernel.name)
def test_a_kernel_of_clusters_is_refused_in_a_sentence(kernel: Kernel) -> None:
    with pytest.raises(PtxError, match="The blocks of a cluster read each other's shared memory"):
        run_of_the_book(kernel, 37, 22, 13)


@pytest.mark.parametrize("kernel", GROUPED, ids=lambda kernel: kernel.name)
def test_a_kernel_of_warp_groups_is_refused_in_a_sentence(kernel: Kernel) -> None:
    with pytest.raises(PtxError, match=r"Four warps multiply together at .+, line"):
        run_of_the_book(kernel, 37, 22, 13)
