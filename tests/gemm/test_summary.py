"""The forty shapes: no search measures them, the book's record has them."""

from dataclasses import replace

import pytest
from record_samples import record, run, samples

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.shapes import FORTY_SHAPES
from sgemm_lab.gemm.dispatch.summary import fixed_shape_scores
from sgemm_lab.gemm.dispatch.tuning import tuning_shapes
from sgemm_lab.kernel import Size
from sgemm_lab.records.gpu_record import Measurement
from sgemm_lab.records.store import load_records

NAIVE = load_kernel("naive")


def taken(size: Size, share: float) -> list[Measurement]:
    m, n, k = size
    return [
        Measurement("matmul", NAIVE.fingerprint, m, n, k, 1, (1 / share,), picked="naive"),
        Measurement("cublas", "", m, n, k, 1, (1.0,)),
    ]


def test_there_are_forty_different_shapes_and_no_search_measures_one() -> None:
    assert len(set(FORTY_SHAPES)) == len(FORTY_SHAPES) == 40
    assert not set(tuning_shapes(1)) & set(FORTY_SHAPES)


def test_the_books_record_has_them() -> None:
    recorded = {score.size for score in load_records()[0].scores if score.kernel == "matmul"}
    assert set(FORTY_SHAPES) <= recorded


def test_choices_of_changed_kernels_are_ignored() -> None:
    old = [replace(m, fingerprint="old") for m in taken(FORTY_SHAPES[0], 0.5)]
    with pytest.raises(LabError, match=r"not measured on NVIDIA H200\. Run 'sgemm-lab shapes'"):
        fixed_shape_scores(record(run(*old)))
    with pytest.raises(LabError, match="not measured"):
        fixed_shape_scores(record(run(samples("naive", 1.0), samples("cublas", 1.0))))
