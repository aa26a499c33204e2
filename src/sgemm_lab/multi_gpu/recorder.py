"""Take a record of several GPUs: every group of cases in a process of its own, under a time limit.

What is measured is written at once. A case that hangs, or takes its process down, is noted with a
sentence, and the rest of its group goes on in a new process.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sgemm_lab import __version__
from sgemm_lab.checking.sandbox import TimeLimitError, answers
from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import check_writable
from sgemm_lab.measuring.interleaved import CUBLAS_CALL
from sgemm_lab.measuring.recorder import current_device, new_run
from sgemm_lab.multi_gpu.cases import PARTS, SIZES, Group, Request, groups
from sgemm_lab.multi_gpu.topology import check_idle, gpu_count
from sgemm_lab.multi_gpu.worker import LIBRARY, LINK, PRODUCT, TIMELINE
from sgemm_lab.records.multi_gpu import (
    MULTI_GPU_RECORDS,
    Failure,
    LibraryTimes,
    LinkTimes,
    MultiGpuFile,
    MultiGpuRun,
    ProductTimes,
    Timeline,
)
from sgemm_lab.records.schema import decode

CASE_LIMIT = 90.0
"""Seconds that one case may take, the start of its process included."""
_ROOM = 2**21
"""Bytes that a file may take: several times what the longest run writes."""
_FORMS: dict[str, type] = {
    PRODUCT: ProductTimes,
    LINK: LinkTimes,
    TIMELINE: Timeline,
    LIBRARY: LibraryTimes,
}

Ask = Callable[[Sequence[Request], int | None, float], Any]
"""Gives requests to a process and yields its answers; raises LabError where it ends early."""
Progress = Callable[[str], None]


@dataclass
class Summary:
    """What a call of the recorder did."""

    path: Path
    measured: int = 0
    known: int = 0
    """Cases that an earlier call had measured."""
    failed: int = 0
    """Cases that could not be measured; the file says why."""
    complete: bool = True
    """False where the time was up."""


def ask_child(requests: Sequence[Request], block_limit: int | None, limit: float) -> Any:
    """Give requests to a new process and yield its answers, one for each.

    Raises:
        LabError: it hangs, or ends before all are answered.
    """
    told = json.dumps({"requests": [r.to_json() for r in requests], "block_limit": block_limit})
    yield from answers([sys.executable, "-m", "sgemm_lab.multi_gpu.worker"], told, limit)


def take_record(
    folder: Path,
    *,
    gpus: int | None = None,
    sizes: Sequence[int] = SIZES,
    parts: Sequence[str] = PARTS,
    seconds: float | None = None,
    progress: Progress = lambda _: None,
    ask: Ask = ask_child,
) -> Summary:
    """Measure on the GPUs of this machine and keep all of it in ``folder``'s file of their model.

    A run that was stopped is taken up again, if GPUs, driver and packages are the same.

    Args:
        folder: the folder of records.
        gpus: how many take part at most; default: all.
        sizes: n of the large products n³.
        parts: some of ``cases.PARTS``.
        seconds: time limit; the case in progress is ended too. None: no limit.
        progress: is told in a line what is measured.
        ask: answers requests.

    Raises:
        LabError: there are fewer than two GPUs, one is busy, or the file cannot be written; nothing
            is measured then.
    """
    found = gpu_count()
    gpus = found if gpus is None else gpus
    if found < 2:
        raise LabError(
            "There is one GPU here, and this record is of several. 'sgemm-lab record' measures one."
        )
    if not 2 <= gpus <= found:
        raise LabError(f"This machine has {found} GPUs: --most takes 2 to {found}, not {gpus}.")
    check_writable(folder / MULTI_GPU_RECORDS.folder, _ROOM)
    check_idle(range(gpus))
    file = MultiGpuFile(folder, current_device(), _new_run(gpus))
    todo = list(groups(gpus, sizes, parts))
    summary = record(file, todo, seconds=seconds, progress=progress, ask=ask)
    if summary.complete and set(parts) == set(PARTS):
        file.end()
    return summary


def record(
    file: MultiGpuFile,
    todo: Sequence[Group],
    *,
    seconds: float | None = None,
    progress: Progress = lambda _: None,
    ask: Ask = ask_child,
    clock: Callable[[], float] = time.monotonic,
) -> Summary:
    """Measure groups of cases, and add each to a file as it comes; ``take_record`` tells more."""
    end = None if seconds is None else clock() + seconds
    summary = Summary(file.path)
    total, number = sum(len(group.requests) for group in todo), 0
    for group in todo:
        left = [request for request in group.requests if not request.is_in(file.run)]
        summary.known += len(group.requests) - len(left)
        number += len(group.requests) - len(left)
        while left:
            limit = CASE_LIMIT if end is None else min(CASE_LIMIT, end - clock())
            if limit <= 0:
                summary.complete = False
                return summary
            progress(f"{number + 1} of {total}, {left[0].words}")
            done = _ask_group(file, left, group, limit, summary, progress, ask, end, clock)
            left, number = left[done:], number + done
    return summary


def _ask_group(
    file: MultiGpuFile, left: list[Request], group: Group, limit: float, summary: Summary,
    progress: Progress, ask: Ask, end: float | None, clock: Callable[[], float],
) -> int:  # fmt: skip
    """Let one process answer what is left of a group; return how many cases are done with."""
    done = 0
    try:
        for answer in ask(left, group.block_limit, limit):
            request = left[done]
            done += 1
            if "refused" in answer:
                _fail(file, request, answer["refused"], summary, progress)
            else:
                item: Any = decode(_FORMS[request.do], answer["item"])
                file.add(item)
                summary.measured += 1
                progress(_result(item))
            if end is not None and clock() >= end:
                return done
            if done < len(left):
                progress(left[done].words)
    except TimeLimitError:
        if end is not None and clock() >= end:
            return done
        why = f"It was not done in {limit:.0f} seconds and was stopped."
        _fail(file, left[done], why, summary, progress)
        done += 1
    except LabError as fault:
        _fail(file, left[min(done, len(left) - 1)], str(fault), summary, progress)
        done += 1
    return done


def _fail(
    file: MultiGpuFile, request: Request, why: str, summary: Summary, progress: Progress
) -> None:
    summary.failed += 1
    file.add(Failure(request.words, why))
    progress(f"It could not be measured: {why}")


def _result(item: Any) -> str:
    if isinstance(item, LinkTimes):
        return f"  {item.gbs:.4g} GB/s"
    if isinstance(item, Timeline):
        return f"  {len(item.pieces)} pieces"
    text = f"  {item.tflops:.4g} TFLOP/s"
    if isinstance(item, ProductTimes):
        if item.efficiency:
            text += f", efficiency {item.efficiency:.4f}"
        if item.transfer_cost:
            text += f", {item.transfer_cost:.4f} of the products alone"
    return text


def _new_run(gpus: int) -> MultiGpuRun:
    """Return a run of nothing yet, with the versions of all that it runs with."""
    run = new_run()
    return MultiGpuRun(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        gpus=gpus,
        driver=run.driver,
        cuda=run.cuda,
        cupy=run.cupy,
        nccl=_nccl_version(),
        package=__version__,
        cublas_call=CUBLAS_CALL,
    )


def _nccl_version() -> str:
    """Return NCCL's version, such as "2.28.9", or "none"."""
    require_gpu()
    from cupy.cuda import nccl

    if not nccl.available:
        return "none"
    number = nccl.get_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
