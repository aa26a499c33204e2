"""Run work that may crash in a forked process, so that a crash becomes a LabError."""

import faulthandler
import multiprocessing
import os
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from sgemm_lab.errors import LabError

Made = TypeVar("Made")

TIME_LIMIT = 120.0
"""Seconds that the work may take."""


def in_subprocess(work: Callable[[], Made], what: str, time_limit: float = TIME_LIMIT) -> Made:
    """Return what ``work`` returns, from a process that was forked for it.

    Where a system cannot fork, the work is done here. ``what`` begins the sentences.

    Raises:
        LabError: the work did, or it crashed, or it took too long.
    """
    if not hasattr(os, "fork"):
        return work()
    fork: Any = multiprocessing.get_context("fork")
    reading, writing = fork.Pipe(duplex=False)
    child = fork.Process(target=_answer, args=(work, writing))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork in a process with threads
        child.start()
    writing.close()
    try:
        if not reading.poll(time_limit):
            raise LabError(f"{what} took more than {time_limit:g} seconds and was given up.")
        made, error = reading.recv()
    except EOFError:
        raise LabError(
            f"{what} crashed. Leave out parts of the source until it does not."
        ) from None
    finally:
        reading.close()
        child.kill()
        child.join()
    if error is not None:
        raise error
    return made  # type: ignore[no-any-return]


def _answer(work: Callable[[], Any], writing: Connection) -> None:
    """Send the result of the work, or its LabError, and end without a cleanup."""
    faulthandler.disable()  # the sentence of a crash is enough
    try:
        try:
            writing.send((work(), None))
        except LabError as error:
            writing.send((None, error))
    finally:
        os._exit(0)
