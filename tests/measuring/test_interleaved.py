"""Interleaved timing on a fake GPU with a controlled clock, and readings of nvidia-smi."""

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgemm_lab.errors import LabError
from sgemm_lab.measuring import interleaved as measure
from sgemm_lab.measuring.interleaved import (
    Budget,
    TimingInterrupted,
    input_set_count,
    time_interleaved,
    watch_card,
)
from sgemm_lab.records.gpu_record import Spread

SIZE = (4, 4, 4)  # 192 bytes of matrices
BUDGET = Budget(seconds=1.0, min_samples=2, max_samples=50, warm_up_seconds=0.5)


class Gpu:
    """A fake CuPy whose clock advances only by the cost of products."""

    def __init__(self, l2_bytes: int = 0) -> None:
        gpu = self
        self.now = 0.0
        self.held: list[int] = []
        self.mhz, self.sms = 1500.0, list[int]()
        self.rests: list[float] = []

        class Event:
            def record(self, _: Any) -> None:
                self.at = gpu.now

            def synchronize(self) -> None:
                assert self.at <= gpu.now

        class Stream:
            def __init__(self, *, non_blocking: bool) -> None:
                assert non_blocking

            def __enter__(self) -> None: ...
            def __exit__(self, *_: Any) -> None: ...
            def synchronize(self) -> None: ...

            def begin_capture(self) -> None:
                gpu.captured = []

            def end_capture(self) -> Any:
                launches, gpu.captured = gpu.captured, None
                return SimpleNamespace(launch=lambda _: gpu.replay(launches))

        self.captured: list[float] | None = None
        self.cuda = SimpleNamespace(
            Event=Event,
            Stream=Stream,
            Device=lambda: SimpleNamespace(attributes={"L2CacheSize": l2_bytes}),
            get_elapsed_time=lambda start, stop: (stop.at - start.at) * 1e3,
            memory=SimpleNamespace(OutOfMemoryError=MemoryError),
        )
        self.random, self.empty = np.random, np.empty
        self.float32, self.int64, self.asnumpy = np.float32, np.int64, np.asarray

    def replay(self, launches: list[float]) -> None:
        self.replays += 1
        self.now += sum(launches)

    replays = 0

    def product(
        self, seconds: float, calls: list[str] | None = None, name: str = ""
    ) -> Callable[[Any, Any, Any], None]:
        def multiply(a: Any, b: Any, c: Any) -> None:
            if self.captured is None:
                self.now += seconds
            else:
                self.captured.append(seconds)
            if calls is not None:
                calls.append(name)

        return multiply


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    gpu = Gpu()
    use(gpu, monkeypatch)
    return gpu


