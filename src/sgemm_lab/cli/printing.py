"""How the command answers: tables, JSON, progress, and what it says when nobody can read it."""

import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sgemm_lab.text import REWRITE_LINE, plain_table, printable

NOBODY_READS = 128 + 13
"""The exit status of a command whose reader has left, such as ``head``: that of SIGPIPE."""


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: range = range(0)
) -> None:
    """Print a table; the columns with the indices ``numbers`` stand to the right."""
    print(plain_table(heads, rows, numbers=numbers))


def print_json(value: Any) -> None:
    """Print JSON that any program reads, on one line per entry of a list."""
    print(json.dumps(value, indent=1 if isinstance(value, list) else None, allow_nan=False))


def tell(text: str) -> None:
    """Say something beside the answer, such as the lines that do not compile."""
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr, flush=True)


def tell_over(text: str) -> None:
    """Say something that the next word writes over, where a person is watching."""
    if sys.stderr.isatty():
        print(f"{REWRITE_LINE}{printable(text)}", end="", file=sys.stderr, flush=True)


def blocks_done(done: int, total: int) -> None:
    """Say how many blocks of a launch are done; wipe it at the end."""
    tell_over("" if done == total else f"{done:,} of {total:,} blocks")


@contextmanager
def answering() -> Iterator[Callable[[int], int]]:
    """Print whatever the stream can hold, and let no stream that fails end in a traceback.

    Yields a function that says with which status to end, given the one that is meant.
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
        failed = NOBODY_READS
        _close_quietly()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF):
            raise
        failed = 2
        _close_quietly()
        with suppress(OSError):
            tell(f"sgemm-lab: The answer cannot be written: {error.strerror}.")


def _close_quietly() -> None:
    """Send what is left of the answer nowhere: Python would complain about it at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
