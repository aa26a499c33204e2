"""Taking a record on a fake GPU: no measurement is lost, however the run ends."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from record_samples import DEVICE, record, run, samples

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, parse_kernel
from sgemm_lab.measuring import recorder
from sgemm_lab.measuring.interleaved import TimingInterrupted
from sgemm_lab.measuring.recorder import record_counters, take_record
from sgemm_lab.records.gpu_record import Measurement, Reading
from sgemm_lab.records.json_files import record_path
from sgemm_lab.records.store import RECORDS, load_record

NAIVE, TILED = load_kernel("naive"), load_kernel("tiled")
SIZES = [(8, 8, 8), (9, 7, 5)]
FREE_BYTES = 2**30


def measured(kernel: str, size: tuple[int, int, int]) -> Measurement:
    return Measurement(kernel, "", *size, launches=3, seconds=(1.23456789e-3, 2e-3))


def time_interleaved(products: dict[str, Any], size: Any, *_: Any) -> list[Measurement]:
    return [measured(name, size) for name in products]


def contenders(kernels: Iterable[Kernel]) -> dict[str, None]:
    return dict.fromkeys([*(kernel.name for kernel in kernels), "cublas"])


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give the recorder a fake GPU without nvidia-smi."""
    cupy = SimpleNamespace(
        cuda=SimpleNamespace(runtime=SimpleNamespace(runtimeGetVersion=lambda: 12090)),
        __version__="14.2.0",
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(recorder, "require_gpu", lambda: cupy)
    monkeypatch.setattr(recorder, "current_device", lambda: DEVICE)
    dates = (f"2026-02-01T00:00:{second:02}Z" for second in range(60))
    monkeypatch.setattr(recorder, "now", lambda: next(dates))
    monkeypatch.setattr(recorder, "contenders", contenders)
    monkeypatch.setattr(recorder, "time_interleaved", time_interleaved)
    monkeypatch.setattr(recorder, "_free_bytes", lambda: FREE_BYTES)
    monkeypatch.setattr(
        recorder, "product_errors", lambda products, size: dict.fromkeys(products, 1e-6)
    )
    monkeypatch.setattr(
        recorder, "microbenchmarks", lambda _: iter([Reading("rate.fma", 0, "GFLOP/s", (1 / 3,))])
    )
    monkeypatch.setattr(
        recorder, "measure_effects", lambda _: iter([Reading("effect.watts", 8, "W", (400.0,))])
    )
    monkeypatch.setattr(recorder, "ablation", lambda _: iter(()))


def test_a_run_has_every_kernel_and_size_and_its_environment(tmp_path: Path) -> None:
    said: list[str] = []
    path, taken = take_record([NAIVE, TILED], tmp_path, sizes=SIZES, progress=said.append)
    assert load_record(path).runs == (taken,)
    assert [(m.kernel, m.m, m.n, m.k) for m in taken.measurements] == [
        (kernel, *size) for size in SIZES for kernel in ("naive", "tiled", "cublas")
    ]
    assert taken.complete
    assert (taken.driver, taken.cuda, taken.cupy) == ("unknown", "12.9", "14.2.0")
    assert said == ["size 1 of 2: M, N, K = 8, 8, 8", "size 2 of 2: M, N, K = 9, 7, 5"]


def test_effects_are_recorded_after_the_microbenchmarks_and_both_can_be_skipped(
    tmp_path: Path,
) -> None:
    assert take_record([NAIVE], tmp_path, sizes=SIZES, micro=False)[1].readings == ()
    _, taken = take_record([NAIVE], tmp_path, sizes=SIZES)
    assert [r.benchmark for r in taken.readings] == ["rate.fma", "effect.watts"]


class Takes:
    """A fake dispatcher: one kernel for cubes, another for the rest."""

    def __call__(self, a: Any, b: Any, c: Any) -> None: ...

    def kernel_for(self, size: tuple[int, int, int]) -> Kernel:
        return TILED if len(set(size)) == 1 else NAIVE


def test_the_dispatcher_is_measured_with_the_kernels_it_picked(tmp_path: Path) -> None:
    path, taken = take_record([NAIVE], tmp_path, sizes=SIZES, micro=False, matmul=Takes())
    told = [(m.kernel, m.picked, m.fingerprint) for m in taken.measurements]
    assert told == [
        ("naive", None, NAIVE.fingerprint), ("cublas", None, ""),
        ("matmul", "tiled", TILED.fingerprint),
        ("naive", None, NAIVE.fingerprint), ("cublas", None, ""),
        ("matmul", "naive", NAIVE.fingerprint),
    ]  # fmt: skip
    assert load_record(path).runs == (taken,)
    assert "picked" in path.read_text()


def test_small_products_are_measured_as_graphs_and_large_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def watched(products: dict[str, Any], size: Any, *more: Any) -> list[Measurement]:
        asked.append(more[-1])
        return time_interleaved(products, size)

    monkeypatch.setattr(recorder, "time_interleaved", watched)
    take_record([NAIVE], tmp_path, sizes=[(8, 8, 8), (4096, 4096, 4096)], micro=False)
    assert asked == [True, False]


def test_a_size_without_memory_or_time_is_reported_and_skipped(tmp_path: Path) -> None:
    said: list[str] = []
    large, slow = (20_000, 20_000, 10), (1000, 1000, 1000)
    _, taken = take_record(
        [NAIVE, TILED], tmp_path, sizes=[SIZES[0], large, slow], time_limit=60, progress=said.append
    )
    assert {m.size for m in taken.measurements} == {SIZES[0]}
    assert taken.complete
    assert said[2] == "skipped: 1 GB of free GPU memory are too little for this size"
    assert said[4].startswith("skipped: this size would take ")
    assert said[4].endswith(" minutes; raise --time-limit")


def test_no_measurable_size_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="No size could be measured here"):
        take_record([NAIVE], tmp_path, sizes=[(20_000, 20_000, 10)])
    assert list(tmp_path.iterdir()) == []


