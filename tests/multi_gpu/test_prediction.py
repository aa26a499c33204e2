"""Predictions for a measured product from a run with simple numbers."""

import pytest

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.model import Link
from sgemm_lab.multi_gpu.queries import fitted_link, predicted
from sgemm_lab.records.multi_gpu import Case, LinkCase, LinkTimes, MultiGpuRun, ProductTimes

LINKS = tuple(
    LinkTimes(LinkCase("copy", "both ways", 2, count), (1e-5 + count / 1e11,))
    for count in (2**12, 2**20, 2**28)
)
RUN = MultiGpuRun(
    "2026-01-02T03:04:05Z", 2, "580.1", "13.0", "14.2.0", "2.28.9", "0.1.0", "cublasSgemm",
    links=LINKS,
)  # fmt: skip
CASE = Case(2, 1000, 1000, 1000, "rows", "cublas", "copy")
TIMES = ProductTimes(CASE, (2.1e-3,), 0.1, (2.2e-3,), (2e-3,))


def test_a_sequential_transfer_adds_time_and_an_overlapped_one_is_hidden() -> None:
    transfer = 1e-5 + 4 * 1000 * 500 / 1e11
    link = fitted_link(RUN, "copy", 2)
    assert predicted(TIMES, link, overlap=False) == pytest.approx(2e-3 + transfer)
    assert predicted(TIMES, link, overlap=True) == pytest.approx(2e-3)


def test_missing_measurements_are_errors() -> None:
    with pytest.raises(LabError, match="no times of links by nccl between 2 GPUs"):
        fitted_link(RUN, "nccl", 2)
    with pytest.raises(LabError, match="A prediction needs the time"):
        predicted(ProductTimes(CASE, (1.0,), 0.1), Link(0.0, 1.0), overlap=True)