def use(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def hold(grid: Any, block: Any, arguments: tuple[Any, Any]) -> None:
        nanoseconds, stamp = arguments
        if nanoseconds:
            gpu.held.append(int(nanoseconds))
        stamp[:] = 1e9 * gpu.now, 1e6 * gpu.mhz * gpu.now, gpu.sms.pop() if gpu.sms else 7

    monkeypatch.setattr(measure, "require_gpu", lambda: gpu)
    monkeypatch.setattr(measure, "load_micro", lambda *_: hold)
    monkeypatch.setattr(measure, "sleep", gpu.rests.append)


def test_the_gpu_rests_after_each_sample_in_proportion_to_it(gpu: Gpu) -> None:
    (found,) = time_interleaved({"a": gpu.product(0.3)}, SIZE, BUDGET)
    assert gpu.rests[1:] == pytest.approx([2.0 * s for s in found.seconds])


def test_the_clock_is_that_of_one_sm_during_a_sample(gpu: Gpu) -> None:
    (found,) = time_interleaved({"a": gpu.product(0.3)}, SIZE, BUDGET)
    assert found.clock_mhz == 1500
    gpu.sms = list(range(100))  # each stamp from another SM
    (found,) = time_interleaved({"a": gpu.product(0.3)}, SIZE, BUDGET)
    assert found.clock_mhz is None


def test_a_sample_is_the_time_of_one_launch(gpu: Gpu) -> None:
    fast, slow = time_interleaved(
        {"fast": gpu.product(0.1), "slow": gpu.product(0.3)}, SIZE, BUDGET
    )
    assert (fast.kernel, slow.kernel) == ("fast", "slow")
    assert fast.seconds == pytest.approx([0.1] * 10)
    assert slow.seconds == pytest.approx([0.3] * 4)
    assert slow.gflops == pytest.approx(2 * 4 * 4 * 4 / 0.3 / 1e9)


def test_a_graph_is_captured_once_and_replayed_for_every_sample(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = Gpu(l2_bytes=960)  # ten sets of inputs fill it twice
    use(gpu, monkeypatch)
    calls: list[str] = []
    budget = Budget(1.0, 2, 3, warm_up_seconds=0)
    (fast,) = time_interleaved({"fast": gpu.product(0.1, calls)}, SIZE, budget, graphs=True)
    assert len(calls) == 2 + 10  # two launches to begin with, and one for each set in the graph
    assert (fast.launches, gpu.replays) == (10, len(fast.seconds))
    assert fast.seconds == pytest.approx([0.1] * len(fast.seconds))
    assert fast.graph is True


@pytest.mark.parametrize("graphs", [False, True])
def test_a_sample_of_short_launches_lasts_its_least_duration(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, *, graphs: bool
) -> None:
    gpu = Gpu(l2_bytes=960)  # ten sets of inputs fill it twice
    use(gpu, monkeypatch)
    budget = Budget(1.0, 2, 3, warm_up_seconds=0.1, sample_seconds=0.035)
    (short,) = time_interleaved({"short": gpu.product(0.001)}, SIZE, budget, graphs=graphs)
    assert short.launches == 40
    assert short.seconds == pytest.approx([0.001] * 3)
    assert gpu.rests[1:] == pytest.approx([2.0 * 0.04] * 3)


def test_a_slow_product_gets_the_minimum_of_samples(gpu: Gpu) -> None:
    (slow,) = time_interleaved({"slow": gpu.product(7.0)}, SIZE, BUDGET)
    assert len(slow.seconds) == BUDGET.min_samples


def test_a_fast_product_gets_the_maximum_of_samples(gpu: Gpu) -> None:
    (fast,) = time_interleaved({"fast": gpu.product(0.001)}, SIZE, BUDGET)
    assert len(fast.seconds) == BUDGET.max_samples


def test_products_are_interleaved(gpu: Gpu) -> None:
    calls: list[str] = []
    products = {name: gpu.product(0.1, calls, name) for name in ("a", "b", "c")}
    measured = time_interleaved(products, SIZE, Budget(0.5, 2, 50, warm_up_seconds=0))
    assert {len(m.seconds) for m in measured} == {5}
    # Two launches each before the samples, then sample by sample.
    assert calls == ["a"] * 2 + ["b"] * 2 + ["c"] * 2 + ["a", "b", "c"] * 5


def test_warm_up_is_not_measured(gpu: Gpu) -> None:
    cost = iter([9.0, 9.0, 0.4, 0.4] + [0.1] * 99)

    def cold(a: Any, b: Any, c: Any) -> None:
        gpu.now += next(cost)

    (measured,) = time_interleaved({"cold": cold}, SIZE, BUDGET)
    assert max(measured.seconds) == pytest.approx(0.1)


def test_each_launch_of_a_sample_has_separate_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(l2_bytes=480)
    use(gpu, monkeypatch)
    seen: list[tuple[int, int, int]] = []

    def product(a: Any, b: Any, c: Any) -> None:
        gpu.now += 0.1
        seen.append((a.ctypes.data, b.ctypes.data, c.ctypes.data))

    (measured,) = time_interleaved({"product": product}, SIZE, BUDGET)
    assert measured.launches == 5  # 960 bytes: twice the cache
    assert measured.seconds == pytest.approx([0.1] * len(measured.seconds))
    sample = seen[-5:]
    assert len({address for launch in sample for address in launch}) == 15


def test_the_gpu_waits_while_the_host_queues_launches(gpu: Gpu) -> None:
    def slow_host(a: Any, b: Any, c: Any) -> None:
        time.sleep(0.01)
        gpu.now += 0.2

    (measured,) = time_interleaved({"slow host": slow_host}, SIZE, BUDGET)
    assert len(gpu.held) >= len(measured.seconds)
    assert all(0.02e9 <= nanoseconds <= 0.1e9 for nanoseconds in gpu.held)


def test_a_product_that_refuses_the_size_is_reported_and_skipped(gpu: Gpu) -> None:
    def refuses(a: Any, b: Any, c: Any) -> None:
        raise LabError("Too large a tile.")

    said: list[str] = []
    measured = time_interleaved(
        {"big": refuses, "small": gpu.product(0.1)}, SIZE, BUDGET, said.append
    )
    assert [m.kernel for m in measured] == ["small"]
    assert said == ["big is left out: Too large a tile."]


def test_ctrl_c_carries_the_results_so_far(gpu: Gpu) -> None:
    calls: list[str] = []

    def stopped(a: Any, b: Any, c: Any) -> None:
        gpu.now += 0.1
        calls.append("stopped")
        if len(calls) == 2 + 5 + 3:  # before the samples, warming up, in the third sample
            raise KeyboardInterrupt

    products = {"a": gpu.product(0.1), "b": stopped}
    with pytest.raises(TimingInterrupted) as caught:
        time_interleaved(products, SIZE, BUDGET)
    a, b = caught.value.measurements
    assert (len(a.seconds), len(b.seconds)) == (3, 2)


def test_matrices_that_do_not_fit_into_memory_are_an_error(gpu: Gpu) -> None:
    def greedy(a: Any, b: Any, c: Any) -> None:
        raise MemoryError

    with pytest.raises(LabError, match=r"cannot hold the matrices of 4×4×4\. Choose a smaller"):
        time_interleaved({"greedy": greedy}, SIZE, BUDGET)


@given(st.integers(1, 10**10), st.integers(0, 10**9))
def test_input_sets_fill_l2_twice_up_to_a_limit(matrix_bytes: int, l2_bytes: int) -> None:
    count = input_set_count(matrix_bytes, l2_bytes)
    assert 1 <= count <= 512
    assert count * matrix_bytes >= 2 * l2_bytes or count == 512
    assert count == 1 or (count - 1) * matrix_bytes < 2 * l2_bytes


def taken(*lines: str) -> measure.CardReadings:
    readings = measure.CardReadings()
    for line in lines:
        readings.take(line)
    return readings


def test_an_unknown_reading_is_dropped() -> None:
    assert taken("99, 1980, [N/A], 54\n") == measure.CardReadings([1980], [], [54])


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_malformed_output_of_nvidia_smi_is_ignored(line: str) -> None:
    found = taken(line, "[N/A], 1, 2, 3", "Failed to initialize NVML, 1", "1, 2", "")
    for values in (found.clock_mhz, found.power_w, found.temperature_c):
        assert not any(math.isnan(value) for value in values)


def test_the_card_is_watched_while_the_block_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f"#!{sys.executable}\nimport sys, time\nassert '--id=0' in sys.argv\n"
        "while True:\n    print('88, 1500, 300.5, 61', flush=True)\n    time.sleep(0.01)\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with watch_card() as readings:
        time.sleep(1.0)
    assert len(readings.clock_mhz) >= 2
    assert readings.spreads()["clock_mhz"] == Spread(1500, 1500, 1500)
