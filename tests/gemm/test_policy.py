"""The choice of an algorithm within an error bound, by the book's records and parts of them."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_samples import DEVICE

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import suits
from sgemm_lab.errors import LabError
from sgemm_lab.gemm import policy
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.gemm.policy import (
    STATED_INPUTS,
    Algorithm,
    GpuRecords,
    choose,
    gpu_records,
    kernel_errors,
)
from sgemm_lab.gemm.strassen.model import WORTH
from sgemm_lab.kernel import Size
from sgemm_lab.records.dispatch_table import load_tables
from sgemm_lab.records.store import load_records
from sgemm_lab.records.strassen import Inside

T4 = replace(DEVICE, name="Tesla T4", compute_capability="7.5", sms=40)
L4 = replace(DEVICE, name="NVIDIA L4", compute_capability="8.9", sms=58)


@cache
def book() -> GpuRecords:
    return gpu_records(None)


def without_tensor_cores() -> GpuRecords:
    """The records of the book's GPU alone, without times of kernels on tensor cores."""
    runs = tuple(
        replace(
            run,
            measurements=tuple(
                one for one in run.measurements if one.kernel in ("cublas", "naive")
            ),
        )
        for run in book().record.runs
    )
    return replace(book(), record=replace(book().record, runs=runs), similar=())


def cube(
    n: int, error: Any, known: GpuRecords | None = None, workspace: int | None = None
) -> Algorithm:
    return choose((n, n, n), error, known or book(), workspace)


extent = st.one_of(st.integers(1, 16384), st.sampled_from([256, 1024, 4096, 8192, 16384]))
sizes = st.tuples(extent, extent, extent)
bounds = st.floats(1e-8, 1)
few = settings(max_examples=25, deadline=None)

PICKER = Picker(load_tables()[0].gpu, load_tables())


@few
@given(sizes)
def test_without_a_bound_the_dispatchers_kernel_is_chosen(size: Size) -> None:
    way = choose(size, None, book())
    assert way.kernel == PICKER.pick(*size).kernel
    assert (way.plan, way.arithmetic, way.workspace_bytes) == (None, "fp32", 0)


def chosen(size: Size, error: float) -> Algorithm | None:
    try:
        return choose(size, error, book())
    except LabError:
        return None


@few
@given(sizes, bounds, bounds)
def test_the_bound_is_met_and_a_larger_bound_is_not_slower(
    size: Size, one: float, other: float
) -> None:
    strict, loose = (chosen(size, error) for error in sorted((one, other)))
    for way, error in ((strict, min(one, other)), (loose, max(one, other))):
        if way is not None:
            assert way.error is not None
            assert way.error <= error
    if strict is not None:
        assert loose is not None
        assert loose.seconds <= WORTH * strict.seconds


@few
@given(sizes)
def test_fp32_is_as_accurate_as_cublas_or_the_dispatchers_kernel(size: Size) -> None:
    way = choose(size, "fp32", book())
    assert way.seconds <= choose(size, None, book()).seconds
    if way.arithmetic != "fp32":
        (record,) = [one for one in load_records() if one.gpu.name == way.gpu]
        library = kernel_errors(record, "cublas", size[2])
        mine = kernel_errors(record, way.kernel, size[2])
        assert len(mine) == len(STATED_INPUTS)
        assert all(one <= other for one, other in zip(mine, library, strict=True))


def test_tensor_cores_are_chosen_where_they_are_as_accurate() -> None:
    assert [cube(4096, error).kernel.base_name for error in (None, "fp32", 3e-7, 1e-3)] == [
        "per_warp_stages", "wgmma_3xfp16", "wgmma_3xfp16", "wgmma_tf32",
    ]  # fmt: skip
    # Levels of Strassen's product over the same kernel pay only where their sizes are huge.
    large = [cube(16384, error) for error in (6e-7, "fp32", 1e-5)]
    assert [(way.name, way.arithmetic) for way in large] == [("wgmma_3xfp16", "3xfp16")] * 3
    assert str(cube(4096, "fp32")).startswith("4096³ by wgmma_3xfp16 in 3xfp16: error ")
    # Its first pass weighs more where K is short, and its workspace may be forbidden.
    assert choose((4096, 4096, 256), "fp32", book()).arithmetic == "fp32"
    assert choose((4096, 4096, 4096), "fp32", book(), workspace=0).arithmetic == "fp32"


def test_a_kernel_that_was_not_measured_here_has_the_speed_of_a_similar_gpu() -> None:
    alone = without_tensor_cores()
    way = cube(4096, "fp32", replace(alone, similar=book().similar))
    assert (way.name, way.gpu) == ("wgmma_3xfp16", "NVIDIA H100 80GB HBM3")
    assert cube(4096, "fp32").gpu == book().gpu.name == "NVIDIA H200"
    assert cube(4096, "fp32", alone).name != way.name


