"""Check every kernel of a CUDA file, without being told anything: see ``check_kernel.ts``."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.compile_file import open_file
from sgemm_lab.external_cuda.cuda_file import own_kernels, read_sources
from sgemm_lab.external_cuda.launch import ExternalKernel, for_node
from sgemm_lab.external_cuda.program import Program, follow_program, is_wrong, launch_of
from sgemm_lab.external_cuda.report import (
    KERNEL_SECONDS,
    WRONG_SECONDS,
    KernelReport,
    Options,
    report_of,
)
from sgemm_lab.simulator import worker

_LATE = (
    "Left out: the {seconds:g} seconds for the file were over. Check it alone with --entry {entry}."
)

_NOT_RUN = {"verdict": "not run", "findings": [], "sizes": [], "limits": []}

NOT_COMPARED = "Results not compared: nothing says what they should be."
OFFER = (
    "To compare results, say what an array should hold, such as --expect 'y = 2*x', or add a "
    "reference to the file: a function or a kernel with the name of the kernel and _cpu, _ref or "
    "_naive behind it."
)


def check_file(
    kernel: ExternalKernel,
    options: Options | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[KernelReport]:
    """Check one kernel if ``kernel`` names an entry, else each kernel of the file.

    Args:
        kernel: the file, and what is known of entry, launch and arguments.
        options: sizes, seed, time limit, expected arrays.
        progress: called with what is being done, such as "2/3 check saxpy".

    Raises:
        LabError: the file cannot be read or has no kernel.
    """
    options = options or Options()
    pasted = kernel.pasted
    own = own_kernels(read_sources(pasted))
    entries: list[tuple[str | None, int]] = [(one["name"], one["line"]) for one in own]
    if pasted.entry is not None or len(own) < 2:
        entries = [(pasted.entry, own[0]["line"] if len(own) == 1 else 0)]
    left = max(options.seconds, options.time_limit)
    followed: Program | None = None
    if not (kernel.grid and kernel.block):
        with suppress(LabError):
            followed = follow_program(pasted, progress=progress)
    # A launch that is given is not the program's.
    given = kernel.arguments or kernel.grid or kernel.block or options.sizes or options.expect
    program = None if given else followed
    for number, (entry, line) in enumerate(entries, 1):
        begun = time.process_time()
        share = max(left / (len(entries) + 1 - number), min(left, KERNEL_SECONDS))
        chosen = replace(kernel, pasted=replace(pasted, entry=entry))
        name = entry or (own[0]["name"] if len(own) == 1 else "")
        progress(f"{number}/{len(entries)} check {name}")
        try:
            if left <= 0:
                raise LabError(_LATE.format(seconds=options.seconds, entry=entry))
            if program is not None and is_wrong(program, name):
                share = min(share, WRONG_SECONDS)
            limit = min(options.time_limit, math.ceil(share))
            limited = replace(options, seconds=share, time_limit=limit)
            report, seconds = _check(chosen, limited, followed, name, bool(given))
            left -= seconds
        except LabError as refused:
            if len(entries) == 1 and not (program and program["launched"]):
                raise
            report = {**_NOT_RUN, "kernel": name, "file": pasted.name, "line": line}
            report["said"] = [str(refused)]
        if program is not None:
            asked = {"report": report, "program": program, "isLast": number == len(entries)}
            report = worker.ask("with_program", asked)
        yield report_of(report)
        left -= time.process_time() - begun


def _check(
    kernel: ExternalKernel, options: Options, program: Program | None, name: str, is_given: bool
) -> tuple[dict[str, Any], float]:
    """Return the report on a kernel, and the processor time of Node."""
    launch = program and launch_of(program, name)
    if program and launch:
        pasted = replace(kernel.pasted, text=program["text"], entry=launch["name"])
        kernel = replace(kernel, pasted=pasted)
    chosen = asdict(options)
    chosen["timeLimit"] = chosen.pop("time_limit")
    given = {
        "kernel": for_node(kernel, open_file(kernel.pasted), options.expect),
        "options": chosen,
        "program": launch,
        "isGiven": is_given,
    }
    found = worker.ask("check_kernel", given)
    report, seconds = found["report"], found["seconds"]
    if "comparable" in report:
        references = [
            {**one, "compiled": [_compiled(kernel, text) for text in one["texts"]]}
            for one in found["references"]
        ]
        asked = {**given, "report": report, "references": references}
        compared = worker.ask("compare_kernel", asked)
        report, seconds = compared["report"], seconds + compared["seconds"]
    return report, seconds


def _compiled(kernel: ExternalKernel, text: Mapping[str, Any]) -> dict[str, Any] | str:
    """Compile a text with a reference; or return why it cannot be."""
    pasted = replace(kernel.pasted, text=text["text"], entry=text["entry"])
    grid, block = (() if side is None else (str(side),) for side in (text["grid"], text["block"]))
    try:
        return for_node(ExternalKernel(pasted, grid, block), open_file(pasted))
    except LabError as refused:
        return str(refused)
