"""Picking a kernel: the measured winner at a measured size, a predicted one elsewhere."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_samples import point, table

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.gemm.dispatch.work import LAUNCH_WORK, busiest_sm_work, distance, is_aligned

SMALL, LARGE = "thread_tile", "large_tile"
"""Block tiles of 64×64 and of 128×128."""
TABLE = table(
    point(SMALL, (256, 256, 256), 1e-5), point(LARGE, (256, 256, 256), 4e-5),
    point(SMALL, (4096, 4096, 4096), 5e-3), point(LARGE, (4096, 4096, 4096), 3e-3),
    point(SMALL, (255, 255, 255), 3e-5), point(LARGE, (255, 255, 255), 5e-5),
    point(SMALL, (4095, 4095, 4095), 9e-3), point(LARGE, (4095, 4095, 4095), 6e-3),
)  # fmt: skip
PICKER = Picker(TABLE, 132)
dimension = st.integers(1, 2**24)


@pytest.mark.parametrize("size", TABLE.sizes)
def test_a_measured_size_gets_its_fastest_kernel(size: Any) -> None:
    found = PICKER.pick(*size)
    assert found.kernel.name == TABLE.at(size)[0].kernel
    assert found.seconds == pytest.approx(TABLE.at(size)[0].seconds)


@given(dimension, dimension, dimension, st.one_of(st.none(), st.booleans()))
def test_every_size_and_alignment_has_a_kernel(m: int, n: int, k: int, aligned: Any) -> None:
    found = PICKER.pick(m, n, k, aligned=aligned)
    assert found.kernel in (load_kernel(SMALL), load_kernel(LARGE))
    assert 0 < found.seconds < float("inf")


@given(dimension, dimension, dimension)
def test_a_choice_does_not_depend_on_earlier_ones(m: int, n: int, k: int) -> None:
    assert PICKER.pick(m, n, k) == Picker(TABLE, 132).pick(m, n, k)


@given(st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 4096))
def test_the_busiest_sm_has_no_less_than_its_even_share(m: int, n: int, k: int) -> None:
    for name in (SMALL, LARGE, "naive", "tiled", "double_buffer"):
        assert busiest_sm_work(load_kernel(name), (m, n, k), 132) >= m * n * k / 132 * (1 - 1e-9)


def test_one_block_more_than_the_sms_hold_costs_a_wave() -> None:
    kernel = load_kernel(LARGE)
    one_round = busiest_sm_work(kernel, (128, 128 * 132, 64), 132)
    assert one_round == 128 * 128 * 64
    assert busiest_sm_work(kernel, (128, 128 * 132 + 1, 64), 132) == 2 * one_round


def test_a_tile_below_the_split_threshold_is_one_blocks_work() -> None:
    kernel = load_kernel("per_warp_stages")
    assert busiest_sm_work(kernel, (2048, 2048, 2048), 132) == 128 * 256 * 2048
    assert busiest_sm_work(kernel, (2048, 2048, 8192), 132) == 2048 * 2048 * 8192 / 132


def test_a_further_wave_makes_the_larger_tile_slower() -> None:
    # 132 blocks of 128×128 fill the GPU once; a column more takes a second round for one block.
    fits, spills = (128, 128 * 132, 1024), (128, 128 * 132 + 4, 1024)
    measured = table(point(SMALL, fits, 1.2e-4), point(LARGE, fits, 1e-4))
    picker = Picker(measured, 132)
    assert picker.pick(*fits).kernel.name == LARGE
    assert picker.pick(*spills).kernel.name == SMALL


def test_aligned_sizes_use_points_of_aligned_sizes_only() -> None:
    measured = table(
        point(SMALL, (512, 512, 512), 1e-5), point(LARGE, (512, 512, 512), 2e-5),
        point(SMALL, (511, 511, 511), 2e-5), point(LARGE, (511, 511, 511), 1e-5),
    )  # fmt: skip
    picker = Picker(measured, 132)
    assert picker.pick(512, 512, 512).kernel.name == SMALL
    assert picker.pick(512, 512, 512, aligned=False).kernel.name == LARGE
    assert picker.pick(513, 513, 513).kernel.name == LARGE
    # A table of one kind answers for the other as well.
    only = Picker(table(point(SMALL, (512, 512, 512), 1e-5)), 132)
    assert only.pick(511, 511, 511).kernel.name == SMALL


def test_float4_alignment() -> None:
    assert is_aligned((3, 8, 4), 256, 512)
    assert not is_aligned((4, 8, 4), 256, 260)
    assert not is_aligned((4, 7, 4))
    assert not is_aligned((4, 8, 5))


def test_unsupported_kernels_are_never_chosen() -> None:
    picker = Picker(TABLE, 40, lambda kernel: kernel.name != LARGE)
    assert picker.pick(4096, 4096, 4096).kernel.name == SMALL
    with pytest.raises(
        LabError, match=r"None of the kernels .+ runs on this GPU\. Make a table for this GPU"
    ):
        Picker(TABLE, 40, lambda _: False)


def test_removed_kernels_are_skipped() -> None:
    gone = point(SMALL, (8, 8, 8), 1e-9)
    measured = table(
        point(LARGE, (8, 8, 8), 1e-5), gone.__class__(**{**vars(gone), "kernel": "gone"})
    )
    assert Picker(measured, 132).pick(8, 8, 8).kernel.name == LARGE


def test_only_the_nearest_size_is_used() -> None:
    measured = table(
        point(SMALL, (1024, 1024, 1024), 1e-4),
        point(LARGE, (1024, 1024, 1024), 2e-4),
        point(LARGE, (1200, 1024, 1024), 1e-12),
    )
    assert Picker(measured, 132).pick(1000, 1024, 1024).kernel.name == SMALL


def test_a_doubling_is_a_distance_of_one() -> None:
    assert distance((8, 8, 8), (16, 8, 8)) == distance((8, 8, 8), (8, 4, 8)) == 1
    assert LAUNCH_WORK > 0
