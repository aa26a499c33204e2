"""A process of its own, watched: what it answers, and what ends it. The GPU's part is pretended."""

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking import sandbox
from sgemm_lab.checking.sandbox import TimeLimitError, answers, check_sandboxed, try_out
from sgemm_lab.errors import LabError

NAIVE = load_kernel("naive")
SIZES = [(5, 6, 7), (8, 9, 10)]
READY = "print('{\"ready\": true}', flush=True)"


def ask(script: str, time_limit: float = 5.0, given: str = "") -> list[dict[str, Any]]:
    return list(answers([sys.executable, "-c", script], given, time_limit))


def test_answers_come_line_by_line_until_it_is_done() -> None:
    script = f"import sys, json; given = json.load(sys.stdin); {READY}\n"
    script += "print(json.dumps({'a': given})); print(json.dumps({'done': True}))"
    assert ask(script, given='["é"]') == [{"a": ["é"]}]


def test_a_process_that_never_answers_is_ended_with_a_sentence() -> None:
    script = f"import os, time; {READY}; print('{{\"pid\":', os.getpid(), '}}', flush=True)\n"
    script += "while True: time.sleep(60)"
    answered = answers([sys.executable, "-c", script], "", 1.0)
    pid = next(answered)["pid"]
    start = time.monotonic()
    with pytest.raises(
        TimeLimitError, match=r"did not end within 1 seconds .+ loop that never ends"
    ):
        next(answered)
    assert time.monotonic() - start < 10
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_limit_begins_when_it_is_ready() -> None:
    script = f"import time; time.sleep(1.5); {READY}; print('{{\"done\": true}}')"
    assert ask(script, time_limit=1.0) == []


def test_leaving_early_ends_the_process() -> None:
    script = f"import os, time; {READY}; print('{{\"pid\":', os.getpid(), '}}', flush=True)\n"
    answered = answers([sys.executable, "-c", script + "time.sleep(600)"], "", 5.0)
    pid = next(answered)["pid"]
    answered.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ('print(\'{"error": "No GPU here."}\')', "^No GPU here.$"),
        ("raise SystemExit('killed: out of memory')", "ended early. killed: out of memory"),
        ("", "The kernel's process ended early.$"),
    ],
)
def test_a_process_that_cannot_says_why(script: str, sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        ask(script)


def endless(answered: list[dict[str, Any]]) -> Any:
    def fake(*_: object) -> Iterator[dict[str, Any]]:
        yield from answered
        raise TimeLimitError("It did not end within 20 seconds and was stopped.")

    return fake


RIGHT = {"kernel": "naive", "m": 5, "n": 6, "k": 7, "fault": None, "refusal": None, "error": 0.5}


def test_a_kernel_that_never_ends_is_wrong_at_that_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "answers", endless([RIGHT]))
    first, second = check_sandboxed(NAIVE, SIZES)
    assert (first.passed, first.error) == (True, 0.5)
    assert (second.m, second.n, second.k) == SIZES[1]
    assert second.fault == "It did not end within 20 seconds and was stopped."


def test_a_kernel_that_never_ends_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "answers", endless([{"fault": None}]))
    with pytest.raises(LabError, match=r"'naive' cannot be measured at 8×9×10: It did not end"):
        try_out(NAIVE, SIZES)


def test_a_kernel_that_the_gpu_stops_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = iter([{"fault": "the GPU stopped it (an illegal address)."}])
    monkeypatch.setattr(sandbox, "answers", lambda *_: stopped)
    with pytest.raises(LabError, match=r"cannot be measured at 5×6×7: the GPU stopped it"):
        try_out(NAIVE, SIZES)


def test_without_a_gpu_the_child_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(LabError, match="no NVIDIA GPU that CUDA can use"):
        list(check_sandboxed(NAIVE, SIZES))
