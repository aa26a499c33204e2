"""Work in a process of its own: what it returns, what it raises, and how it may end."""

import os
import signal
import time

import pytest

from sgemm_lab.cuda.compiler import CompileError, source_ptx
from sgemm_lab.cuda.isolated import in_subprocess
from sgemm_lab.errors import LabError

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def test_what_is_made_comes_back() -> None:
    assert in_subprocess(lambda: ("x" * 3_000_000, 7), "It") == ("x" * 3_000_000, 7)


def test_what_is_raised_comes_back_as_it_was() -> None:
    def refuse() -> None:
        raise CompileError("Line 3: no.", (3,))

    with pytest.raises(CompileError, match=r"^Line 3: no\.$") as caught:
        in_subprocess(refuse, "It")
    assert caught.value.lines == (3,)


@needs_fork
def test_a_crash_is_a_sentence() -> None:
    with pytest.raises(LabError, match="It crashed"):
        in_subprocess(lambda: os.kill(os.getpid(), signal.SIGSEGV), "It")


@needs_fork
def test_endless_work_is_given_up() -> None:
    start = time.monotonic()
    with pytest.raises(LabError, match=r"took more than 0.2 seconds"):
        in_subprocess(lambda: time.sleep(60), "It", time_limit=0.2)
    assert time.monotonic() - start < 5


def test_errors_of_the_compiler_keep_their_lines() -> None:
    with pytest.raises(CompileError, match='Line 2: identifier "y" is undefined') as caught:
        source_ptx("__global__ void k(int* x) {\n*x = y; }", "a.cu")
    assert caught.value.lines == (2,)
