"""The simulator's processes: Node runs the TypeScript of this folder, and answers over pipes.

``worker.ts`` describes the messages. A process lives as long as Python does and answers one
question after another. Threads that ask at the same time have a process each; so has a fork.
"""

import atexit
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from sgemm_lab import npm
from sgemm_lab.errors import LabError
from sgemm_lab.files import bundle
from sgemm_lab.simulator.errors import DeadlockError, EndlessLoopError, PtxError, TimeLimitError

Progress = Callable[[int, int], None]

BUNDLE = "node/worker.cjs"
TABLES = Path(__file__).with_name("approximations_h200.gz")
"""What an H200 answers to ``ex2``, ``rcp`` and ``rsqrt``: see ``measured_functions``."""
_HEAD = struct.Struct("<QQ")
_ALIGNMENT = 8
_RAISED: dict[str | None, type[LabError]] = {
    "DeadlockError": DeadlockError, "EndlessLoopError": EndlessLoopError, "LabError": LabError,
    "PtxError": PtxError, "TimeLimitError": TimeLimitError,
}  # fmt: skip


class _Process:
    """One process of Node."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [npm.program(), str(bundle(BUNDLE)), str(TABLES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Ctrl-C is Python's to handle.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self.number = self._process.pid
        self._to = cast(IO[bytes], self._process.stdin)
        self._from = cast(IO[bytes], self._process.stdout)

    def ask(self, parts: list[bytes | memoryview], progress: Progress | None) -> Any:
        try:
            for part in parts:
                self._to.write(part)
            self._to.flush()
            while True:
                message = self._message()
                if "progress" not in message:
                    return message
                if progress is not None:
                    progress(*message["progress"])
        except (EOFError, BrokenPipeError):
            self._process.wait()
            raise LabError(
                f"The simulator's process ended without an answer (Node's exit status is "
                f"{self._process.returncode}). A smaller launch needs less memory; the next "
                "simulation starts a new process."
            ) from None

    def _message(self) -> Any:
        text_bytes, array_bytes = _HEAD.unpack(self._read(_HEAD.size))
        text, arrays = self._read(text_bytes), self._read(array_bytes)
        return json.loads(bytes(text), object_hook=lambda one: _unpacked(one, arrays))

    def _read(self, count: int) -> memoryview:
        into = memoryview(bytearray(count))
        if self._from.readinto(into) != count:  # type: ignore[attr-defined]
            raise EOFError
        return into

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self.close()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes, of which a fork has copies."""
        for pipe in (self._to, self._from):
            with suppress(OSError):  # what was not yet written goes nowhere
                pipe.close()


_idle: list[_Process] = []


def ask(task: str, given: Mapping[str, Any], progress: Progress | None = None) -> Any:
    """Return the answer of a task, one of those in ``lab/worker.ts``.

    It is given what JSON holds, and arrays. ``progress`` gets (blocks done, all blocks).

    Raises:
        MissingToolError: Node is missing.
        LabError: as the task raises; or the process ended.
    """
    parts = _packed({"task": task, "progress": progress is not None, "given": given})
    try:
        process = _idle.pop()
    except IndexError:
        process = _Process()
    try:
        message = process.ask(parts, progress)
    except BaseException:
        process.end()
        raise
    _idle.append(process)
    if "message" not in message:
        return message["answer"]
    raise _error(**message)


def _error(raised: str | None, message: str, stack: str) -> LabError:
    if raised in _RAISED:
        return _RAISED[raised](message)
    error = LabError(f"The simulator failed: {message}.")
    error.add_note(stack)
    return error


def _packed(message: Mapping[str, Any]) -> list[bytes | memoryview]:
    arrays: list[bytes | memoryview] = []
    size = 0

    def place(value: object) -> Any:
        nonlocal size
        if isinstance(value, np.generic):
            return value.item()
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{type(value).__name__} is no JSON")
        first, gap = size, -value.nbytes % _ALIGNMENT
        arrays.extend((value.tobytes(), bytes(gap)))
        size += value.nbytes + gap
        return {"@": [value.dtype.name, first, value.nbytes, value.shape]}

    text = json.dumps(message, default=place, allow_nan=False).encode()
    return [_HEAD.pack(len(text), size), text, *arrays]


def _unpacked(value: dict[str, Any], arrays: memoryview) -> Any:
    if "@" not in value:
        return value
    type_, first, size = value["@"]
    raw: npt.NDArray[Any] = np.frombuffer(arrays[first : first + size], type_)
    return raw


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()


def _forget_all() -> None:
    """The processes belong to the parent."""
    while _idle:
        _idle.pop().close()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget_all)
