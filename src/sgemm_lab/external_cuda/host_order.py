"""What is wrong with how a file launches its kernels, as far as its text alone says.

A kernel that waits at the barrier of the grid needs a cooperative launch. Launches in two streams
run in any order, unless the host or an event makes one wait for the other.
"""

import re
from collections.abc import Iterator

from sgemm_lab.external_cuda.declarations import Declaration
from sgemm_lab.external_cuda.findings import Finding
from sgemm_lab.external_cuda.kernels import FoundKernel, FoundLaunch, kernels_of, launches_of
from sgemm_lab.external_cuda.launch import Prepared
from sgemm_lab.external_cuda.report import place_of
from sgemm_lab.simulator.hazards import BARRIER, RACE

_COOPERATIVE = re.compile(r"cudaLaunchCooperativeKernel|cudaLaunchKernelEx|\bis_valid\b")
_ORDERS = re.compile(r"sync|wait|query|event|[{}]", re.I)
"""Words of host code that may order two launches, and brackets: both may not run."""

_STREAM = 3
"""Place of the stream among what stands between ``<<<`` and ``>>>``."""


def findings_of_host(prepared: Prepared) -> list[Finding]:
    """Return what the launches of a kernel lack."""
    return [*_not_cooperative(prepared), *_in_other_streams(prepared)]


def _not_cooperative(prepared: Prepared) -> Iterator[Finding]:
    opened = prepared.opened
    waits = "%envreg1" in opened.compiled.special_registers
    if not waits or _COOPERATIVE.search(opened.sources.files[0].text):
        return
    for launch in opened.launches[:1]:
        text = (
            f"Line {launch.line} launches {opened.kernel.name} with <<<>>>, but its blocks wait "
            "for each other at the barrier of the grid. Launch it with cudaLaunchCooperativeKernel."
        )
        yield Finding("error", BARRIER, text, place_of(prepared)[0], launch.line)


def _in_other_streams(prepared: Prepared) -> Iterator[Finding]:
    opened = prepared.opened
    kernels = {kernel.name: kernel for kernel in kernels_of(opened.sources)}
    for after in opened.launches:
        for before in launches_of(opened.sources):
            writer = kernels.get(before.kernel)
            if writer is None or not _side_by_side(before, after):
                continue
            shared = _arrays(before, writer, const=False) & _arrays(
                after, opened.kernel, const=True
            )
            for name in sorted(shared):
                text = (
                    f"Line {after.line} launches {after.kernel} in stream {_stream(after)}, which "
                    f"reads {name}; {before.kernel}, launched in stream {_stream(before)} at line "
                    f"{before.line}, may still write it. Let the second stream wait for the first: "
                    "cudaEventRecord and cudaStreamWaitEvent."
                )
                file = place_of(prepared)[0]
                yield Finding("error", RACE, text, file, after.line, before.line, name)


def _stream(launch: FoundLaunch) -> str:
    return launch.shape[_STREAM] if len(launch.shape) > _STREAM else ""


def _side_by_side(before: FoundLaunch, after: FoundLaunch) -> bool:
    """Return whether a second launch, in another stream, need not wait for the first."""
    first, second = _stream(before), _stream(after)
    function = after.function
    if (
        function is None
        or function is not before.function
        or len(before.before) >= len(after.before)
    ):
        return False
    made = _streams_made_in(function)
    between = after.before[len(before.before) :]
    return (
        {first, second} <= made
        and first != second
        and not any(_ORDERS.search(token.text) for token in between)
    )


def _streams_made_in(function: Declaration) -> set[str]:
    """Return the streams that a function creates."""
    tokens = function.tokens
    return {
        tokens[place + 3].text
        for place, token in enumerate(tokens[:-3])
        if token.text.startswith("cudaStreamCreate") and tokens[place + 2].text == "&"
    }


def _arrays(launch: FoundLaunch, kernel: FoundKernel, *, const: bool) -> set[str]:
    """Return the arrays that a launch passes as pointers to what may, or may not, be written."""
    # Without any const the source does not say what is only read.
    if not any(p.pointer and p.const for p in kernel.parameters):
        return set()
    return {
        argument
        for argument, p in zip(launch.arguments, kernel.parameters, strict=False)
        if p.pointer and p.const == const and argument.isidentifier()
    }
