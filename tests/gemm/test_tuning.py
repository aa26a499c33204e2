"""The search: its shapes, its time limit, its table; and the judgement of drawn shapes."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from record_samples import DEVICE
from table_samples import search

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch import judging
from sgemm_lab.gemm.dispatch.judging import by_mode, judge, verdict
from sgemm_lab.gemm.dispatch.shapes import LARGEST, SMALLEST, SQUARES, drawn
from sgemm_lab.gemm.dispatch.trial import Trial
from sgemm_lab.gemm.dispatch.tuning import ShapeTimes, measure_shapes, table_of, tuning_shapes
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.interleaved import Budget
from sgemm_lab.records.dispatch_table import DrawnShape
from sgemm_lab.records.gpu_record import Measurement

FAST, SLOW = load_kernel("small_tile"), load_kernel("double_buffer")


class Bench:
    """``FAST`` takes half as long as cuBLAS, ``SLOW`` is ruled out from the tenth shape on."""

    def __init__(self) -> None:
        self.resident: dict[Kernel, int] = {FAST: 4, SLOW: 2}
        self.measured: list[Size] = []

    def measure(self, size: Size) -> ShapeTimes:
        self.measured.append(size)
        if size == (13, 13, 13):
            raise LabError("It does not fit.")
        base = math.prod(size) * 1e-13 + 1e-6
        slow = {SLOW.name: 1e-4 if size[0] % 2 else 1e-5}
        return ShapeTimes(size, True, 2 * base, {FAST.name: base}, slow)

    def product(self, name: str) -> Any:
        return name


def test_drawn_shapes_are_the_same_for_a_seed_and_half_of_them_aligned() -> None:
    found = drawn(400, 7)
    assert found[:50] == drawn(50, 7)
    assert found[:50] != drawn(50, 8)
    assert all(SMALLEST - 4 <= x <= LARGEST + 4 for size in found for x in size)
    assert all(x % 8 == 0 for size in found[::2] for x in size)
    for place in range(3):
        logs = [math.log(size[place] / SMALLEST) for size in found]
        assert sum(logs) / len(logs) == pytest.approx(math.log(LARGEST / SMALLEST) / 2, rel=0.1)


def test_a_search_begins_with_squares_and_mixes_the_rest() -> None:
    found = tuning_shapes(1)
    assert found[:9] == list(SQUARES)
    assert sum(min(size) < 32 for size in found[9:109]) > 5
    assert len(found) == 329


def test_a_search_ends_in_time_and_leaves_out_what_does_not_fit() -> None:
    bench, ticks = Bench(), iter(range(100))
    sizes = [(n, n, n) for n in (12, 13, 14, 15, 16)]
    shown: list[tuple[int, float]] = []
    found = measure_shapes(
        bench, sizes, 3.5, lambda done, spent: shown.append((done, spent)), lambda: next(ticks)
    )
    assert bench.measured == sizes[:3]
    assert [one.size for one in found] == [sizes[0], sizes[2]]
    assert shown == [(0, 1), (1, 2), (2, 3)]


def test_the_table_has_the_squares_and_the_fits() -> None:
    bench = Bench()
    found = measure_shapes(bench, [*SQUARES, *drawn(120, 1)], 1e9)
    table = table_of(DEVICE, search(complete=False), bench, found)
    assert table.model
    assert {fit.kernel: fit.shapes for fit in table.model.fits} == {
        FAST.name: 129, SLOW.name: sum(size[0] % 2 for size in bench.measured),
    }  # fmt: skip
    assert table.model.shapes == 129
    assert set(table.sizes) == set(SQUARES)
    assert {point.kernel for point in table.points} == {FAST.name}
    assert table.searches[0].complete
    with pytest.raises(LabError, match=r"99 shapes were measured.+Nothing was written"):
        table_of(DEVICE, search(), bench, found[:99])


class Dispatcher:
    def kernel_for(self, size: Size) -> Kernel:
        return SLOW

    def predicted(self, size: Size) -> float:
        return 3e-6

    def __call__(self, *_: Any) -> None: ...


@pytest.mark.parametrize(("best", "named"), [(2e-6, FAST.name), (5e-6, SLOW.name)])
def test_the_dispatcher_is_measured_beside_cublas_and_the_best_candidate(
    best: float, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {"matmul": 4e-6, "cublas": 3e-6, FAST.name: best}

    def timed(products: Any, size: Size, *_: Any, **__: Any) -> list[Measurement]:
        return [Measurement(name, "", *size, 1, (times[name],)) for name in products]

    monkeypatch.setattr(judging, "time_interleaved", timed)
    monkeypatch.setattr(judging, "cublas", lambda: None)
    (found,) = judge((32, 64, 128), Dispatcher(), Bench(), Budget())
    assert found == DrawnShape(32, 64, 128, SLOW.name, 4e-6, 3e-6, 3e-6, named, min(best, 4e-6))
    assert found.share == 0.75
    (alone,) = judge((32, 64, 128), Dispatcher(), None, Budget())
    assert (alone.best, alone.best_seconds, alone.share_of_best) == (None, None, None)


def test_what_tuning_on_first_use_chose_is_measured_too(monkeypatch: pytest.MonkeyPatch) -> None:
    size, times = (32, 64, 128), {"matmul": 4e-6, "cublas": 3e-6, "matmul, first": 2e-6}

    def timed(products: Any, size: Size, *_: Any, **__: Any) -> list[Measurement]:
        return [Measurement(name, "", *size, 1, (times[name],)) for name in products]

    monkeypatch.setattr(judging, "time_interleaved", timed)
    monkeypatch.setattr(judging, "cublas", lambda: None)
    tuned: Any = SimpleNamespace(trials={(size, True): Trial({SLOW.name: 5e-6, "b": 1e-6}, 0.003)})
    model, first = judge(size, Dispatcher(), None, Budget(), {"first": tuned})
    assert first == replace(
        model, kernel="b", seconds=2e-6, predicted_seconds=None, tune="first", cost=0.003
    )
    longer = replace(first, seconds=6e-6, cost=0.005)
    assert by_mode([model, first, longer]) == {"first": [first, longer]}
    found = verdict([first, longer])
    assert (found.low, found.cost, found.most_cost) == (1, 0.004, 0.005)
    assert verdict([model]).cost is None


def test_the_verdict() -> None:
    one = DrawnShape(8, 8, 8, "naive", 1.0, 0.5, 1.0, "tiled", 0.8)
    other = replace(one, m=9, cublas_seconds=2.0, best_seconds=1.0)
    found = verdict([one, other])
    assert (found.shapes, found.geometric_mean, found.least, found.low) == (2, 1.0, one, 1)
    assert found.of_best == pytest.approx(0.8**0.5)
    assert verdict([replace(one, best=None, best_seconds=None)]).of_best is None
    with pytest.raises(LabError, match="No shape was measured"):
        verdict([])
