"""What is wrong with how a file launches its kernels, as far as its text alone says.

A kernel that waits at the barrier of the grid needs a cooperative launch. Launches in two streams
run in any order, unless the host or an event makes one wait for the other.
"""

import re
from collections.abc import Iterator

from sgemm_lab.external_cuda.findings import Finding
from sgemm_lab.external_cuda.launch import Prepared
from sgemm_lab.external_cuda.report import place_of
from sgemm_lab.simulator.hazards import BARRIER, RACE

_COOPERATIVE = re.compile(r"LaunchCooperativeKernel|LaunchKernelEx|\bis_valid\b")


def findings_of_host(prepared: Prepared) -> list[Finding]:
    """Return what the launches of a kernel lack."""
    file = place_of(prepared)[0]
    in_streams = [
        Finding("error", RACE, one["text"], file, one["line"], one["otherLine"], one["array"])
        for one in prepared.opened.ask("stream_faults")
    ]
    return [*_not_cooperative(prepared), *in_streams]


def _not_cooperative(prepared: Prepared) -> Iterator[Finding]:
    opened = prepared.opened
    waits = "%envreg1" in opened.compiled.special_registers
    if not waits or _COOPERATIVE.search(next(iter(opened.sources.texts.values()))):
        return
    for launch in opened.launches[:1]:
        text = (
            f"Line {launch.line} launches {opened.kernel} with <<<>>>, but its blocks wait "
            "for each other at the barrier of the grid. Launch it with cudaLaunchCooperativeKernel."
        )
        yield Finding("error", BARRIER, text, place_of(prepared)[0], launch.line)
