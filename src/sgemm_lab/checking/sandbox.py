"""Run a reader's kernel on the GPU in a subprocess with a time limit.

An endless loop blocks the GPU, and an illegal access makes it unusable for the process. Both happen
in the subprocess, which is killed: the caller's notebook keeps its GPU, arrays and results.

The child is ``python -m sgemm_lab.checking.sandbox``. It reads what to do as JSON and answers one
line of JSON for each size. The limit begins with the first size, after compiling and loading.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from sgemm_lab.checking.judge import CheckResult
from sgemm_lab.checking.on_gpu import check
from sgemm_lab.cuda.launch import LoadedKernel, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import PACKAGE
from sgemm_lab.kernel import Kernel, Size, parse_kernel

TIME_LIMIT = 20.0
"""Seconds that one size may take. On any GPU of the book the largest takes less than one."""
_START_S = 300.0
"""Seconds until the child has CuPy, a GPU and the compiled kernel."""

Answer = dict[str, Any]


class TimeLimitError(LabError):
    """A kernel did not end in time."""


def check_sandboxed(
    kernel: Kernel,
    sizes: Sequence[Size],
    *,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
) -> Iterator[CheckResult]:
    """Check a kernel as ``on_gpu.check`` does, in a subprocess.

    A kernel that exceeds ``time_limit`` seconds at a size fails there, and the iterator ends.
    """
    request = {"do": "check", "sizes": list(sizes), "seed": seed}
    done = 0
    try:
        for answer in _ask(kernel, request, time_limit):
            done += 1
            yield CheckResult(**{**answer, "error": float(answer["error"])})
    except TimeLimitError as fault:
        yield CheckResult(kernel.name, *sizes[done], str(fault), None, float("inf"))


def try_out(kernel: Kernel, sizes: Sequence[Size], *, time_limit: float = TIME_LIMIT) -> None:
    """Launch a kernel once at each size in a subprocess, to see that it terminates.

    Sizes that the kernel refuses or that do not fit into the GPU's memory are skipped.
    """
    done = 0
    try:
        for answer in _ask(kernel, {"do": "launch", "sizes": list(sizes)}, time_limit):
            if answer["fault"]:
                raise LabError(f"{_at(kernel, sizes[done])}: {answer['fault']}")
            done += 1
    except TimeLimitError as fault:
        raise TimeLimitError(f"{_at(kernel, sizes[done])}: {fault}") from None


def _at(kernel: Kernel, size: Size) -> str:
    m, n, k = size
    return f"The kernel '{kernel.name}' cannot be measured at {m}×{n}×{k}"


def _ask(kernel: Kernel, request: dict[str, Any], time_limit: float) -> Iterator[Answer]:
    message = json.dumps({"name": kernel.name, "source": kernel.source, **request})
    yield from answers([sys.executable, "-m", "sgemm_lab.checking.sandbox"], message, time_limit)


def answers(command: Sequence[str], message: str, time_limit: float) -> Iterator[Answer]:
    """Run a command with ``message`` on its input and yield its answers, one JSON object a line.

    After a first line "ready" each answer may take ``time_limit`` seconds. An object with "error"
    ends the iterator. The process is always killed at the end.

    Raises:
        TimeLimitError: an answer took too long.
        LabError: the process says that it cannot, or ends without saying that it is done.
    """
    # The package is found also where it is not installed.
    folders = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": folders}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        encoding="utf-8", env=environment,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    lines: queue.Queue[str] = queue.Queue()
    complaints: list[str] = []
    readers = [
        threading.Thread(target=_read, args=(process.stdout, lines.put), daemon=True),
        threading.Thread(target=_read, args=(process.stderr, complaints.append), daemon=True),
    ]
    for reader in readers:
        reader.start()
    try:
        with suppress(BrokenPipeError):  # it ended before it could read the message: it says why
            process.stdin.write(message)
            process.stdin.close()
        wait = _START_S
        while True:
            try:
                line = lines.get(timeout=wait)
            except queue.Empty:
                raise TimeLimitError(
                    f"It did not end within {wait:g} seconds and was stopped. Look for a loop that "
                    "never ends, or a barrier that not all threads reach."
                ) from None
            if not line:
                readers[1].join(timeout=1)
                said = "".join(complaints).strip().splitlines()
                raise LabError(
                    f"The kernel's process ended early. {said[-1] if said else ''}".strip()
                )
            answer = json.loads(line)
            if "error" in answer and "kernel" not in answer:
                raise LabError(answer["error"])
            if "done" in answer:
                return
            if "ready" not in answer:
                yield answer
            wait = time_limit
    finally:
        process.kill()  # the driver then takes the kernel off the GPU
        process.wait()
        for reader in readers:
            reader.join(timeout=1)
        process.stdout.close()
        process.stderr.close()


def _read(stream: Iterable[str], take: Any) -> None:
    for line in stream:
        take(line)
    take("")


def main() -> None:
    """Do what the lines on standard input say, and answer on standard output."""
    asked = json.load(sys.stdin)
    sizes: list[Size] = [(m, n, k) for m, n, k in asked["sizes"]]
    try:
        kernel = parse_kernel(asked["name"], asked["source"])
        loaded = LoadedKernel(kernel)
        _say({"ready": True})
        if asked["do"] == "check":
            for result in check(kernel, sizes, seed=asked["seed"]):
                _say(asdict(result))
        else:
            for size in sizes:
                _say({"fault": _launch(loaded, size)})
        _say({"done": True})
    except LabError as error:
        _say({"error": str(error)})
    # A GPU that stopped a kernel answers nothing any more, not even a request to free memory.
    os._exit(0)


def _launch(loaded: LoadedKernel, size: Size) -> str | None:
    """Launch once on matrices of zeros; return what the GPU says to it, or None."""
    cupy = require_gpu()
    m, n, k = size
    try:
        a, b, c = (cupy.zeros(shape, "float32") for shape in ((m, k), (k, n), (m, n)))
        loaded(a, b, c)
        cupy.cuda.get_current_stream().synchronize()
    except (LabError, cupy.cuda.memory.OutOfMemoryError):
        return None  # the race says so itself
    except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
        return f"the GPU stopped it ({error})."
    return None


def _say(answer: Answer) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
