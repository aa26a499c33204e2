"""Output of the command: tables, JSON, progress, and errors of the output streams."""

import errno
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sgemm_lab.checking.judge import CheckResult
from sgemm_lab.text import REWRITE_LINE, plain_table, printable

BROKEN_PIPE_STATUS = 128 + 13
"""Exit status after a broken pipe, such as ``| head``: that of SIGPIPE."""


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: range = range(0)
) -> None:
    """Print a table; the columns with the indices ``numbers`` are right-aligned."""
    print(plain_table(heads, rows, numbers=numbers))


def print_json(value: Any) -> None:
    """Print standard JSON, with one line per entry of a list."""
    print(json.dumps(value, indent=1 if isinstance(value, list) else None, allow_nan=False))


def result_json(result: CheckResult) -> dict[str, Any]:
    """Return the result at one size; ``error`` is null where it is not finite."""
    error = result.error if math.isfinite(result.error) else None
    return {
        "kernel": result.kernel, "m": result.m, "n": result.n, "k": result.k,
        "passed": result.passed, "fault": result.fault, "refusal": result.refusal, "error": error,
    }  # fmt: skip


def print_status(text: str) -> None:
    """Print to stderr."""
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr, flush=True)


def print_progress(text: str) -> None:
    """Print a line to stderr that the next one overwrites, if stderr is a terminal."""
    if sys.stderr.isatty():
        print(f"{REWRITE_LINE}{printable(text)}", end="", file=sys.stderr, flush=True)


def blocks_done(done: int, total: int) -> None:
    """Show the number of simulated blocks; clear the line at the end."""
    print_progress("" if done == total else f"{done:,} of {total:,} blocks")


class ProgressBar:
    """A bar on stderr, if it is a terminal; otherwise a line for each tenth."""

    def __init__(self, total: int, seconds: float | None, noun: str) -> None:
        """``seconds`` is the time after which the work ends in any case."""
        self._total, self._seconds, self._noun = total, seconds, noun
        self._tenth = -1

    def show(self, done: int, spent: float = 0.0) -> None:
        """Show how much is done, and the seconds spent."""
        share = done / self._total
        if self._seconds:
            share = max(share, spent / self._seconds)
        text = f"{done} of {self._total} {self._noun}"
        if sys.stderr.isatty():
            full = int(min(share, 1) * 30)
            print_progress(f"[{'#' * full}{'.' * (30 - full)}] {text}")
        elif int(share * 10) > self._tenth:
            self._tenth = int(share * 10)
            print_status(text)

    def end(self) -> None:
        """Clear the bar."""
        print_progress("")


@contextmanager
def safe_output() -> Iterator[Callable[[int], int]]:
    """Replace unencodable characters, and handle errors of the output streams without a traceback.

    Yields a function from the intended exit status to the actual one.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    failed = 0

    def status(meant: int) -> int:
        return failed or meant

    try:
        yield status
        sys.stdout.flush()
    except BrokenPipeError:
        failed = BROKEN_PIPE_STATUS
        _close_quietly()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF):
            raise
        failed = 2
        _close_quietly()
        with suppress(OSError):
            print_status(f"sgemm-lab: The answer cannot be written: {error.strerror}.")


def _close_quietly() -> None:
    """Redirect stdout to the null device, so that Python does not report it at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
