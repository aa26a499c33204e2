"""What this notebook session measured, beside what the book's records hold.

On a GPU a verb measures there and then, and its result joins the session's record. Without a GPU
the committed records answer, and say so.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sgemm_lab.cuda.compiler import suits
from sgemm_lab.cuda.launch import current_device, device_target, has_gpu
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.recorder import measure_run
from sgemm_lab.models.roofline import clock_text
from sgemm_lab.records.gpu_record import Device, Record, Run
from sgemm_lab.records.store import load_records
from sgemm_lab.text import REWRITE_LINE

_here: list[Record] = []
"""At most one record: what this session measured on this machine's GPU."""

_only: list[str] = []
"""The name of the GPU whose record alone answers, the last of nested ones."""

_measuring = [True]
"""Whether verbs measure again what they have, the last of nested ones."""


def measure_here(
    kernels: Sequence[Kernel],
    sizes: Sequence[Size],
    *,
    micro: bool = False,
    effects: bool = False,
) -> Run:
    """Measure on this machine's GPU, and keep the run for the session.

    The progress is told in one line of the cell's output, which is wiped at the end.
    """
    run = measure_run(kernels, sizes=sizes, micro=micro, effects=effects, progress=_print_over)
    _print_over("")
    device = current_device()
    record = _here[0] if _here else Record(device, ())
    _here[:] = [replace(record, runs=(*record.runs, run))]
    return run


def lacking(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return the kernels that need instructions which this machine's GPU does not have."""
    demanding = [kernel for kernel in kernels if kernel.needs is not None]
    return [kernel for kernel in demanding if not suits(kernel, device_target())]


def lacking_words(kernels: Sequence[Kernel]) -> str:
    """Say that this machine's GPU lacks what kernels need, without what follows from it."""
    needs = max(str(kernel.needs) for kernel in kernels)
    names = ", ".join(kernel.name for kernel in kernels)
    return f"This GPU is {device_target()} and cannot run {names}: it needs {needs} or newer."


def _print_over(text: str) -> None:
    print(f"{REWRITE_LINE}{text}", end="", flush=True)


def all_records() -> list[Record]:
    """Return this session's record first, if it measured anything, then the book's."""
    return [*here(), *book_records()]


def here() -> list[Record]:
    """Return this session's record, if it measured anything; inside ``only`` nothing."""
    return [] if _only else list(_here)


def book_records() -> list[Record]:
    """Return the book's records, the chapters' first; inside ``only`` one of them."""
    return [one for one in load_records() if not _only or one.gpu.name == _only[-1]]


@contextmanager
def only(gpu: str) -> Iterator[None]:
    """Let the book's record of one GPU, by its full name, be the only one."""
    _only.append(gpu)
    try:
        yield
    finally:
        _only.pop()


def is_narrowed() -> bool:
    """Say whether this is inside ``only``."""
    return bool(_only)


@contextmanager
def measured_before() -> Iterator[None]:
    """Let nothing be measured that this session or the book has."""
    _measuring.append(False)
    try:
        yield
    finally:
        _measuring.pop()


def measures() -> bool:
    """Say whether verbs measure what is asked for, whether or not it was measured before."""
    return live() and _measuring[-1]


def recorded_gpus() -> list[str]:
    """Return the names of the recorded GPUs, the chapters' first."""
    return [record.gpu.name for record in book_records()]


def live() -> bool:
    """Say whether verbs measure here rather than read records."""
    return has_gpu()


def provenance(device: Device, run: Run) -> str:
    """Say where, when and how a run was measured, in one line; of a run here, its clock too."""
    measured_here = any(run is own for record in _here for own in record.runs)
    start = "Measured here, on" if measured_here else "Recorded on"
    clock = f", {clock_text(run.clock_mhz)}" if measured_here else ""
    return (
        f"{start} {device.name}, {run.date[:10]}: driver {run.driver}, CUDA {run.cuda}, "
        f"NVRTC {run.nvrtc}, CuPy {run.cupy}{clock}."
    )
