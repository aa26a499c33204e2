"""Implausible values of records: clocks, exceeded bounds, another GPU. The book's have none."""

from dataclasses import replace
from typing import Any

import pytest
from ladder_samples import WITHOUT_A_DEMAND
from record_samples import DEVICE, reading, run, samples

from sgemm_lab.files import data_folder
from sgemm_lab.models.record_checks import findings, scores_with_bounds
from sgemm_lab.records.gpu_record import Device, Record, Run, Spread
from sgemm_lab.records.store import load_records

DATE = "2026-01-02T03:04:05Z"
FINE = run(samples("naive", 0.03, size=4096), samples("cublas", 0.0025, size=4096))


@pytest.mark.parametrize("record", load_records(), ids=lambda record: record.gpu.name)
def test_a_record_of_the_book_has_no_unexplained_finding(record: Record) -> None:
    """``records/notes.md`` explains correct values that look implausible."""
    explained = (data_folder("records") / "notes.md").read_text(encoding="utf-8")
    wrong = [f.sentence for f in findings(record) if f.certain or f.about not in explained]
    assert not wrong, "\n".join(wrong)


def test_most_scores_of_the_book_have_a_bound() -> None:
    book = load_records()[0]
    judged = [score.kernel for score, _ in scores_with_bounds(book)]
    assert len(judged) > 12 * len({*judged} - WITHOUT_A_DEMAND)
    assert {*judged} >= {"naive", "tiled", "split_k", "mma_tf32", "matmul"}


def judged(*runs: Run, **device: Any) -> list[tuple[str, bool]]:
    found = findings(Record(replace(DEVICE, **device), runs))
    return [(one.sentence, one.certain) for one in found]


def test_a_plausible_record_has_no_findings() -> None:
    assert judged(FINE) == []
    # A GeForce exceeds the clock that its driver reports.
    assert judged(replace(FINE, clock_mhz=Spread(1900, 2200, 2300))) == []
    assert judged(replace(FINE, clock_mhz=None)) == []


@pytest.mark.parametrize(
    ("clock", "sentence", "certain"),
    [
        (
            3000.0,
            f"nvidia-h200.json, run of {DATE}: an SM clock of 3,000 MHz was read, and the driver "
            "reports a maximum of 1,980 MHz. One of the two is wrong: record the run again.",
            True,
        ),
        (
            600.0,
            f"nvidia-h200.json, run of {DATE}: the SM clock was 600 MHz, 30 % of the maximum "
            "of 1,980 MHz that the driver reports. Check for a power limit, heat, or another card.",
            False,
        ),
    ],
)
def test_an_implausible_clock_is_reported(clock: float, sentence: str, certain: bool) -> None:
    wrong = replace(FINE, clock_mhz=Spread(clock, clock, clock), date="2026-02-03T04:05:06Z")
    said = sentence.replace(DATE, wrong.date)
    assert judged(FINE, wrong) == [(said, certain)]


def test_a_low_clock_is_accepted_while_counters_are_read() -> None:
    assert judged(FINE, replace(FINE, measurements=(), clock_mhz=Spread(600, 600, 600))) == []


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ({"max_clock_mhz": 3000.0}, "the highest clock is 3,000 MHz by the driver, 1,980 MHz by"),
        ({"sms": 114}, "SMs 114 by the driver, 132 by the data sheet of the H200"),
        ({"compute_capability": "8.0"}, "compute capability 8.0 by the driver, 9.0 by"),
    ],
)
def test_a_device_that_differs_from_its_data_sheet_is_reported(
    device: dict[str, Any], words: str
) -> None:
    ((said, certain),) = judged(FINE, **device)
    assert said.startswith(f"nvidia-h200.json: {words}")
    assert certain


def test_an_exceeded_bound_is_reported_once_per_kernel() -> None:
    half = [replace(one, seconds=(one.seconds[0] / 5,)) for one in FINE.measurements[:1]]
    small = samples("naive", 1e-6, size=256)
    ((said, certain),) = judged(
        replace(
            FINE,
            measurements=(*half, small, *FINE.measurements[1:], samples("cublas", 1e-5, size=256)),
        )
    )
    assert said.startswith(f"nvidia-h200.json, run of {DATE}: naive at 256³ reaches 33,554 GFLOP/s")
    assert "% of its bound: L1 allows" in said
    assert certain


@pytest.mark.parametrize(
    ("name", "seconds", "said", "certain"),
    [
        ("cublas", 0.001, "cublas at 4096³ reaches 137,439 GFLOP/s, 205.4 % of the 66,908", True),
        ("cublas", 0.02, "cublas at 4096³ reaches 6,872 GFLOP/s, 10.3 % of the 66,908", False),
        ("cublas_tf32", 1e-4, "cublas_tf32 at 4096³ reaches 1,374,390 GFLOP/s", True),
        ("cublas_fp16", 1e-4, "cublas_fp16 at 4096³ reaches 1,374,390 GFLOP/s", True),
    ],
)
def test_an_implausible_speed_of_cublas_is_reported(
    name: str, seconds: float, said: str, certain: bool
) -> None:
    ((found, is_certain),) = judged(run(samples(name, seconds, size=4096)))
    assert found.startswith(f"nvidia-h200.json, run of {DATE}: {said}")
    assert is_certain is certain


def test_of_several_speeds_above_a_bound_the_highest_is_reported() -> None:
    fast, faster = samples("naive", 1e-4, size=2048), samples("naive", 1e-4, size=4096)
    cublas = [samples("cublas", seconds, size=n) for seconds, n in ((3e-4, 2048), (25e-4, 4096))]
    for order in ((fast, faster), (faster, fast)):
        (found,) = findings(Record(DEVICE, (run(*order, *cublas),)))
        assert "4096" in found.sentence


@pytest.mark.parametrize(("gbs", "certain"), [(5000.0, True), (3000.0, False)])
def test_an_implausible_dram_bandwidth_is_reported(gbs: float, certain: bool) -> None:
    far = replace(FINE, readings=(reading("bandwidth.read", 2**30, gbs),))
    ((said, is_certain),) = judged(far)
    assert said.startswith(f"nvidia-h200.json: DRAM was read at {gbs:,.0f} GB/s")
    assert is_certain is certain


def other(**changes: Any) -> Device:
    return replace(DEVICE, name="Example 4242", **changes)


def test_a_gpu_without_a_data_sheet_is_checked_by_its_drivers_description() -> None:
    assert findings(Record(other(), (FINE,))) == []
    fast = replace(FINE, measurements=(samples("cublas", 0.001, size=4096),))
    (found,) = findings(Record(other(), (fast,)))
    assert found.sentence.startswith(f"example-4242.json, run of {DATE}: cublas at 4096³")


@pytest.mark.parametrize("changes", [{"compute_capability": "8.7"}, {"memory_clock_mhz": 0.0}])
def test_a_gpu_without_bounds_is_reported(changes: dict[str, Any]) -> None:
    (found,) = findings(Record(other(**changes), (FINE,)))
    assert found.sentence.startswith("example-4242.json: Example 4242 has no bounds. The book has")
    assert (found.about, found.certain) == ("example-4242.json", False)
