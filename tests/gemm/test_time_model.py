"""The model of time: what its terms count, and that the fit finds coefficients again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.gemm.dispatch.candidates import candidates
from sgemm_lab.gemm.dispatch.fitting import Times, fit
from sgemm_lab.gemm.dispatch.model import TERMS, Slots, Terms, is_aligned, terms
from sgemm_lab.gemm.dispatch.shapes import drawn
from sgemm_lab.kernel import Kernel, Size

SMS = 132
TILE = load_kernel("small_tile")
"""64 × 64, K tiles of 16."""
CLUSTER = load_kernel("cluster_split").with_constants(SPLIT=4)
NAMES = list(TERMS)


def counts(kernel: Kernel, size: Size, resident: int = 2, clusters: int = 0) -> dict[str, float]:
    found = terms(kernel, size, Slots(SMS, resident, clusters))
    return dict(zip(NAMES, found, strict=True))


def test_the_busiest_sm_counts() -> None:
    found = counts(TILE, (64, 64 * 132, 160))
    assert (found["work"], found["depth"], found["stores"], found["rounds"]) == (10, 10, 1, 1)
    found = counts(TILE, (64, 64 * 133, 161))
    assert (found["work"], found["depth"], found["stores"], found["rounds"]) == (22, 11, 2, 1)
    found = counts(TILE, (64, 64 * 132 * 3, 16))
    assert (found["work"], found["depth"], found["rounds"]) == (3, 2, 2)


def test_bytes_and_what_is_stored_of_a_tile() -> None:
    found = counts(TILE, (16, 32, 10))
    assert (found["read"], found["written"]) == (4 * (160 + 320), 4 * 512)
    assert found["stores"] == 16 / 64 * 32 / 64
    assert found["adds"] == 0


def test_clusters_are_placed_whole() -> None:
    assert counts(CLUSTER, (64 * 30, 64, 64), clusters=31)["work"] == 1
    assert counts(CLUSTER, (64 * 32, 64, 64), clusters=31)["work"] == 2
    assert counts(CLUSTER, (64, 64, 16 * 4 * 5), clusters=31)["work"] == 5


def test_parts_of_k_are_added() -> None:
    kernel = load_kernel("split_k")
    parts = kernel.launch_shape(64, 64, 4096).grid[1]
    found = counts(kernel, (64, 64, 4096))
    assert found["work"] == -(-256 // parts) * -(-parts // SMS)
    assert found["adds"] == -(-parts // SMS) * parts


def test_whole_tiles_or_an_even_share() -> None:
    kernel = load_kernel("per_warp_stages")
    whole = counts(kernel, (2048, 2048, 2048))
    assert (whole["work"], whole["stores"], whole["adds"]) == (256, 1, 0)
    shared = counts(kernel, (2048, 2048, 8192))
    assert (shared["work"], shared["adds"]) == (-(-128 * 1024 // SMS), 2)


extent = st.integers(1, 20_000)


@given(st.sampled_from(candidates()), st.tuples(extent, extent, extent), st.integers(1, 8))
def test_no_term_is_negative_and_none_shrinks_with_k(
    kernel: Kernel, size: Size, resident: int
) -> None:
    clusters = 132 // kernel.values["SPLIT"] if "SPLIT" in kernel.values else 0
    less = terms(kernel, size, Slots(SMS, resident, clusters))
    more = terms(kernel, (*size[:2], 2 * size[2]), Slots(SMS, resident, clusters))
    assert len(less) == len(TERMS)
    assert less[0] == 1
    assert min(less) >= 0
    if kernel.base_name not in ("stream_k", "per_warp_stages"):  # these may begin to share
        assert all(one <= other for one, other in zip(less, more, strict=True))


COSTS = {
    True: (2e-6, 1e-13, 2e-13, 5e-7, 2e-7, 4e-7, 3e-7, 0.0),
    False: (3e-6, 2e-13, 3e-13, 6e-7, 3e-7, 3e-6, 1e-7, 0.0),
}


def seconds(kernel: Kernel, size: Size, slots: Slots) -> float:
    found: Terms = terms(kernel, size, slots)
    return float(np.dot(found, COSTS[is_aligned(kernel, size)]))


def test_the_fit_predicts_what_follows_the_model() -> None:
    slots = Slots(SMS, 4)
    measured = {size: seconds(TILE, size, slots) for size in drawn(120, 1)}
    (found,) = fit([Times(TILE, 4, measured)], SMS)
    assert (found.kernel, found.resident, found.shapes, found.clusters) == (TILE.name, 4, 120, None)
    assert found.error < 0.01
    for size in drawn(40, 2):
        costs = found.aligned if is_aligned(TILE, size) else found.other
        predicted = np.dot(terms(TILE, size, slots), costs)
        assert predicted == pytest.approx(seconds(TILE, size, slots), rel=0.06)


def test_a_few_wrong_measurements_do_not_spoil_the_fit() -> None:
    slots = Slots(SMS, 4)
    measured = {size: seconds(TILE, size, slots) for size in drawn(120, 1)}
    spoiled = {**measured, **{size: 6 * measured[size] for size in list(measured)[::12]}}
    (found,) = fit([Times(TILE, 4, spoiled)], SMS)
    errors = []
    for size, exact in measured.items():
        costs = found.aligned if is_aligned(TILE, size) else found.other
        errors.append(abs(np.dot(terms(TILE, size, slots), costs) / exact - 1))
    assert np.median(errors) < 0.05


@pytest.mark.parametrize("clusters", [30, 31, 33])
def test_the_fit_finds_how_many_clusters_run_at_a_time(clusters: int) -> None:
    slots = Slots(SMS, 3, clusters)
    measured = {size: seconds(CLUSTER, size, slots) for size in drawn(150, 3)}
    (found,) = fit([Times(CLUSTER, 3, measured)], SMS)
    assert found.clusters == clusters


def test_a_candidate_that_was_hardly_measured_has_no_fit() -> None:
    assert fit([Times(TILE, 4, {(64, 64, 64): 1e-6})], SMS) == ()


def test_without_unaligned_measurements_all_serve() -> None:
    slots = Slots(SMS, 4)
    sizes = [size for size in drawn(60, 1) if is_aligned(TILE, size)]
    (found,) = fit([Times(TILE, 4, {size: seconds(TILE, size, slots) for size in sizes})], SMS)
    assert found.aligned == found.other
