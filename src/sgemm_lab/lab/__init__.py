"""The verbs of a chapter.

``show`` a kernel, ``check`` it, ``measure`` it, ``count`` what it asks of memory, slide its
``intensity``, place it under the ``roofline``, look at a GPU's ``card``, and ``say`` a sentence
with the numbers just found. On a GPU they act there and then; without one they read the book's
records, and say so.
"""

from collections.abc import Sequence

from sgemm_lab.counting.walk import walk
from sgemm_lab.cuda.compiler import TARGETS, compile_kernel
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.gpu import GPUS, Gpu, find_gpu
from sgemm_lab.kernel import Kernel, Size, load_kernel, parse_kernel
from sgemm_lab.lab import card as _card
from sgemm_lab.lab import ladders as _ladders
from sgemm_lab.lab import occupancy_calculator as _occupancy
from sgemm_lab.lab import painting as _painting
from sgemm_lab.lab import roofs as _roofs
from sgemm_lab.lab import tiles as _tiles
from sgemm_lab.lab.checking import verdict
from sgemm_lab.lab.counts import Counted
from sgemm_lab.lab.exercise import exercise as _exercise
from sgemm_lab.lab.instructions import instructions as _instructions
from sgemm_lab.lab.listing import listing
from sgemm_lab.lab.methods import Effects
from sgemm_lab.lab.methods import effects as _effects
from sgemm_lab.lab.output import Output, Picture, Prose, sentence, table
from sgemm_lab.lab.racing import race as _race
from sgemm_lab.lab.sample_picture import spread as _spread
from sgemm_lab.lab.speeds import Speeds, speed_curves
from sgemm_lab.lab.speeds import speeds as _speeds
from sgemm_lab.lab.timelines import timeline as _timeline
from sgemm_lab.lab.verdicts import verdicts
from sgemm_lab.lab.your_gpu import my_gpu as _my_gpu
from sgemm_lab.text import bytes_text, number
from sgemm_lab.widgets import (
    Banks,
    Coalescing,
    Intensity,
    Ladder,
    MemoryLadder,
    Occupancy,
    Roofline,
    Steps,
    Timeline,
)


def show(name: str, first: int | str | None = None, last: int | str | None = None) -> Output:
    """Show a kernel's source, or lines of it; what its parent does not have is marked.

    ``first`` and ``last`` are line numbers, or pieces of the text of those lines.
    """
    return listing(load_kernel(name), first, last)


def source(name: str) -> str:
    """Return a kernel's source as text, to be changed and given to ``mine``."""
    return load_kernel(name).source


def mine(text: str, name: str = "mine") -> Kernel:
    """Make a kernel of the reader's own source text. Empty lines at its ends do not count.

    Raises:
        LabError: it is no text, or the head comment lacks a field.
    """
    if not isinstance(text, str):
        raise LabError(f"{text!r} is no source. Give it as text, such as lab.source('tiled').")
    return parse_kernel(name, text.strip() + "\n")


def check(*kernels: str | Kernel, simulated: bool = False) -> Output:
    """Check kernels at awkward sizes, on this machine's GPU or by simulation.

    ``simulated`` keeps a kernel off the GPU, which a stray or misaligned access would stop for the
    whole session. Where neither way is possible, the output says what to install.
    """
    try:
        return verdict([_kernel(kernel) for kernel in kernels], simulated=simulated)
    except MissingToolError as missing:
        return sentence(str(missing))


def measure(*names: str, size: int | Size = 4096) -> Speeds:
    """Measure kernels against cuBLAS at one size; without a GPU, take the recorded samples."""
    return _speeds([load_kernel(name) for name in names], [_size(size)])


def race(mine: str | Kernel, against: str) -> Output:
    """Check and count your kernel beside one of the book's; on a GPU time both at 4096³."""
    return _race(_kernel(mine), _kernel(against))


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
    *names: str,
    size: int | Size = 4096,
    gpu: str | None = None,
    hide: Sequence[str] = (),
    path: str = "",
) -> Roofline:
    """Place kernels under the roofs of a GPU, predicted and measured.

    ``gpu`` is an id such as "t4"; by default this machine's GPU, or the one of the records.
    ``hide`` names levels that are switched off to begin with, such as "shared". ``path`` names the
    level at which arrows lead from kernel to kernel to begin with.
    """
    return _roofs.roofline(names, _size(size), gpu, hide, path)


def intensity(name: str, *, gpu: str | None = None, predict: bool = False) -> Intensity:
    """Slide a kernel's tile constants and see the intensity and the bound."""
    return _roofs.intensity(name, gpu, predict=predict)


def occupancy(
    *kernels: str | Kernel,
    threads: int | None = None,
    registers: int | None = None,
    shared: int | None = None,
    gpu: str | None = None,
    size: int | Size = 4096,
) -> Occupancy | Output:
    """Slide what a block takes and see how many blocks an SM holds, and what decides it.

    It begins with what the first kernel takes when launched at ``size``, compiled here, or with
    256 threads of 32 registers. ``threads`` (per block), ``registers`` (per thread) and ``shared``
    (bytes per block) say otherwise. ``gpu`` is an id such as "t4"; by default this machine's GPU,
    or the one of the records.
    """
    try:
        return _occupancy.occupancy(
            [_kernel(kernel) for kernel in kernels],
            _size(size),
            threads=threads,
            registers=registers,
            shared=shared,
            gpu=gpu,
        )
    except MissingToolError as missing:
        return sentence(str(missing))


