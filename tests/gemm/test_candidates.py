"""Candidates of a search: each family has valid ones, which compile without spills."""

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.gemm.dispatch.candidates import (
    FAMILIES,
    candidates,
    is_candidate,
    settings,
)
from sgemm_lab.gemm.dispatch.fits_on_sm import fit_refusal
from sgemm_lab.gemm.dispatch.legality import refusal

CANDIDATES = candidates()


def test_every_declared_setting_satisfies_the_assertions() -> None:
    declared = [
        load_kernel(family.kernel).with_constants(**setting)
        for family in FAMILIES
        for setting in settings(family)
    ]
    assert [(kernel.name, refusal(kernel)) for kernel in declared if refusal(kernel)] == []
    assert {kernel.name for kernel in declared} == {kernel.name for kernel in CANDIDATES}


@pytest.mark.parametrize(
    "name", ["split_k", "cluster_split:BM=32,BN=32,TM=4,WM=16,SPLIT=4", "stream_k", "one_column"]
)
def test_a_candidate_fits_on_an_h200_without_spills(name: str) -> None:
    kernel = load_kernel(name)
    assert fit_refusal(kernel, compile_kernel(kernel, "sm_90"), "9.0") is None


def test_kernels_for_narrow_matrices_are_candidates_there_alone() -> None:
    row, column = load_kernel("one_row"), load_kernel("one_column")
    thin, tile = load_kernel("thin_k"), load_kernel("small_tile")
    for size, expected in (
        ((16, 5000, 5000), {row, tile}),
        ((5000, 16, 5000), {column, tile}),
        ((5000, 5000, 128), {thin, tile}),
        ((17, 17, 129), {tile}),
    ):
        kernels = (row, column, thin, tile)
        assert {kernel for kernel in kernels if is_candidate(kernel, size)} == expected
