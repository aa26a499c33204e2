"""The verbs of a chapter.

``show`` a kernel, ``check`` it, ``measure`` it, ``count`` what it asks of memory, slide its
``intensity``, place it under the ``roofline``, look at a GPU's ``card``, and ``say`` a sentence
with the numbers just found. On a GPU they act there and then; without one they read the book's
records, and say so.
"""

from collections.abc import Sequence
from typing import cast

from sgemm_lab.compiler import TARGETS, compile_kernel
from sgemm_lab.errors import MissingToolError
from sgemm_lab.gpu import GPUS, Gpu, find_gpu
from sgemm_lab.kernel import Kernel, load_kernel, parse_kernel
from sgemm_lab.lab import card as _card
from sgemm_lab.lab import roofs as _roofs
from sgemm_lab.lab.checking import verdict
from sgemm_lab.lab.counts import Counted
from sgemm_lab.lab.listing import listing
from sgemm_lab.lab.output import Output, Picture, Prose, bytes_text, number, sentence, table
from sgemm_lab.lab.racing import race as _race
from sgemm_lab.lab.speeds import Speeds, ladder_picture, speed_curves
from sgemm_lab.lab.speeds import speeds as _speeds
from sgemm_lab.requests import warp_requests
from sgemm_lab.stepping import walk
from sgemm_lab.widgets import Coalescing, Intensity, Roofline, Steps
from sgemm_lab.widgets.painter import PaintedRequest

Size = tuple[int, int, int]


def show(name: str, first: int | None = None, last: int | None = None) -> Output:
    """Show a kernel's source, or lines of it; what its parent does not have is marked."""
    return listing(load_kernel(name), first, last)


def source(name: str) -> str:
    """Return a kernel's source as text, to be changed and given to ``mine``."""
    return load_kernel(name).source


def mine(text: str, name: str = "mine") -> Kernel:
    """Make a kernel of the reader's own source text. Empty lines at its ends do not count.

    Raises:
        LabError: the head comment lacks a field.
    """
    return parse_kernel(name, text.strip() + "\n")


def check(*kernels: str | Kernel) -> Output:
    """Check kernels at awkward sizes, on this machine's GPU or by simulation.

    Where neither is possible, the output says what to install.
    """
    try:
        return verdict([_kernel(kernel) for kernel in kernels])
    except MissingToolError as missing:
        return sentence(str(missing))


def measure(*names: str, size: int | Size = 4096) -> Speeds:
    """Measure kernels against cuBLAS at one size; without a GPU, take the recorded samples."""
    return _speeds([load_kernel(name) for name in names], [_size(size)])


def race(mine: Kernel, against: str) -> Output:
    """Check and count your kernel beside one of the book's; on a GPU time both at 4096³."""
    return _race(mine, load_kernel(against))


def curves(*names: str, conclusion: str) -> Picture:
    """Draw GFLOP/s over matrix size, cuBLAS beside the kernels."""
    return speed_curves(names, conclusion)


def count(*kernels: str | Kernel, size: int | Size = 256) -> Counted | Output:
    """Count what kernels ask of memory in one launch, beside a GPU's own counters.

    The reader's own kernels need the compiler; where it is missing, the output says how to
    install it.
    """
    try:
        return Counted([_kernel(kernel) for kernel in kernels], _size(size))
    except MissingToolError as missing:
        return sentence(str(missing))


def roofline(
    *names: str, size: int | Size = 4096, gpu: str | None = None, hide: Sequence[str] = ()
) -> Roofline:
    """Place kernels under the roofs of a GPU, predicted and measured.

    ``gpu`` is an id such as "t4"; by default this machine's GPU, or the one of the records.
    ``hide`` names levels that are switched off to begin with, such as "shared".
    """
    return _roofs.roofline(names, _size(size), gpu, hide)


def intensity(name: str, *, gpu: str | None = None, predict: bool = False) -> Intensity:
    """Slide a kernel's tile constants and see the intensity and the bound."""
    return _roofs.intensity(name, gpu, predict=predict)


def coalescing(*names: str, size: int | Size = 64) -> Coalescing:
    """Paint the global requests that the first warp of each kernel makes, sector by sector.

    The reader chooses among them, or makes a pattern of their own.
    """
    requests = [
        cast(PaintedRequest, {**request, "label": f"{name}: {request['op']} of {request['array']}"})
        for name in names
        for request in warp_requests(load_kernel(name), _size(size), space="global")
    ]
    loads_of_a = [i for i, request in enumerate(requests) if request["array"] == "A"]
    return Coalescing(requests, chosen=next(iter(loads_of_a), None))


def step(kernel: str | Kernel, size: Size) -> Steps | Output:
    """Step through every access that a kernel makes at a toy size, up to 12 on each side."""
    try:
        return Steps(walk(_kernel(kernel), size))
    except MissingToolError as missing:
        return sentence(str(missing))


def card() -> _card.Card:
    """Return the card of this machine's GPU, measured once a session, or a recorded one."""
    return _card.measured_card()


def resources(*names: str) -> Output:
    """List the registers that each kernel takes on each GPU target, compiled here and now.

    Where the compiler is not installed, say how to install it.
    """
    try:
        rows = [
            [load_kernel(name).title]
            + [f"{compile_kernel(load_kernel(name), target).registers}" for target in TARGETS]
            for name in names
        ]
    except MissingToolError as missing:
        return sentence(str(missing))
    return table(["registers per thread", *TARGETS], rows, note="Compiled here by NVRTC.")


def say(text: str, **values: object) -> Prose:
    """Return a paragraph of Markdown with values in it: ``say("{x:.0f} GB/s", x=bandwidth)``."""
    return Prose(text.format(**values))


def answer(given: float | None, right: float, hint: str, tolerance: float = 0.01) -> Prose:
    """Judge the reader's number. ``tolerance`` is the share by which it may miss."""
    if given is None:
        return Prose("Put your number in place of `None` and run the cell.")
    if abs(given - right) <= tolerance * abs(right):
        return Prose(f"**Right:** {number(right)}.")
    return Prose(f"{number(given)} is not it. {hint}")


def ladder(size: int | Size = 4096, *, conclusion: str) -> Picture:
    """Draw every kernel of the book at one size as its share of cuBLAS."""
    return ladder_picture(_size(size), conclusion)


def _kernel(kernel: str | Kernel) -> Kernel:
    return load_kernel(kernel) if isinstance(kernel, str) else kernel


def _size(size: int | Size) -> Size:
    return (size, size, size) if isinstance(size, int) else size


__all__ = [
    "GPUS",
    "Gpu",
    "answer",
    "bytes_text",
    "card",
    "check",
    "coalescing",
    "count",
    "curves",
    "find_gpu",
    "intensity",
    "ladder",
    "measure",
    "mine",
    "number",
    "race",
    "resources",
    "roofline",
    "say",
    "show",
    "source",
    "step",
    "table",
]
