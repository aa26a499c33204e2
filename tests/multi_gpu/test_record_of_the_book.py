"""The book's record of several H200s, and the accuracy of the model."""

import statistics

import pytest

from sgemm_lab.multi_gpu.measure import plan_of
from sgemm_lab.multi_gpu.prediction import fitted_link, predicted
from sgemm_lab.multi_gpu.queries import findings, median
from sgemm_lab.multi_gpu.validity import check
from sgemm_lab.records.multi_gpu import MULTI_GPU_RECORDS, MultiGpuScore, scores

(RECORD,) = MULTI_GPU_RECORDS.load_all()
LINKED = next(run for run in RECORD.runs if run.links)

WANTED = {
    (2, 8192): (0.98, 101), (2, 16384): (0.975, 104), (2, 32768): (0.99, 105),
    (4, 8192): (0.97, 198), (4, 16384): (0.955, 202), (4, 32768): (0.97, 208),
}  # fmt: skip
"""Minimum efficiency and TFLOP/s of the record, by GPUs and n, with cuBLAS."""


def best(gpus: int, n: int) -> MultiGpuScore:
    cases = [
        score
        for score in scores([RECORD])
        if (score.times.case.gpus, score.times.case.n, score.times.case.inside)
        == (gpus, n, "cublas")
    ]
    return max(cases, key=lambda score: score.times.tflops)


@pytest.mark.parametrize(("gpus", "n"), WANTED)
def test_the_gpus_are_used_and_transfers_are_hidden(gpus: int, n: int) -> None:
    times = best(gpus, n).times
    efficiency, tflops = WANTED[gpus, n]
    assert times.efficiency is not None
    assert times.efficiency >= efficiency
    assert times.tflops >= tflops
    assert times.transfer_cost is not None
    assert times.transfer_cost <= 1.01


def test_two_gpus_pay_from_1024_on_as_graphs() -> None:
    found = findings([RECORD])
    one = median(found.product(1, 1024, graph=True).overlap)
    assert one >= 1.25 * median(found.product(2, 1024, graph=True).overlap)


def test_every_recorded_product_has_a_valid_plan() -> None:
    for case in {times.case for run in RECORD.runs for times in run.products}:
        check(plan_of(case))


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


def test_peer_access_makes_copies_ten_times_faster() -> None:
    speeds = {
        found.case.peer: found.gbs
        for found in LINKED.links
        if (found.case.carrier, found.case.pattern, found.case.bytes) == ("copy", "one way", 2**28)
    }
    assert speeds[True] > 10 * speeds[False]
