"""Effects of measuring methods on a fake GPU in NumPy."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sgemm_lab.measuring import methods as module
from sgemm_lab.measuring.interleaved import Budget, CardReadings
from sgemm_lab.measuring.methods import METHODS, effects
from sgemm_lab.records.gpu_record import Measurement, Reading

SMALL, POWER = 8, 12


class Event:
    def record(self) -> None: ...
    def synchronize(self) -> None: ...


class Gpu:
    """A fake CuPy, cuBLAS and timing that records the products."""

    def __init__(self) -> None:
        self.waits = 0
        self.seen: dict[tuple[str, int], list[tuple[Any, Any, str]]] = {}
        self.budgets: list[Budget | None] = []
        self.now: tuple[str, int] = ("", 0)
        stream = SimpleNamespace(synchronize=self._wait)
        self.zeros, self.float32 = np.zeros, np.float32
        self.random = SimpleNamespace(default_rng=lambda seed: np.random.default_rng(seed))
        self.cuda = SimpleNamespace(
            Device=lambda: SimpleNamespace(attributes={"L2CacheSize": 3 * 4 * SMALL * SMALL}),
            get_current_stream=lambda: stream,
            Event=Event,
            get_elapsed_time=lambda *_: 2.0,
        )

    def _wait(self) -> None:
        self.waits += 1

    def cublas(self, *, tf32: bool = False) -> Callable[[Any, Any, Any], None]:
        def multiply(a: Any, b: Any, c: Any) -> None:
            self.seen.setdefault(self.now, []).append((a, b, "tf32" if tf32 else "fp32"))
            c[...] = (a @ b) * np.float32(1.001 if tf32 else 1)

        return multiply

    def time_interleaved(
        self, products: dict[str, Any], size: tuple[int, int, int], budget: Budget | None = None
    ) -> list[Measurement]:
        self.budgets.append(budget)
        for name, product in products.items():
            self.now = (name, size[0])
            for _ in range(3):
                product(*(np.ones(size[:2], "float32") for _ in range(3)))
        return [Measurement(name, "", *size, 1, (1e-3, 2e-3)) for name in products]


class Watch:
    def __enter__(self) -> CardReadings:
        return CardReadings([1980.0], [500.0, 600.0], [40.0])

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    gpu = Gpu()
    monkeypatch.setattr(module, "require_gpu", lambda: gpu)
    monkeypatch.setattr(module, "cublas", gpu.cublas)
    monkeypatch.setattr(module, "time_interleaved", gpu.time_interleaved)
    monkeypatch.setattr(module, "watch_card", Watch)
    monkeypatch.setattr(module, "LoadedKernel", lambda _: lambda *_: None)
    for name, size in (("BOUND_SIZE", SMALL), ("POWER_SIZE", POWER), ("LAUNCH_SIZE", SMALL)):
        monkeypatch.setattr(module, name, size)
    monkeypatch.setattr(module, "SIZES", (SMALL, 2 * SMALL))
    return gpu


@pytest.fixture
def taken(gpu: Gpu) -> dict[tuple[str, int], Reading]:
    return {(r.benchmark, r.parameter): r for r in effects()}


def test_every_method_is_measured_at_every_size_and_first_launches_one_by_one(
    taken: dict[tuple[str, int], Reading],
) -> None:
    for size in (SMALL, 2 * SMALL):
        for way in METHODS:
            reading = taken[f"effect.{way}", size]
            assert reading.unit == "GFLOP/s"
            assert reading.samples == (2 * size**3 / 1e-3 / 1e9, 2 * size**3 / 2e-3 / 1e9)
    assert taken["effect.launches", SMALL].samples == (2 * SMALL**3 / 2e-3 / 1e9,) * 20


def test_each_method_changes_one_thing(gpu: Gpu, taken: dict[tuple[str, int], Reading]) -> None:
    seen = {way: gpu.seen[way, SMALL] for way in METHODS}
    assert all((a == 1).all() and (b == 1).all() for a, b, _ in seen["book"])
    assert {mode for *_, mode in seen["tf32"]} == {"tf32"}
    assert all(mode == "fp32" for way in METHODS if way != "tf32" for *_, mode in seen[way])
    assert len({id(a) for a, *_ in seen["cached"]}) == 1
    assert not any(a.any() or b.any() for a, b, _ in seen["zeros"])
    # L2 holds one set, so two sets fill it twice; the third launch takes the first again.
    first, second, third = (id(a) for a, *_ in seen["zeros"])
    assert first == third != second
    before_launches_alone = 1
    assert gpu.waits == 3 * len((SMALL, 2 * SMALL)) + before_launches_alone


def test_power_is_read_over_seconds_of_random_numbers_and_of_zeros(
    gpu: Gpu, taken: dict[tuple[str, int], Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert taken["effect.watts.zeros", POWER].samples == (500.0, 600.0)
    assert taken["effect.clock.random", POWER].unit == "MHz"
    assert [budget.seconds for budget in gpu.budgets if budget] == [3.0, 3.0]
    assert all(a.any() and (abs(a) <= 0.5).all() for a, *_ in gpu.seen["random", POWER])
    monkeypatch.setattr(Watch, "__enter__", lambda _: CardReadings())  # without nvidia-smi
    assert not any("watts" in r.benchmark or "clock" in r.benchmark for r in effects())


def test_the_error_is_relative_to_the_bound(taken: dict[tuple[str, int], Reading]) -> None:
    (exact,) = taken["effect.bound.book", SMALL].samples
    (rounded,) = taken["effect.bound.tf32", SMALL].samples
    assert exact < 1 < rounded  # the stand-in for TF32 is off by a thousandth
