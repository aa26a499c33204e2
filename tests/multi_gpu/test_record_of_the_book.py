"""The book's record of several H200s, and the accuracy of the model."""

import statistics

import pytest

from sgemm_lab.multi_gpu.queries import fitted_link, predicted
from sgemm_lab.records.multi_gpu import MULTI_GPU_RECORDS

(RECORD,) = MULTI_GPU_RECORDS.load_all()
LINKED = next(run for run in RECORD.runs if run.links)


def test_predictions_for_two_gpus_are_within_three_percent() -> None:
    checked = 0
    for run in RECORD.runs:
        for times in run.products:
            case = times.case
            known = (case.gpus, case.layout, case.transport) == (2, "rows", "copy")
            if known and case.n >= 4096 and times.serial:
                link = fitted_link(LINKED, "copy", 2)
                measured = statistics.median(times.serial)
                assert predicted(times, link, overlap=False) == pytest.approx(measured, rel=0.03)
                checked += 1
    assert checked >= 6
