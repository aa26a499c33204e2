"""Tuning on first use: what is measured, chosen and remembered, on a GPU that is pretended."""

import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from record_samples import DEVICE

import sgemm_lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import code_cache
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch import first_use, library
from sgemm_lab.gemm.dispatch.first_use import FirstUse
from sgemm_lab.gemm.dispatch.winners import Winners, winners_path
from sgemm_lab.kernel import Size

SIZE, KEY = (64, 65, 66), ((64, 65, 66), True)


class OutOfMemoryError(Exception):
    pass


class CudaError(Exception):
    pass


class Gpu:
    """A CuPy whose clock moves as the plans are launched."""

    def __init__(self) -> None:
        self.now, self.launched = 0.0, list[str]()
        self.capturing: bool | Exception = False
        self.memory = True
        self.times: dict[int, float] = {}
        numbers = itertools.count()
        here = SimpleNamespace(ptr=0, synchronize=lambda: None)
        self.cuda = SimpleNamespace(
            Device=lambda: SimpleNamespace(attributes={"L2CacheSize": 8}),
            Event=lambda: SimpleNamespace(ptr=next(numbers)),
            get_current_stream=lambda: here,
            get_elapsed_time=lambda a, b: 1e3 * (self.times[b.ptr] - self.times[a.ptr]),
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=SimpleNamespace(
                CUDARuntimeError=CudaError,
                memsetAsync=lambda *_: None,
                eventRecord=self.record,
                streamSynchronize=lambda _: None,
                streamIsCapturing=self.is_capturing,
            ),
        )

    def record(self, event: int, _stream: int) -> None:
        self.times[event] = self.now

    def is_capturing(self, _stream: int) -> bool:
        if isinstance(self.capturing, Exception):
            raise self.capturing
        return self.capturing

    def empty(self, count: int, _dtype: str) -> Any:
        if not self.memory:
            raise OutOfMemoryError
        return SimpleNamespace(data=SimpleNamespace(ptr=0), nbytes=count)


class Kernels:
    """A dispatcher whose model ranks the kernels as they are listed, with their times."""

    def __init__(self, gpu: Gpu, seconds: dict[str, float]) -> None:
        self.gpu, self.seconds = gpu, seconds
        self.kernels = [load_kernel("tiled")]

    def _loaded(self, name: str) -> Any:
        def launch(*_: Any) -> None:
            self.gpu.now += self.seconds[name]
            self.gpu.launched.append(name)

        return SimpleNamespace(kernel=SimpleNamespace(name=name), launch=launch)

    def best(self, size: Size, aligned: bool, count: int) -> list[Any]:
        least = min(self.seconds.values())
        named = [SimpleNamespace(loaded=self._loaded(n), seconds=least) for n in self.seconds]
        return named[:count]

    def named(self, name: str) -> Any:
        return self._loaded(name) if name in self.seconds else None

    def launch(self, *_: Any) -> None:
        self.gpu.launched.append("by the model")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    found = Gpu()
    monkeypatch.setattr(first_use, "require_gpu", lambda: found)
    return found


def tuned(gpu: Gpu, seconds: dict[str, float], path: Path | None = None, **more: Any) -> FirstUse:
    kernels: Any = Kernels(gpu, seconds)
    return FirstUse(kernels, Winners(path), **more)


def test_the_fastest_is_measured_once_and_writes_c_last(gpu: Gpu) -> None:
    multiply = tuned(gpu, {"a": 4e-6, "b": 2e-6, "c": 3e-6, "d": 9e-6, "e": 1e-6})
    multiply.launch(16, 32, 48, SIZE)
    assert gpu.launched == ["a", "b", "c", "d"] * 8 + ["b"]  # "e" is beyond the model's best four
    trial = multiply.trials[KEY]
    assert trial.winner == "b"
    assert trial.seconds["d"] == pytest.approx(9e-6)
    gpu.launched.clear()
    multiply.launch(16, 32, 48, SIZE)
    assert gpu.launched == ["b"]
    multiply.launch(16, 32, 52, SIZE)  # float4 cannot write there: that is measured by itself
    assert len(gpu.launched) == 1 + 4 * 8 + 1


def test_the_models_kernel_stays_unless_another_is_clearly_faster(gpu: Gpu) -> None:
    multiply = tuned(gpu, {"a": 4e-6, "b": 3.95e-6})
    multiply.launch(16, 32, 48, SIZE)
    assert multiply.trials[KEY].winner == gpu.launched[-1] == "a"


@pytest.mark.parametrize(("seconds", "launches"), [(4e-4, 8), (1e-3, 4), (1.0, 4)])
def test_a_long_product_tries_less(seconds: float, launches: int, gpu: Gpu) -> None:
    multiply = tuned(gpu, dict.fromkeys("abcd", seconds))
    multiply.launch(16, 32, 48, SIZE)
    assert len(gpu.launched) - 1 == launches
    assert gpu.now <= max(5e-3, 5 * seconds)