def test_an_empty_run_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> list[Measurement]:
        raise TimingInterrupted([])

    monkeypatch.setattr(recorder, "time_interleaved", interrupted)
    with pytest.raises(LabError, match=r"stopped before anything was measured\. Nothing was writ"):
        take_record([NAIVE], tmp_path, sizes=SIZES)
    assert list(tmp_path.iterdir()) == []


def test_an_invalid_file_is_found_before_any_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raced: list[Any] = []
    monkeypatch.setattr(recorder, "time_interleaved", lambda *arguments: raced.append(arguments))
    monkeypatch.setattr(recorder, "take_counters", lambda *arguments: raced.append(arguments))
    record_path(tmp_path, DEVICE.name).write_text("{")
    for take in (take_record, record_counters):
        with pytest.raises(LabError, match="is not complete JSON"):
            take([NAIVE], tmp_path)
    assert raced == []


# A run that was measured is never lost.


def full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("take", [take_record, record_counters])
def test_an_unwritable_folder_is_found_before_any_measurement(
    take: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raced: list[Any] = []
    monkeypatch.setattr(recorder, "time_interleaved", lambda *arguments: raced.append(arguments))
    monkeypatch.setattr(recorder, "take_counters", lambda *arguments: raced.append(arguments))
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file, file / "in it"):
        with pytest.raises(LabError, match=rf"{folder} is not a folder\. Give a folder"):
            take([NAIVE], folder)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(LabError, match=r"written to the folder .+new: No space left on device"):
        take([NAIVE], tmp_path / "new")
    assert raced == []


@pytest.mark.parametrize("fault", [LabError("Too large."), RuntimeError("an illegal address")])
def test_an_error_keeps_the_results_so_far(
    fault: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(products: dict[str, Any], size: Any, *_: Any) -> list[Measurement]:
        if size == SIZES[1]:
            raise fault
        return time_interleaved(products, size)

    said: list[str] = []
    monkeypatch.setattr(recorder, "time_interleaved", failing)
    path, taken = take_record([NAIVE], tmp_path, sizes=SIZES, progress=said.append)
    assert said[-1] == f"The run ends here: {fault}"
    assert not taken.complete
    assert [(m.kernel, m.size) for m in taken.measurements] == [
        ("naive", SIZES[0]), ("cublas", SIZES[0]),
    ]  # fmt: skip
    assert load_record(path).runs == (taken,)


@pytest.mark.parametrize("stop", [LabError("ncu failed."), KeyboardInterrupt()])
def test_counters_taken_before_an_error_are_kept(
    stop: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(kernels: list[Kernel], size: Any) -> list[dict[str, float]]:
        if size == SIZES[1]:
            raise stop
        return [{"registers": 1.0} for _ in kernels]

    monkeypatch.setattr(recorder, "fits", lambda *_: True)
    monkeypatch.setattr(recorder, "take_counters", failing)
    path, taken = record_counters([NAIVE, TILED], tmp_path, SIZES)
    assert (len(taken.counters), taken.complete) == (2, False)
    assert load_record(path).runs == (taken,)


def test_counters_are_written_after_each_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(kernels: list[Kernel], size: Any) -> list[dict[str, float]]:
        if kernels == [TILED]:
            raise SystemExit  # not caught
        return [{"registers": 1.0}]

    monkeypatch.setattr(recorder, "fits", lambda *_: True)
    monkeypatch.setattr(recorder, "take_counters", take)
    monkeypatch.setattr(recorder, "COUNTER_BATCH", 1)
    with pytest.raises(SystemExit):
        record_counters([NAIVE, TILED], tmp_path, SIZES)
    (stopped,) = load_record(record_path(tmp_path, DEVICE.name)).runs
    assert [one.kernel for one in stopped.counters] == ["naive"]
    assert not stopped.complete


def test_a_readers_kernel_runs_in_a_sandbox_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(kernel: Kernel, sizes: Any) -> None:
        assert (kernel, list(sizes)) == (mine, SIZES)
        raise LabError("It did not end.")

    mine = parse_kernel("mine", NAIVE.source)
    monkeypatch.setattr(recorder, "try_out", endless)
    with pytest.raises(LabError, match="It did not end"):
        take_record([NAIVE, mine], tmp_path, sizes=SIZES)
    take_record([NAIVE], tmp_path, sizes=SIZES)


def test_counters_are_added_to_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strip = load_kernel("strip")
    monkeypatch.setattr(recorder, "fits", lambda kernel, size: kernel != strip or size[2] < 100)
    monkeypatch.setattr(
        recorder, "take_counters", lambda kernels, size: [{"registers": size[2]} for _ in kernels]
    )
    RECORDS.save(record_path(tmp_path, DEVICE.name), record(run(samples("naive", 1.0))))
    path, taken = record_counters([NAIVE, strip], tmp_path, [(8, 8, 8), (8, 8, 128)])
    assert [(c.kernel, c.k, c.values["registers"]) for c in taken.counters] == [
        ("naive", 8, 8), ("strip", 8, 8), ("naive", 128, 128),
    ]  # fmt: skip
    assert taken.counters[1].fingerprint == strip.fingerprint
    assert load_record(path).runs == (run(samples("naive", 1.0)), taken)
