"""Take a record of several GPUs: each group of cases in a separate process with a time limit.

Each measurement is written at once. A case that hangs or crashes its process is recorded as a
failure, and the rest of its group continues in a new process.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgemm_lab import __version__
from sgemm_lab.checking.sandbox import TimeLimitError, answers
from sgemm_lab.cuda.launch import current_device, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import check_writable
from sgemm_lab.measuring.interleaved import CUBLAS_CALL
from sgemm_lab.measuring.recorder import new_run
from sgemm_lab.multi_gpu.cases import PARTS, SIZES, Group, Request, groups
from sgemm_lab.multi_gpu.measure import LINK, PRODUCT, TIMELINE
from sgemm_lab.multi_gpu.topology import gpu_count
from sgemm_lab.records.multi_gpu import (
    MULTI_GPU_RECORDS,
    Failure,
    LinkTimes,
    MultiGpuFile,
    MultiGpuRun,
    ProductTimes,
    Timeline,
)
from sgemm_lab.records.schema import decode

CASE_LIMIT = 90.0
"""Time limit of one case in seconds, including the start of its process."""
_FORMS: dict[str, type] = {PRODUCT: ProductTimes, LINK: LinkTimes, TIMELINE: Timeline}

RunRequests = Callable[[Sequence[Request], int | None, float], Any]
"""Runs requests in a process and yields its answers; raises LabError if it ends early."""
Progress = Callable[[str], None]


@dataclass
class Summary:
    """Result of a call of the recorder."""

    path: Path
    measured: int = 0
    known: int = 0
    """Cases of earlier calls."""
    failed: int = 0
    """Failed cases; the file has the reasons."""
    complete: bool = True
    """False if the time limit was reached."""


def run_worker(requests: Sequence[Request], block_limit: int | None, limit: float) -> Any:
    """Run requests in a new process and yield its answers, one for each.

    Raises:
        LabError: the process hangs, or ends early.
    """
    job = json.dumps({"requests": [r.to_json() for r in requests], "block_limit": block_limit})
    yield from answers([sys.executable, "-m", "sgemm_lab.multi_gpu.measure"], job, limit)


def take_record(
    folder: Path,
    *,
    gpus: int | None = None,
    sizes: Sequence[int] = SIZES,
    parts: Sequence[str] = PARTS,
    seconds: float = math.inf,
    progress: Progress = lambda _: None,
    run_requests: RunRequests = run_worker,
) -> Summary:
    """Measure on the GPUs of this machine and write the results to the file of their model.

    An interrupted run with the same GPUs, driver and packages is resumed.

    Args:
        folder: of records.
        gpus: maximum number of GPUs; default: all.
        sizes: n of the large products n³.
        parts: some of ``cases.PARTS``.
        seconds: time limit, which also ends the case in progress.
        progress: called with a line of text.
        run_requests: runs requests in a process.

    Raises:
        LabError: fewer than two GPUs, or a file that cannot be written; nothing is measured then.
    """
    found = gpu_count()
    gpus = found if gpus is None else gpus
    if found < 2:
        raise LabError(
            "There is one GPU here, but this record needs several. 'sgemm-lab record' measures one."
        )
    if not 2 <= gpus <= found:
        raise LabError(f"This machine has {found} GPUs: --most takes 2 to {found}, not {gpus}.")
    check_writable(folder / MULTI_GPU_RECORDS.folder)
    file = MultiGpuFile(folder, current_device(), _new_run(gpus))
    todo = list(groups(gpus, sizes, parts))
    summary = record(file, todo, seconds=seconds, progress=progress, run_requests=run_requests)
    if summary.complete and set(parts) == set(PARTS):
        file.end()
    return summary


def record(
    file: MultiGpuFile,
    todo: Sequence[Group],
    *,
    seconds: float = math.inf,
    progress: Progress = lambda _: None,
    run_requests: RunRequests = run_worker,
    clock: Callable[[], float] = time.monotonic,
) -> Summary:
    """Measure groups of cases and write each result at once; arguments as in ``take_record``."""
    end = clock() + seconds
    summary = Summary(file.path)
    total, number = sum(len(group.requests) for group in todo), 0

    def fail(request: Request, why: str) -> None:
        summary.failed += 1
        file.add(Failure(request.label, why))
        progress(f"The measurement failed: {why}")

    for group in todo:
        left = [request for request in group.requests if not request.is_in(file.run)]
        summary.known += len(group.requests) - len(left)
        number += len(group.requests) - len(left)
        while left:
            limit = min(CASE_LIMIT, end - clock())
            if limit <= 0:
                summary.complete = False
                return summary
            progress(f"{number + 1} of {total}, {left[0].label}")
            done = 0
            try:
                for answer in run_requests(left, group.block_limit, limit):
                    request = left[done]
                    done += 1
                    if "refused" in answer:
                        fail(request, answer["refused"])
                    else:
                        item: Any = decode(_FORMS[request.do], answer["item"])
                        file.add(item)
                        summary.measured += 1
                        progress(_result(item))
                    if clock() >= end:
                        break
                    if done < len(left):
                        progress(left[done].label)
            except TimeLimitError:
                if clock() < end:
                    fail(left[done], f"It did not finish in {limit:.0f} seconds and was stopped.")
                    done += 1
            except LabError as fault:
                done = min(done, len(left) - 1)
                fail(left[done], str(fault))
                done += 1
            left, number = left[done:], number + done
    return summary


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
    """Return a run without measurements, with its software versions."""
    run = new_run()
    return MultiGpuRun(
        date=run.date,
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