def test_cublas_is_tried_even_if_there_is_time_for_two_only(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Cublas:
        def __init__(self, stream: int) -> None:
            made.append(stream)

        def launch(self, *_: Any) -> None:
            gpu.now += 0.9
            gpu.launched.append("cublas")

    monkeypatch.setattr(library, "StreamCublas", Cublas)
    multiply = tuned(gpu, {"a": 1.0, "b": 1.0}, with_cublas=True)
    multiply.launch(16, 32, 48, SIZE)
    assert gpu.launched == ["a", "cublas", "a", "cublas", "cublas"]
    assert made == [0]
    other, gpu.capturing = SimpleNamespace(ptr=5), True
    multiply.launch(16, 32, 48, SIZE)  # the stream has a handle
    multiply.launch(16, 32, 48, SIZE, other)  # none can be made now
    assert gpu.launched[-2:] == ["cublas", "by the model"]
    gpu.capturing = False
    multiply.launch(16, 32, 48, SIZE, other)
    assert made == [0, 5]


@pytest.mark.parametrize("capturing", [True, CudaError("another stream is captured")])
def test_during_a_capture_nothing_is_measured_or_remembered(capturing: Any, gpu: Gpu) -> None:
    multiply = tuned(gpu, {"a": 4e-6, "b": 2e-6})
    gpu.capturing = capturing
    multiply.launch(16, 32, 48, SIZE)
    assert gpu.launched == ["by the model"]
    gpu.capturing = False
    multiply.launch(16, 32, 48, SIZE)
    assert gpu.launched[-1] == "b"


def test_two_threads_measure_once(gpu: Gpu) -> None:
    multiply = tuned(gpu, {"a": 4e-6, "b": 2e-6})
    threads = [threading.Thread(target=multiply.launch, args=(16, 32, 48, SIZE)) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(gpu.launched) == 2 * 8 + 4


# On disk.


def test_a_later_process_takes_what_is_on_disk(gpu: Gpu, tmp_path: Path) -> None:
    path, seconds = tmp_path / "new" / "first.jsonl", {"a": 4e-6, "b": 2e-6}
    tuned(gpu, seconds, path).launch(16, 32, 48, SIZE)
    gpu.launched.clear()
    gpu.capturing = True
    tuned(gpu, seconds, path).launch(16, 32, 48, SIZE)
    assert gpu.launched == ["b"]
    gpu.capturing = False
    tuned(gpu, {"a": 4e-6, "c": 2e-6}, path).launch(16, 32, 48, SIZE)  # "b" is gone
    assert gpu.launched[-1] == "c"


def test_two_processes_add_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "first.jsonl"
    one, other = Winners(path), Winners(path)
    one.add(KEY, "a")
    other.add(((1, 2, 3), False), "b")
    found = Winners(path)
    assert (found.get(KEY), found.get(((1, 2, 3), False))) == ("a", "b")
    assert found.get(((1, 2, 3), True)) is None


def test_broken_lines_are_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "first.jsonl"
    Winners(path).add(KEY, "a")
    with path.open("ab") as file:
        file.write(b'[1, 2\n\xff\n{}\n[1, 2, 3, true, "b"]\n')
    with pytest.warns(UserWarning, match="has 3 lines that cannot be read. Their shapes are meas"):
        found = Winners(path)
    assert (found.get(KEY), found.get(((1, 2, 3), True))) == ("a", "b")


def test_a_folder_that_cannot_be_used_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = Winners(tmp_path / "file" / "first.jsonl")
    with pytest.warns(UserWarning, match="is remembered by this process only"):
        found.add(KEY, "a")
    found.add(((1, 1, 1), True), "b")  # once
    assert found.get(KEY) == "a"
    with pytest.warns(UserWarning, match="First products are measured again"):
        Winners(tmp_path)


def test_a_file_is_of_a_gpu_a_mode_and_the_text_of_the_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(code_cache.FOLDER, str(tmp_path))
    tiled, naive = load_kernel("tiled"), load_kernel("naive")
    path = winners_path(DEVICE, "first", [tiled, naive])
    assert path
    assert path.parent == tmp_path
    assert path.name.startswith("first-products-nvidia-h200-")
    assert winners_path(DEVICE, "first", [naive, tiled]) == path
    others = [
        winners_path(replace(DEVICE, name="NVIDIA L4"), "first", [tiled, naive]),
        winners_path(DEVICE, "first+cublas", [tiled, naive]),
        winners_path(DEVICE, "first", [tiled]),
        winners_path(DEVICE, "first", [tiled.with_constants(TILE=16), naive]),
    ]
    assert len({path, *others}) == 5
    monkeypatch.setenv(code_cache.FOLDER, "")
    assert winners_path(DEVICE, "first", [tiled]) is None


# The setting.


@pytest.fixture
def dispatchers(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    kernels = Kernels(gpu, {"a": 4e-6})
    monkeypatch.setattr(first_use, "dispatcher", lambda _: kernels)
    monkeypatch.setattr(first_use, "current_device", lambda: DEVICE)
    monkeypatch.setattr(first_use._Setting, "mode", "model")
    monkeypatch.setenv(code_cache.FOLDER, "")
    first_use._dispatcher.cache_clear()
    yield kernels
    first_use._dispatcher.cache_clear()


def test_a_call_or_the_setting_chooses_the_mode(dispatchers: Any) -> None:
    assert first_use.dispatcher_for(0, None) is dispatchers
    first = first_use.dispatcher_for(0, "first")
    assert isinstance(first, FirstUse)
    sgemm_lab.set_tune("first")
    assert first_use.dispatcher_for(0, None) is first
    assert first_use.dispatcher_for(0, "model") is dispatchers
    both: Any = first_use.dispatcher_for(0, "first+cublas")
    assert first._cublas is None
    assert both._cublas is not None


def test_an_unknown_mode_is_refused(dispatchers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = "'model', 'model.cublas', 'first' or 'first.cublas'"
    said = f"Give {modes}: in the call, by set_tune or in SGEMM_LAB_TUNE"
    with pytest.raises(LabError, match=f"tune is 'best'. {said}"):
        sgemm_lab.set_tune("best")
    unlike: Any = ["first"]
    with pytest.raises(LabError, match=r"tune is .+first.+ Give 'model'"):
        first_use.dispatcher_for(0, unlike)
    monkeypatch.setattr(first_use._Setting, "mode", "fast")  # from the environment
    with pytest.raises(LabError, match=f"tune is 'fast'. {said}"):
        first_use.dispatcher_for(0, None)
