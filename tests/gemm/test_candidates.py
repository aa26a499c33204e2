"""Candidates of a search: each family has valid ones, which compile without spills."""

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import compile_kernel, suits
from sgemm_lab.gemm.dispatch.candidates import FAMILIES, LOOPS, SHARING, candidates, settings
from sgemm_lab.gemm.dispatch.fits_on_sm import fit_refusal
from sgemm_lab.gemm.dispatch.legality import refusal
from sgemm_lab.gemm.dispatch.prediction import predicted_gflops, same_loop_kernel
from sgemm_lab.gemm.dispatch.shapes import SQUARES
from sgemm_lab.gpu import find_gpu
from sgemm_lab.kernel import Kernel

CANDIDATES = candidates()


def test_every_declared_setting_satisfies_the_assertions() -> None:
    declared = [
        load_kernel(family.kernel).with_constants(**setting)
        for family in FAMILIES
        for setting in settings(family)
    ]
    assert [(kernel.name, refusal(kernel)) for kernel in declared if refusal(kernel)] == []
    assert {kernel.name for kernel in declared} == {kernel.name for kernel in CANDIDATES}


def test_every_gpu_has_a_candidate() -> None:
    for target in ("sm_75", "sm_80", "sm_89", "sm_90", "sm_120"):
        assert any(suits(kernel, target) for kernel in CANDIDATES), target


@pytest.mark.parametrize(
    "name", ["split_k", "cluster_split:BM=32,BN=32,TM=4,WM=16,SPLIT=4", "stream_k", "one_column"]
)
def test_a_candidate_fits_on_an_h200_without_spills(name: str) -> None:
    kernel = load_kernel(name)
    assert fit_refusal(kernel, compile_kernel(kernel, "sm_90"), "9.0", (512, 512, 512)) is None


def test_families_name_existing_kernels() -> None:
    for name in (*LOOPS, *LOOPS.values(), *SHARING):
        assert load_kernel(name).base_name == name


@pytest.mark.parametrize("kernel", CANDIDATES, ids=lambda kernel: kernel.name)
def test_the_same_loop_has_the_same_tile(kernel: Kernel) -> None:
    twin = same_loop_kernel(kernel)
    for name in ("BM", "BN", "BK", "TM", "TN", "WM", "WN"):
        assert twin.values.get(name) == kernel.values.get(name)


def test_no_prediction_exceeds_the_peak() -> None:
    gpu = find_gpu("h200")
    for name in ("double_buffer", "small_tile", "cluster_split", "one_row"):
        for size in SQUARES[:5]:
            assert 0 < predicted_gflops(load_kernel(name), size, gpu) <= 1.0001 * gpu.peak_gflops