def coalescing(*names: str, size: int | Size = 64) -> Coalescing:
    """Paint the global requests that the first warp of each kernel makes, sector by sector.

    The reader chooses among them, or makes a pattern of their own.
    """
    return _painting.coalescing([load_kernel(name) for name in names], _size(size))


def banks(*names: str, size: int | Size | None = None) -> Banks:
    """Paint the shared-memory requests that the first warp of each kernel makes, bank by bank.

    The reader chooses among them, pads and swizzles the array, or makes a pattern of their own.
    ``size`` is that of the launch; by default one block of each kernel.
    """
    kernels = [load_kernel(name) for name in names]
    return _painting.banks(kernels, None if size is None else _size(size))


def step(kernel: str | Kernel, size: Size) -> Steps | Output:
    """Step through every access that a kernel makes at a toy size, up to 12 on each side."""
    try:
        return Steps(walk(_kernel(kernel), size))
    except MissingToolError as missing:
        return sentence(str(missing))


def timeline(*names: str, size: int | Size = 4096) -> Timeline | Output:
    """Draw when windows of K are loaded and multiplied, with one buffer or several.

    Kernels give times to start from, as measured at ``size``; the first is shown.
    """
    return _timeline(names, _size(size))


def card() -> _card.Card:
    """Return the card of this machine's GPU, measured once a session, or a recorded one."""
    return _card.measured_card()


def resources(*names: str) -> Output:
    """List the registers that each kernel takes on each GPU target, compiled here and now.

    Where the compiler is not installed, say how to install it.
    """
    try:
        rows = [
            [name]
            + [f"{compile_kernel(load_kernel(name), target).registers}" for target in TARGETS]
            for name in names
        ]
    except MissingToolError as missing:
        return sentence(str(missing))
    return table(["registers per thread", *TARGETS], rows, note="Compiled here by NVRTC.")


def owners(*names: str, threads: Sequence[int]) -> Picture:
    """Draw which elements of a block's tile some threads own, and what they read for them."""
    return _tiles.tile_picture([load_kernel(name) for name in names], threads)


def instructions(*kernels: str | Kernel) -> Output:
    """List the memory instructions that the compiler made of kernels, in PTX and machine code."""
    return _instructions([_kernel(kernel) for kernel in kernels])


def say(text: str, **values: object) -> Prose:
    """Return a paragraph of Markdown with values in it: ``say("{x:.0f} GB/s", x=bandwidth)``."""
    return Prose(text.format(**values))


def exercise(name: str, answer: object = None) -> Output:
    """Judge your answer to an exercise: a number, a word, or lines of a kernel.

    ``name`` is chapter and number, such as "3.2". Lines are compiled, checked and counted.
    """
    return _exercise(name, answer)


def ladder(size: int | Size = 4096, here: Sequence[str] = ()) -> Ladder:
    """Show every kernel of the book beside cuBLAS, at every recorded size and GPU.

    On a GPU the kernels named in ``here`` are measured first, and a form runs the others.
    """
    return _ladders.ladder(_size(size), here)


def my_gpu(*sizes: int | Size) -> Speeds | Output:
    """Measure all kernels and the card on this machine's GPU; the plots then show it too.

    Without ``sizes`` at 1024³, 2048³ and 4096³. Without a GPU a sentence says so.
    """
    return _my_gpu([_size(size) for size in sizes or (1024, 2048, 4096)])


def effects() -> Effects:
    """Measure cuBLAS in ways that move its number; without a GPU, take the recorded samples."""
    return _effects()


def spread(name: str, size: int | Size = 4096) -> Picture | Output:
    """Draw every sample of a kernel, and of cuBLAS in turns with it, in the order taken."""
    return _spread(load_kernel(name).name, _size(size))


def memory_ladder() -> MemoryLadder:
    """Show the latency and bandwidth of each level of memory, on this GPU and the recorded ones."""
    return _card.memory_ladder()


def place(*names: str) -> Output:
    """Show where a chapter's kernels stand on the ladder, and which come before and after."""
    return _ladders.place(names)


def _kernel(kernel: str | Kernel) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return load_kernel(kernel)
    raise LabError(f"{kernel!r} is no kernel. Give a name such as 'tiled', or lab.mine(text).")


def _size(size: int | Size) -> Size:
    """Return M, N, K; one number stands for all three.

    Raises:
        LabError: it is neither.
    """
    sizes = (size, size, size) if isinstance(size, int) else size
    whole = isinstance(sizes, (tuple, list)) and all(
        isinstance(part, int) and not isinstance(part, bool) and part > 0 for part in sizes
    )
    if not whole or len(sizes) != 3:
        raise LabError(
            f"{size!r} is no size. Give a whole number such as 64, or three: (1000, 999, 64)."
        )
    m, n, k = sizes
    return m, n, k


__all__ = [
    "GPUS",
    "Gpu",
    "banks",
    "bytes_text",
    "card",
    "check",
    "coalescing",
    "count",
    "curves",
    "effects",
    "exercise",
    "find_gpu",
    "instructions",
    "intensity",
    "ladder",
    "measure",
    "memory_ladder",
    "mine",
    "my_gpu",
    "number",
    "occupancy",
    "owners",
    "place",
    "race",
    "resources",
    "roofline",
    "say",
    "show",
    "source",
    "spread",
    "step",
    "table",
    "timeline",
    "verdicts",
]
