"""Records of several GPUs and of Strassen's product: committed files, and the values they give."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from record_samples import DEVICE, record, run, samples

from sgemm_lab.files import data_folder
from sgemm_lab.models.scoreboard import lines
from sgemm_lab.records import dispatch_table, multi_gpu, other_libraries, sanitizer, strassen
from sgemm_lab.records.gpu_record import CUBLAS_MODES, Spread

KINDS = {
    "multi_gpu": multi_gpu.MULTI_GPU_RECORDS,
    "strassen": strassen.STRASSEN_RECORDS,
    "tuned": dispatch_table.TABLES,
    "other_libraries": other_libraries.COMPARISONS,
    "sanitizer": sanitizer.SANITIZER_RUNS,
}
ENVIRONMENT = ("2026-01-02T03:04:05Z", "580.1", "13.0", "13.0", "14.2.0", "0.1.0", "cublasSgemm")


@pytest.mark.parametrize("folder", KINDS)
def test_committed_files_come_back_as_they_were(folder: str, tmp_path: Path) -> None:
    kind: Any = KINDS[folder]
    committed = sorted((data_folder("records") / folder).glob("*.json"))
    assert committed
    for path in committed:
        kind.save(tmp_path / path.name, kind.load(path))
        assert kind.load(tmp_path / path.name) == kind.load(path)


def case(m: int, n: int, k: int, **fields: Any) -> multi_gpu.Case:
    return multi_gpu.Case(4, m, n, k, "cannon", "cublas", "copy", **fields)


def test_a_product_is_rated_by_the_median_of_its_samples() -> None:
    times = multi_gpu.ProductTimes(
        case(100, 200, 300), (4e-6, 3e-6, 9e-6), 0.1, products=(2e-6,), alone=(1e-6,)
    )
    assert times.tflops == pytest.approx(2 * 100 * 200 * 300 / 4e-6 / 1e12)


def plan(levels: int, *seconds: float) -> strassen.MeasuredPlan:
    return strassen.MeasuredPlan(("lean",) * levels, levels, (4, 4, 4), "split", 0, 0, seconds)


def strassen_times(size: tuple[int, int, int], *plans: strassen.MeasuredPlan) -> Any:
    return strassen.SizeTimes(*size, False, (2e-6,), plans)


def test_a_score_is_the_fastest_plan_with_levels_and_the_error_of_as_many() -> None:
    times = [
        strassen_times((8, 8, 8), plan(0, 1e-6), plan(1, 4e-6), plan(2, 9e-6, 2e-6, 3e-6)),
        strassen_times((12, 8, 8), plan(0, 1e-6)),
        strassen_times((16, 16, 16), plan(2, 1e-6)),
    ]
    errors = [
        strassen.Errors("uniform", n, n, n, 4, 1e-7, levels)
        for n, levels in ((8, (2e-7, 3e-7, 5e-7)), (16, (2e-7, 3e-7)))
    ]
    taken = strassen.StrassenRun(*ENVIRONMENT, times=tuple(times), errors=tuple(errors))
    first, second = lines([], [strassen.StrassenRecord(DEVICE, (taken,))])
    assert (first.levels, first.error, first.cublas_error) == (2, 5e-7, 1e-7)
    assert first.gflops == pytest.approx(2 * 8**3 / 3e-6 / 1e9, rel=1e-12)
    assert first.share == pytest.approx(2 / 3)
    assert (second.size, second.error) == ((16, 16, 16), None)  # two levels were not measured


def test_sizes_that_are_no_cube_of_a_power_of_two_are_the_other_sizes() -> None:
    sizes = [(8, 8, 8), (12, 12, 12), (8, 8, 16), (8, 16, 8)]
    taken = strassen.StrassenRun(*ENVIRONMENT, times=tuple(map(strassen_times, sizes)))
    assert [times.size for times in taken.other_sizes] == sizes[1:]


def test_a_spread_is_of_what_was_read() -> None:
    assert Spread.of([]) is None
    assert Spread.of([3.0, 1.0, 2.5]) == Spread(1.0, 2.5, 3.0)


def test_the_library_is_the_latest_run_in_that_arithmetic_at_that_size() -> None:
    fp16, size = CUBLAS_MODES["fp16"], (100, 100, 100)
    old = samples(fp16, 0.004, fingerprint="")
    new, larger = replace(old, seconds=(0.002,)), samples(fp16, 0.001, size=200, fingerprint="")
    plain = samples("cublas", 0.009, fingerprint="")
    found = record(run(old, plain), run(new, larger, date="2026-01-03T03:04:05Z"))
    assert found.library("fp16", size) == new
    assert found.library("fp16", (200, 200, 200)) == larger
    assert found.library("fp16", (1, 1, 1)) is None
    assert found.library("tf32", size) is None
