"""Run work that may crash in a forked process, so that a crash becomes a LabError."""

import faulthandler
import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

from sgemm_lab.errors import LabError

Made = TypeVar("Made")

TIME_LIMIT = 120.0
"""Seconds that the work may take."""

_PIECE = 1 << 20


def in_subprocess(work: Callable[[], Made], what: str, time_limit: float = TIME_LIMIT) -> Made:
    """Return what ``work`` returns, from a process that was forked for it.

    Where a system cannot fork, the work is done here. ``what`` begins the sentences.

    Raises:
        LabError: the work did, or it crashed, or it took too long.
    """
    if not hasattr(os, "fork"):
        return work()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        child = os.fork()
    if child == 0:
        _answer(work, writing)
    os.close(writing)
    try:
        payload = _read(reading, time.monotonic() + time_limit)
    finally:
        os.close(reading)
        if not _ended(child):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if payload is None:
        raise LabError(f"{what} took more than {time_limit:g} seconds and was given up.")
    if not payload:
        raise LabError(f"{what} crashed. Leave out parts of the source until it does not.")
    made, error = pickle.loads(payload)  # what this program itself wrote
    if error is not None:
        raise error
    return made  # type: ignore[no-any-return]


def _answer(work: Callable[[], Made], writing: int) -> None:
    """Do the work in the forked process, write what came of it, and end at once."""
    faulthandler.disable()  # the sentence of a crash is enough
    try:
        try:
            payload = pickle.dumps((work(), None))
        except LabError as error:
            payload = pickle.dumps((None, error))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(payload)
    finally:
        os._exit(0)


def _read(reading: int, end: float) -> bytes | None:
    """Read until the other side closes; None where the time is over before."""
    pieces: list[bytes] = []
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return None
        piece = os.read(reading, _PIECE)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _ended(child: int) -> bool:
    """Wait a moment for a process to end; say whether it did."""
    for _ in range(100):
        found, _ = os.waitpid(child, os.WNOHANG)
        if found:
            return True
        time.sleep(0.001)
    return False
