"""Picking a kernel: the measured winner at a measured size, elsewhere the fastest by the model."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_samples import DEVICE
from table_samples import fit, point, table

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.records.dispatch_table import load_tables

SMALL, LARGE = "thread_tile", "double_buffer"
"""Block tiles of 64×64 and of 128×128."""
TABLE = table(
    point(SMALL, (256, 256, 256), 9e-6), point(LARGE, (256, 256, 256), 4e-5),
    fits=(fit(SMALL, 3e-6, other=1e-6), fit(LARGE, 2e-6, other=2e-6)),
)  # fmt: skip
PICKER = Picker(DEVICE, [TABLE])
BOOK = Picker(DEVICE, load_tables())
dimension = st.integers(1, 2**24)


def test_a_measured_size_gets_its_fastest_kernel() -> None:
    found = PICKER.pick(256, 256, 256)
    assert (found.kernel.name, found.seconds) == (SMALL, 9e-6)
    # Matrices that float4 cannot read were not measured.
    assert PICKER.pick(256, 256, 256, aligned=False).seconds == 1e-6


def test_a_measured_kernel_that_has_changed_does_not_count() -> None:
    old = replace(point(SMALL, (64, 64, 64), 1e-9), fingerprint="old")
    picker = Picker(DEVICE, [replace(TABLE, searches=table(old).searches)])
    assert picker.pick(64, 64, 64).kernel.name == LARGE


def test_alignment_chooses_the_coefficients() -> None:
    assert PICKER.pick(64, 64, 64).kernel.name == LARGE
    assert PICKER.pick(64, 63, 64).kernel.name == SMALL
    assert PICKER.pick(64, 64, 63).kernel.name == LARGE  # A is read float by float


@given(dimension, dimension, dimension, st.booleans())
def test_every_size_and_alignment_has_a_kernel(m: int, n: int, k: int, aligned: Any) -> None:
    found = BOOK.pick(m, n, k, aligned=aligned)
    assert 0 < found.seconds < float("inf")
    assert found.seconds == BOOK.predict(found.kernel, (m, n, k), aligned=aligned)


def test_unsupported_kernels_are_never_chosen() -> None:
    picker = Picker(DEVICE, [TABLE], lambda kernel: kernel.name != LARGE)
    assert picker.pick(4096, 4096, 4096).kernel.name == SMALL
    with pytest.raises(
        LabError, match=r"None of the kernels .+ runs on this GPU\. Make a table for this GPU"
    ):
        Picker(DEVICE, [TABLE], lambda _: False)


def test_dropped_kernels_are_never_chosen_again() -> None:
    picker = Picker(DEVICE, [TABLE])
    picker.drop(load_kernel(LARGE))
    assert picker.pick(64, 64, 64).kernel.name == SMALL
    assert picker.predict(load_kernel(LARGE), (64, 64, 64)) is None


def test_kernels_that_the_book_no_longer_has_are_skipped() -> None:
    gone = replace(fit(SMALL, 1e-9), kernel="gone")
    picker = Picker(DEVICE, [table(fits=(gone, fit(LARGE, 1e-5)))])
    assert picker.pick(8, 8, 8).kernel.name == LARGE


def test_a_gpu_without_a_model_takes_that_of_the_most_similar_one() -> None:
    other = replace(DEVICE, name="NVIDIA H100")
    own = table(point(SMALL, (256, 256, 256), 1e-6), gpu=other)
    picker = Picker(other, [own, TABLE])
    assert picker.tuned_on == DEVICE.name
    assert picker.pick(64, 64, 64).kernel.name == LARGE
    assert picker.pick(256, 256, 256).kernel.name == SMALL  # its own point
