"""The verbs of several GPUs: they draw and run the engine's plans, and read the record."""

import re
from importlib import import_module
from typing import Any

import pytest

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.layouts import make_plan
from sgemm_lab.multi_gpu.queries import flop_per_link_byte, median
from sgemm_lab.records.multi_gpu import MULTI_GPU_RECORDS

(RECORD,) = MULTI_GPU_RECORDS.load_all()
PLANS = [("rows", 2), ("rows", 4), ("summa", 4), ("cannon", 4), ("cannon", 9)]


def area(tile: tuple[int, int, int, int]) -> int:
    return tile[2] * tile[3]


@pytest.mark.parametrize(("layout", "gpus"), PLANS)
def test_the_widget_shows_every_product_and_every_byte_of_the_plan(layout: str, gpus: int) -> None:
    size = 360
    plan = make_plan(layout, (size, size, size), gpus)
    (shown,) = lab.gpu_tiles((layout, gpus), size=size).plans
    products = [one for now in shown["rounds"] for one in now["products"]]
    made = sum(area(one["c"]) * one["a"][3] for one in products)
    assert made == size**3
    for one in products:
        (a_row, a_column, m, k), (b_row, b_column, k_too, n) = one["a"], one["b"]
        assert one["c"] == (a_row, b_column, m, n)
        assert (a_column, k) == (b_row, k_too)
    moved = [one for now in shown["rounds"] for one in now["transfers"]]
    assert sum(one["bytes"] for one in moved) == sum(
        step.tile.bytes for share in plan.shares for step in share.receives
    )
    assert all(one["bytes"] == 4 * area(one["tile"]) for one in moved)


@pytest.mark.parametrize(
    ("layout", "gpus", "share"), [("rows", 2, 2), ("cannon", 4, 4), ("cannon", 9, 8)]
)
def test_flop_for_each_byte_are_a_share_of_n(layout: str, gpus: int, share: int) -> None:
    assert flop_per_link_byte(layout, 720, gpus) == pytest.approx(720 / share)


def test_what_is_predicted_and_measured_comes_from_the_record() -> None:
    found = lab.multi_gpu_results()
    times = found.product(4, 16384, "cannon")
    assert times in [one for run in RECORD.runs for one in run.products]
    assert found.predicted(times, overlap=False) > found.predicted(times, overlap=True)
    assert found.ms(times.overlap) == 1e3 * median(times.overlap)
    fast, slow = found.without_peer_access()
    assert fast > 10 * slow
    assert found.ridge == pytest.approx(found.tflops * 1e12 / found.link().bytes_per_second)


def test_no_measured_point_is_above_its_roof() -> None:
    found = lab.multi_gpu_results()
    for gpus, layout in ((2, "rows"), (4, "cannon")):
        for n in (8192, 16384, 32768):
            assert found.product(gpus, n, layout).tflops < gpus * found.tflops


def test_the_latest_run_counts() -> None:
    case = (2, 8192, "rows")
    dates = [
        run.date for run in RECORD.runs
        if any((t.case.gpus, t.case.n, t.case.layout) == case for t in run.products)
    ]  # fmt: skip
    (latest,) = [run for run in RECORD.runs if run.date == max(dates)]
    assert lab.multi_gpu_results().product(*case) in latest.products


def test_overlapped_products_end_earlier() -> None:
    said = repr(lab.gpu_timeline())
    serial, overlapped = (float(ms) for ms in re.findall(r"ends after ([\d.]+) ms", said))
    assert overlapped < serial


def test_a_plan_runs_in_numpy_where_there_is_no_gpu() -> None:
    shown = repr(lab.run_on_gpus("summa", (50, 60, 70), gpus=6))
    assert "Run in NumPy" in shown
    assert [line[:5] for line in shown.splitlines()[1:7]] == [f"GPU {gpu}" for gpu in range(6)]
    with pytest.raises(LabError, match="needs a square number"):
        lab.run_on_gpus("cannon", 50, gpus=3)


@pytest.fixture
def four_gpus(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Pretend that there are four; note what they are given."""
    given: list[Any] = []

    def multiply(plan: Any) -> float:
        given.append(plan)
        return 2e-3

    class Sentences:
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    for name, value in {
        "has_gpu": lambda: True,
        "gpu_count": lambda: 4,
        "cuda_errors_as_messages": Sentences,
        "multiply": multiply,
    }.items():
        monkeypatch.setattr(import_module("sgemm_lab.lab.multi_gpu"), name, value)
    return given


def test_where_there_are_enough_gpus_the_same_plan_runs_there(four_gpus: list[Any]) -> None:
    shown = repr(lab.run_on_gpus("cannon", 64, gpus=4))
    assert four_gpus == [make_plan("cannon", (64, 64, 64), 4)]
    assert "On 4 GPUs in 2 ms: 0.000262 TFLOP/s" in shown
    assert "in NumPy" in repr(lab.run_on_gpus("rows", 64, gpus=5))