def test_a_kernel_with_lost_elements_is_never_chosen() -> None:
    (h100,) = [table.gpu for table in load_tables() if "H100" in table.gpu.name]
    known = gpu_records(h100)
    fp16 = load_kernel("wgmma_fp16")
    assert max(kernel_errors(known.record, fp16, 4096)) == float("inf")
    way = cube(4096, 1e9, known)
    assert way.arithmetic == "tf32"
    cubes = (score for score in known.record.scores if score.size == (4096, 4096, 4096))
    recorded = {score.kernel: score.gflops for score in cubes}
    assert recorded[fp16.name] > recorded[way.name]


def test_the_largest_product_is_strassens_over_tensor_cores_on_both_cards() -> None:
    for known in (gpu_records(record.gpu) for record in load_records()):
        way = cube(32768, "fp32", known)
        assert (way.arithmetic, way.kernel.name) == ("strassen+3xfp16", "wgmma_3xfp16")
        assert way.plan is not None
        assert way.plan.levels == 1  # two have a larger error than cuBLAS where numbers differ much


def test_a_k_beyond_the_record_is_an_error() -> None:
    assert (cube(65536, "fp32").arithmetic, cube(65536, "fp32").error) == ("fp32", None)
    assert "error not recorded at this K" in str(cube(65536, None))
    with pytest.raises(LabError, match=r"for a K of 65,536 or more. Omit error"):
        cube(65536, 1e-3)
    # No size nearby was timed on tensor cores.
    assert choose((4096, 1, 4096), 1e-3, book()).arithmetic == "fp32"


def test_a_gpu_without_a_record_gets_fp32() -> None:
    known = gpu_records(L4)
    assert {cube(4096, error, known).arithmetic for error in ("fp32", 1e-5, 1e-3)} == {"fp32"}
    with pytest.raises(
        LabError, match=r"on NVIDIA L4. The smallest .+ K = 4,096 is 1.1e-06. Allow"
    ):
        cube(4096, 3e-7, known)


def test_kernels_that_need_a_newer_gpu_are_never_chosen() -> None:
    known, cubes = gpu_records(T4), [(n, n, n) for n in (64, 512, 4096)]
    assert all(suits(choose(size, None, known).kernel, "sm_75") for size in cubes)
    assert not any(suits(choose(size, None, book()).kernel, "sm_75") for size in cubes)
    assert book().strassen
    inside = Inside("wgmma_3xfp16", load_kernel("wgmma_3xfp16").fingerprint, "3xfp16")
    measured = replace(book(), strassen=replace(book().strassen, inside=(inside,)))
    leaves = [
        [one.kernel((4096, 4096, 4096)).base_name for one in policy._leaves(4096, known)]
        for known in (measured, replace(measured, gpu=L4))
    ]
    assert leaves == [["per_warp_stages", "wgmma_3xfp16"], ["per_warp_stages"]]


def test_bound_and_workspace_limit_the_levels_of_strassens_product() -> None:
    known = without_tensor_cores()
    levels = [
        way.plan.levels if (way := cube(16384, error, known)).plan else 0
        for error in (None, "fp32", 3e-6, 5e-6, 1e-5, 1e-3)
    ]
    assert levels[:3] == [0, 0, 0]
    assert levels[3:5] == [1, 2]
    assert levels[5] > 2
    way = cube(16384, 1e-5, known)
    assert known.strassen is not None
    recorded = known.strassen.error_at(16384, "uniform").levels[2]
    assert (way.name, way.arithmetic) == ("strassen", "strassen")
    assert recorded <= (way.error or 0) <= 1.01 * recorded
    assert str(way).startswith("16384³ by strassen, 2 levels over ")
    assert "workspace" in str(way)
    assert cube(16384, 1e-5, known, 0).plan is None
    assert 0 < cube(16384, 1e-5, known, 10**9).workspace_bytes <= 10**9
    # Leaves of the record's 1024³ share out K, and others may not: their error counts more.
    assert choose((16384, 16384, 1024), 8e-7, known).plan is None


@pytest.mark.parametrize("error", [0, -1e-5, float("nan"), float("inf"), True, "tf32", [1e-5]])
def test_an_invalid_bound_is_an_error(error: Any) -> None:
    with pytest.raises(LabError, match=r"error is .+ Give a positive number such as 1e-5"):
        cube(4096, error)


def test_a_kernel_that_copies_the_factors_needs_the_workspace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copying = replace(load_kernel("wgmma_tf32"), workspace="4 * (M * K + K * N)")
    monkeypatch.setattr(policy, "load_kernels", lambda **_: [load_kernel("naive"), copying])
    needed = copying.launch_shape(8192, 8192, 8192).workspace_bytes
    assert cube(8192, 1e-3).kernel == cube(8192, 1e-3, workspace=needed).kernel == copying
    assert cube(8192, 1e-3, workspace=needed - 1).kernel != copying
