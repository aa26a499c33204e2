"""The verbs of a chapter: all that a page needs, and the only thing that it imports.

A page begins with ``from sgemm_lab import lab``. On a GPU the verbs measure there and then; without
one they read the book's records, and say so.

**Show.** ``show`` a kernel's source, the same in ``wgsl``, ``place`` it on the ladder, ``step``
through its accesses, ``owners`` of elements, ``instructions`` and ``resources`` that the compiler
made of it. A kernel ends with its ``closing`` box, which has the table of its ``bound``.

**Ask.** ``check`` that it is right, ``measure`` it (``measure("split")["split"]`` in GFLOP/s),
``count`` what it asks of memory, ``race`` one's own (``mine`` makes a kernel of a text, such as the
``source`` of another), ``predict`` a result, judge an ``exercise``, test a claim (``verdicts``).

**Draw.** ``figure`` of one or two panels, with a question above and the conclusion below. Panels:
``one_number`` of C, ``owns`` what thread, warp and block compute, ``reads`` what they read of A and
B, ``copies`` of one load, a ``phase`` of it at the banks, the ``ways`` of a window into shared
memory, ``moves`` bytes at every level, ``times`` of windows and their ``ring``, ``shares`` of SMs
(their lengths: ``shared_out``), ``sm`` with its parts.

**Values in sentences.** ``speed`` of one kernel, ``waves`` and ``words`` of shared memory per
multiply-add, the ``cap`` that follows from them, what is ``copied`` for a window, ``hardware``
counters of a launch, what a ``request`` of a warp costs, the ``card`` of the GPU
(``card().clock_mhz``) and its sheet (``find_gpu``), the ``kernel`` itself, ``pace`` by the model of
overlap. They stand where they are used:
``{value}`lab.speed("split")` GFLOP/s``; see :mod:`sgemm_lab.book.inline_values`.

**Of tensor cores.** ``fragment_map`` of a warp, number ``formats``, a number ``in_two``; ``errors``
by class of inputs, ``speed_and_error`` of kernels, ``speed_over_error`` of all of them, cuBLAS in
another arithmetic (``library``), what three products leave (``contributions``).

**Pictures that move.** ``roofline``, ``intensity``, ``occupancy``, ``coalescing``, ``banks``,
``timeline``, ``tile_waves``, ``machine_code``, ``ladder``, ``memory_ladder``, ``in_flight``; and
still ones: ``curves``, ``spread``; the ``wgsl_climb`` in a table.

**Several GPUs.** ``several`` is what their record says; ``over_gpus`` draws how a plan begins,
``gpu_tiles`` steps through it, ``gpu_timeline`` shows when each multiplied, ``many_gpus`` reckons
on paper, and ``on_gpus`` runs a plan.

**Put to use.** ``matmul`` of two arrays on the GPU, by the fastest kernel for their size, or by the
fastest way within an error, which ``choice`` names; ``search_map`` of the search that found it.
``strassen`` multiplies with fewer products, ``seven_products`` draws them, ``fewer`` tells what was
recorded of them.

**Writing.** ``number``, ``bytes_text`` and ``error_text`` as the book writes them (what is
``written`` by ``{value}`` goes through ``number`` by itself), ``code`` in a sentence, a ``table``,
and ``say`` where a cell must choose the sentence.

**Of the records.** The ``scoreboard`` of all; ``recorded`` and ``runs``, ``agreement`` with the
hardware's counts, ``effects`` of how one measures, ``my_gpu``; ``others_kernels`` compared with it,
and the ``public_bugs`` among them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, overload

import sgemm_lab
from sgemm_lab.counting.step_trace import walk
from sgemm_lab.cuda.compiler import TARGETS, compile_kernel, suits
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.external_cuda.launch import ExternalKernel
from sgemm_lab.external_cuda.prediction_accuracy import Seen, seen
from sgemm_lab.external_cuda.public_bugs import public_bugs as _public_bugs
from sgemm_lab.formulas.overlap import Pipeline
from sgemm_lab.gpu import GPUS, Gpu, find_gpu
from sgemm_lab.kernel import Kernel, Size, has_head_comment, load_kernel, parse_kernel
from sgemm_lab.lab import accuracy as _accuracies
from sgemm_lab.lab import card as _card
from sgemm_lab.lab import closing as _closing
from sgemm_lab.lab import demand as _demand
from sgemm_lab.lab import ladders as _ladders
from sgemm_lab.lab import occupancy_calculator as _occupancy
from sgemm_lab.lab import request_painters as _painting
from sgemm_lab.lab import roofs as _roofs
from sgemm_lab.lab import speed_error as _points
from sgemm_lab.lab import tiles as _tiles
from sgemm_lab.lab.agreement import Agreement
from sgemm_lab.lab.checking import verdict
from sgemm_lab.lab.comparison import race as _race
from sgemm_lab.lab.counts import Counted
from sgemm_lab.lab.exercise import exercise as _exercise
from sgemm_lab.lab.exercise import predict as _predict
from sgemm_lab.lab.external import ExternalCounted
from sgemm_lab.lab.external import external_count as _external_count
from sgemm_lab.lab.external import external_verdict as _external_verdict
from sgemm_lab.lab.external import foreign as _foreign
from sgemm_lab.lab.fragment_map import fragment_map as _fragment_map
from sgemm_lab.lab.hardware_counters import Hardware
from sgemm_lab.lab.hardware_counters import hardware as _hardware
from sgemm_lab.lab.in_flight import in_flight as _in_flight
from sgemm_lab.lab.instructions import instructions as _instructions
from sgemm_lab.lab.listing import listing, wgsl_listing
from sgemm_lab.lab.machine_code import machine_code as _machine_code
from sgemm_lab.lab.memory_ladder import memory_ladder as _memory_ladder
from sgemm_lab.lab.methods import Effects
from sgemm_lab.lab.methods import effects as _effects
from sgemm_lab.lab.multi_gpu import MultiGpuResults
from sgemm_lab.lab.multi_gpu import many_gpus as _many_gpus
from sgemm_lab.lab.multi_gpu import multiply_on as _multiply_on
from sgemm_lab.lab.multi_gpu import several as _several
from sgemm_lab.lab.multi_gpu import tiles_on_gpus as _tiles_on_gpus
from sgemm_lab.lab.multi_gpu import timeline as _gpu_timeline
from sgemm_lab.lab.output import Output, Picture, Prose, Unavailable, table, unavailable
from sgemm_lab.lab.pictures.banks import phase_panel
from sgemm_lab.lab.pictures.copy_paths import Copies, copies_of, ways_panel
from sgemm_lab.lab.pictures.copying import copying_panel
from sgemm_lab.lab.pictures.formats import formats_panel, split_panel
from sgemm_lab.lab.pictures.frame import figure as _figure
from sgemm_lab.lab.pictures.gpus import gpus_panel
from sgemm_lab.lab.pictures.levels import levels_panel
from sgemm_lab.lab.pictures.matrices import Group, matrices
from sgemm_lab.lab.pictures.multiprocessor import multiprocessor_panel
from sgemm_lab.lab.pictures.ownership import one_number_panel, owners_panel
from sgemm_lab.lab.pictures.pipeline import ring_panel, time_panel
from sgemm_lab.lab.pictures.stream_k import shares_of, shares_panel
from sgemm_lab.lab.public_bugs import ShownBugs
from sgemm_lab.lab.recorded import Recorded, recorded, runs
from sgemm_lab.lab.requests import Request
from sgemm_lab.lab.requests import request as _request
from sgemm_lab.lab.sample_picture import spread as _spread
from sgemm_lab.lab.scores import scoreboard as _scoreboard
from sgemm_lab.lab.search_chart import SearchMap
from sgemm_lab.lab.search_chart import search_map as _search_map
from sgemm_lab.lab.speeds import Speeds, score_of, speed_curves
from sgemm_lab.lab.speeds import speeds as _speeds
from sgemm_lab.lab.strassen import StrassenResults
from sgemm_lab.lab.strassen import fewer as _fewer
from sgemm_lab.lab.strassen import seven_products as _seven_products
from sgemm_lab.lab.strassen import strassen as _strassen
from sgemm_lab.lab.tile_waves import tile_waves as _tile_waves
from sgemm_lab.lab.timelines import blocks_per_sm, pace, timed_kernel
from sgemm_lab.lab.timelines import timeline as _timeline
from sgemm_lab.lab.verdicts import verdicts
from sgemm_lab.lab.wgsl_climb import WgslClimb
from sgemm_lab.lab.wgsl_climb import wgsl_climb as _wgsl_climb
from sgemm_lab.lab.your_gpu import my_gpu as _my_gpu
from sgemm_lab.records.gpu_record import Measurement
from sgemm_lab.text import bytes_text, error_text, number, with_spaced_percents
from sgemm_lab.wgsl.programs import load_program
from sgemm_lab.widgets import (
    Banks,
    Coalescing,
    FragmentMap,
    GpuTiles,
    GpuTimeline,
    InFlight,
    Intensity,
    Ladder,
    MachineCode,
    ManyGpus,
    MemoryLadder,
    Occupancy,
    Roofline,
    Scoreboard,
    SevenProducts,
    SpeedError,
    Steps,
    TileWaves,
    Timeline,
)


def show(name: str, first: int | str | None = None, last: int | str | None = None) -> Output:
    """Show a kernel's source, or lines of it; what its parent does not have is marked.

    ``first`` and ``last`` are line numbers, or pieces of the text of those lines.
    """
    return listing(load_kernel(name), first, last)


def wgsl(name: str) -> Output:
    """Show a kernel beside the same in WGSL, the language of the programs that a page runs."""
    return wgsl_listing(load_program(name))


def wgsl_climb() -> WgslClimb:
    """Show every program in WGSL beside its CUDA kernel, as the book's GPU measured them.

    ``wgsl_climb().gflops("split")`` is the speed of one, for a sentence.
    """
    return _wgsl_climb()


def source(name: str) -> str:
    """Return a kernel's source as text, to be changed and given to ``mine``."""
    return load_kernel(name).source


@overload
def mine(text: str, name: str = "mine") -> Kernel: ...


@overload
def mine(
    text: str,
    name: str = "mine",
    *,
    grid: str,
    block: str,
    entry: str | None = None,
    args: str | None = None,
    shared_bytes: int = 0,
    define: Mapping[str, str | int] | None = None,
) -> ExternalKernel: ...


def mine(
    text: str,
    name: str = "mine",
    *,
    entry: str | None = None,
    grid: str = "",
    block: str = "",
    args: str | None = None,
    shared_bytes: int = 0,
    define: Mapping[str, str | int] | None = None,
) -> Kernel | ExternalKernel:
    """Make a kernel of the reader's own source text. Empty lines at its ends do not count.

    Text without the book's head comment may be any CUDA file as it was found, with ``main`` too.
    It then needs its launch: ``grid="ceil(N/32), ceil(M/32)"`` and ``block="32, 8"``. ``entry``
    chooses a kernel, such as "tiled<16>"; ``args`` says what it is given where that cannot be told,
    such as "M N K 1.0 A B 0.0 C" or "x:in:4096 y:out:4096 n=4096"; ``define`` sets macros. What is
    made of it goes into ``check`` and ``count``.

    Raises:
        LabError: it is no text, or the head comment lacks a field.
    """
    if not isinstance(text, str):
        raise LabError(f"{text!r} is no source. Give it as text, such as lab.source('tiled').")
    if grid or block or entry or args:
        return _foreign(text, name, entry, grid, block, args, shared_bytes, define)
    source = text.strip() + "\n"
    try:
        return parse_kernel(name, source)
    except LabError as error:
        if has_head_comment(source):
            raise
        raise LabError(
            f"{error} Or say how its kernel is launched: "
            "lab.mine(text, grid='ceil(N/32), ceil(M/32)', block='32, 32')."
        ) from None


def kernel(name: str) -> Kernel:
    """Return a kernel as an object: ``values`` of its constants, ``launch_shape``, ``title``."""
    return load_kernel(name)


def check(*kernels: str | Kernel | ExternalKernel, simulated: bool = False) -> Output:
    """Check kernels at awkward sizes, on this machine's GPU or by simulation.

    Kernels of anybody's file (see ``mine``) are simulated, and stand alone.

    ``simulated`` keeps a kernel off the GPU, which a stray or misaligned access would stop for the
    whole session. Where neither way is possible, the output says what to install.
    """
    foreign = [kernel for kernel in kernels if isinstance(kernel, ExternalKernel)]
    try:
        if foreign and len(foreign) == len(kernels):
            return _external_verdict(foreign)
        return verdict([_kernel(kernel) for kernel in kernels], simulated=simulated)
    except MissingToolError as missing:
        return unavailable(missing)


def measure(*names: str, size: int | Size = 4096) -> Speeds:
    """Measure kernels against cuBLAS at one size; without a GPU, take the recorded samples."""
    return _speeds([load_kernel(name) for name in names], [_size(size)])


def speed(name: str, size: int | Size = 4096) -> float:
    """Return a kernel's GFLOP/s at one size: measured in this session, else recorded.

    Raises:
        LabError: there is no GPU, and nothing is recorded of the kernel at that size.
    """
    return score_of(load_kernel(name), _size(size)).gflops


def others_kernels() -> Seen:
    """Return how many kernels of others were compared with an H200, and how they compare."""
    return seen()


def public_bugs() -> ShownBugs:
    """Show the bugs that were found in public samples, and what an H200 made of them."""
    return ShownBugs(_public_bugs())


def race(mine: str | Kernel, against: str) -> Output:
    """Check and count your kernel beside one of the book's; on a GPU time both at 4096³."""
    return _race(_kernel(mine), _kernel(against))


def curves(*names: str, conclusion: str) -> Picture:
    """Draw GFLOP/s over matrix size, cuBLAS beside the kernels."""
    return speed_curves(names, conclusion)


def count(
    *kernels: str | Kernel | ExternalKernel, size: int | Size = 256, expect: str | None = None
) -> Counted | ExternalCounted | Output:
    """Count what kernels ask of memory in one launch, beside a GPU's own counters.

    One kernel of anybody's file (see ``mine``) is counted line by line, and judged; ``expect`` says
    what an array should hold, such as "y = 2 * x".

    The reader's own kernels need the compiler; where it is missing, the output says how to
    install it.
    """
    try:
        if len(kernels) == 1 and isinstance(kernels[0], ExternalKernel):
            return _external_count(kernels[0], _size(size), expect)
        return Counted([_kernel(kernel) for kernel in kernels], _size(size))
    except MissingToolError as missing:
        return unavailable(missing)


def waves(
    name: str | Kernel, what: str = "loads", *, line: str = "", size: int | Size = 128
) -> float:
    """Return wavefronts of shared memory per multiply-add of a warp, counted here.

    ``what`` is "loads", "stores" or "all"; ``line`` counts only source lines that hold this text,
    such as "fragA[".
    """
    return _demand.waves(_kernel(name), what, line, _size(size))


def words(name: str | Kernel, size: int | Size = 128) -> float:
    """Return words read from shared memory per multiply-add of a thread, counted here."""
    return _demand.words(_kernel(name), _size(size))


def cap(waves: float) -> float:
    """Return the GFLOP/s that shared memory leaves to a kernel of so many ``waves``."""
    return _demand.cap(waves)


def hardware(name: str, size: int | Size = 4096) -> Hardware:
    """Return the recorded counters of a launch: ``hardware("split").registers``.

    Raises:
        LabError: no record has them.
    """
    return _hardware(load_kernel(name), _size(size))


def request(addresses: Sequence[int], width: int = 4) -> Request:
    """Return what one load of a warp costs: ``sectors`` in global memory, ``wavefronts`` in shared.

    ``addresses`` are bytes, one for each lane, up to 32; ``width`` is the bytes of each.
    """
    return _request(addresses, width)


def agreement() -> Agreement:
    """Count every launch that the records have counters of at two sizes, and compare."""
    return Agreement()


def roofline(
    *names: str,
    size: int | Size = 4096,
    gpu: str | None = None,
    level: str | None = None,
) -> Roofline:
    """Place kernels under the roofs of a GPU, predicted and measured.

    ``gpu`` is an id such as "t4", or a name; by default this machine's GPU, or the one of the
    records. ``level`` names the memory level to begin with, such as "dram"; "" shows all at once.
    By default it is the one whose roof is the lowest over the last kernel.
    """
    return _roofs.roofline(names, _size(size), gpu, level)


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
        return unavailable(missing)


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
    """Step through every access that a kernel makes at a toy size.

    M and N go up to 12, and K with the larger of the two up to 24.
    """
    try:
        return Steps(walk(_kernel(kernel), size))
    except MissingToolError as missing:
        return unavailable(missing)


def timeline(*names: str, size: int | Size = 4096) -> Timeline | Output:
    """Draw when windows of K are loaded and multiplied, with one buffer or several.

    Kernels give times to start from, as measured at ``size``; the first is shown.
    """
    return _timeline(names, _size(size))


def tile_waves(
    *names: str, size: int = 4096, even: Sequence[str] = (), gpu: str | None = None
) -> TileWaves:
    """Draw when each SM works on the tiles of a square product, and what share of time is used.

    The kernels give the tiles to choose from, and their measured speeds where there are some; the
    first is shown. ``even`` names those that give every SM the same number of windows, not whole
    tiles. ``gpu`` is an id such as "t4"; by default this machine's GPU, or the one of the records.
    """
    return _tile_waves([load_kernel(name) for name in names], size, even=even, gpu=gpu)


def machine_code(*names: str, size: int | Size = 4096) -> MachineCode | Output:
    """Show the main loops of kernels in machine code, each instruction coloured by its kind.

    The first two stand side by side. Why warps waited is what the GPU counted at ``size``, where a
    record has it. Where a tool is missing that the loops need, the output says what to install.
    """
    try:
        return _machine_code([load_kernel(name) for name in names], _size(size))
    except MissingToolError as missing:
        return unavailable(missing)


def card() -> _card.Card:
    """Return the card of this machine's GPU, measured once a session, or a recorded one."""
    return _card.measured_card()


def resources(*names: str) -> Output:
    """List the registers that each kernel takes on each GPU target, compiled here and now.

    Where the compiler is not installed, say how to install it.
    """
    try:
        rows = [
            [name, *(_registers(load_kernel(name), target) for target in TARGETS)] for name in names
        ]
    except MissingToolError as missing:
        return unavailable(missing)
    return table(["registers per thread", *TARGETS], rows, note="Compiled here by NVRTC.")


def _registers(kernel: Kernel, target: str) -> str:
    """Registers that a thread takes; a dash where the target lacks what the kernel needs."""
    return f"{compile_kernel(kernel, target).registers}" if suits(kernel, target) else "–"


def owners(*names: str, threads: Sequence[int]) -> Picture:
    """Draw which elements of a block's tile some threads own, and what they read for them."""
    return _tiles.tile_picture([load_kernel(name) for name in names], threads)


def instructions(*kernels: str | Kernel) -> Output:
    """List the memory instructions that the compiler made of kernels, in PTX and machine code."""
    return _instructions([_kernel(kernel) for kernel in kernels])


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    error: float | str | None = None,
    workspace: int | None = None,
) -> Any:
    """Return a·b of two float32 CuPy arrays, by the fastest kernel of the book for their size.

    It is ``sgemm_lab.matmul``, which tells of arrays, errors, copies and streams. Without a GPU a
    sentence says what is missing.
    """
    try:
        return sgemm_lab.matmul(a, b, out, error=error, workspace=workspace)
    except MissingToolError as missing:
        return unavailable(missing)


def choice(
    m: int, n: int, k: int, *, error: float | str | None = None, workspace: int | None = None
) -> Any:
    """Return which way ``matmul`` takes for M, N, K: its ``str`` is a sentence.

    It is ``sgemm_lab.choice``, which tells what it has.

    Raises:
        LabError: a size, the error or the workspace cannot be, or nothing keeps the error.
    """
    return sgemm_lab.choice(m, n, k, error=error, workspace=workspace)


def strassen(levels: int = 2, size: int | Size | None = None) -> Output:
    """Multiply random matrices by levels of Strassen's algorithm, and tell what that took.

    On a GPU by the book's kernels, 8192×8192×8192 by default; in NumPy without one, then smaller.
    """
    return _strassen(levels, None if size is None else _size(size))


def seven_products() -> SevenProducts:
    """Draw the seven products that make C of quadrants, one after the other."""
    return _seven_products()


def fewer() -> StrassenResults:
    """Return what was recorded of Strassen's product: times and errors, predicted and measured."""
    return _fewer()


def search_map(*sizes: int | Size) -> SearchMap:
    """Draw what a search found: every candidate at every size, as a share of the fastest there.

    Without ``sizes`` at the squares. ``search_map().correlation`` is the rank correlation of what
    the models predicted and what was measured; ``winners`` are the fastest.
    """
    return _search_map([_size(size) for size in sizes])


def say(text: str) -> Prose:
    """Return text in Markdown, for a sentence that a cell chooses: ``say(f"{x:.0f} GB/s")``.

    Values that stand in a fixed sentence need no cell: the page writes ``{value}`x:.0f` GB/s``.
    """
    return Prose(with_spaced_percents(text.strip()))


def code(text: str) -> str:
    """Return text as code in a sentence: ``{value}`lab.code(name)` ``."""
    return f"`{text}`"


def written(value: object) -> str:
    """Write a value as the book does: a float to three digits (``number``), all else as it is."""
    return number(value) if isinstance(value, float) else str(value)


def exercise(name: str, answer: object = None) -> Output:
    """Judge your answer to an exercise: a number, a word, or lines of a kernel.

    ``name`` is chapter and number, such as "3.2". Lines are compiled, checked and counted.
    """
    return _exercise(name, answer)


def predict(name: str, answer: object = None) -> Output:
    """Commit to a number or a word, then hear what was counted or measured.

    ``name`` is that of the question above the cell, such as "tiled-speed".
    """
    return _predict(name, answer)


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


def in_flight() -> InFlight:
    """Slide the threads of an SM and the bytes under way, and see what arrives per clock."""
    return _in_flight()


def memory_ladder() -> MemoryLadder:
    """Show the latency and bandwidth of each level of memory, on this GPU and the recorded ones."""
    return _memory_ladder()


def place(*names: str, after: Sequence[str] = ()) -> Output:
    """Show where a chapter's kernels stand on the ladder, and which come before and after.

    ``after`` names predictions of the page, as in its boxes. Then it waits behind a button until
    all of them are answered or passed, so that nothing above the questions gives the results away.
    """
    return _ladders.place(names, after)


def closing(
    name: str,
    changed: str = "",
    *,
    gap: str = "",
    why: str = "",
    estimate: tuple[float, float, str] | None = None,
    size: int | Size | None = None,
) -> _closing.Closing | Unavailable:
    """Close a kernel: what bounded its parent, what changed, by how much, what bounds it now.

    ``changed`` says in a few words what the kernel does otherwise; by default its own head comment
    does. ``gap`` says what eats the difference between the factor predicted and the factor
    measured, ``why`` why the kernel does not reach all of its bound. The texts may name numbers in
    braces, such as ``{share:.0f}``, ``{issue_active_percent:.0f}`` or ``{was_rest:.3f}``.
    ``estimate`` is a quotient of a model that is no bound: two numbers, and what they count.
    ``size`` is where the kernel is at home, if that is not 4096³; its parent is compared there, if
    it was measured. Of a kernel that is not yet measured the box says so.
    """
    at = None if size is None else _size(size)
    return _closing.closing(name, changed, gap, why, estimate, at)


def bound(name: str) -> _closing.BoundTable | Unavailable:
    """List what a kernel asks of each unit of the GPU and what that unit allows; the least binds.

    The result knows ``gflops``, ``unit``, ``demand``, ``speed`` and ``share`` for a sentence.
    """
    return _closing.bound_table(name)


def figure(*panels: Output, conclusion: str, question: str = "", origin: str = "") -> Output:
    """Set one or two panels side by side, with what they show below them.

    The first sentence of ``conclusion`` stands in bold. A figure with a ``question`` opens a
    chapter; where what it asks about is a widget, that follows and there is no panel. ``origin``
    says where numbers come from.
    """
    return _figure(panels, conclusion, question=question, origin=origin)


def one_number(
    title: str, row: Sequence[int], column: Sequence[int], step: int, *, says: str = ""
) -> Output:
    """Draw how one number of C comes of a row of A and a column of B, up to a step along K."""
    return one_number_panel(title, row, column, step, says=says)


def owns(title: str, name: str, *, says: str = "") -> Output:
    """Draw a corner of C in blocks of a kernel, with one block, one warp and one thread in it."""
    return owners_panel(title, load_kernel(name), says=says)


def reads(
    title: str,
    name: str,
    size: Size,
    group: Group,
    *,
    number: int = 0,
    step: int = 0,
    says: str = "",
) -> Output:
    """Draw what a "thread", a "warp" or a "block" of a kernel reads of A and B, and owns of C.

    ``size`` is a launch small enough to draw, ``number`` that of the thread or warp in its block,
    ``step`` the k that is in use.
    """
    return matrices(title, load_kernel(name), size, group, number=number, step=step, says=says)


def copies(title: str, name: str, *, says: str = "") -> Output:
    """Draw a block's window of A, and what one load of one warp, and of one thread, copies."""
    return copying_panel(title, load_kernel(name), says=says)


def moves(
    title: str, before: str, after: str, *, size: int | Size = 4096, says: str = ""
) -> Output:
    """Draw the bytes that two kernels move at every level of memory, as the GPU counted them."""
    moved = [hardware(name, size).moved for name in (before, after)]
    return levels_panel(title, [before, after], moved, says=says)


def times(title: str, name: str, *, stages: int, clocks: float, says: str = "") -> Output:
    """Draw when a block of a kernel loads and multiplies four windows, with so many buffers.

    ``clocks`` is the length of the axis: the same in two panels makes them comparable.
    """
    kernel = load_kernel(name)
    timed = timed_kernel(kernel, score_of(kernel, _size(4096)))
    pipeline = Pipeline(timed["latency"], timed["load"], timed["compute"], 4, stages)
    return time_panel(title, pipeline, clocks, says=says)


def ring(
    title: str, name: str, *, stages: int, clocks: float, windows: int = 6, says: str = ""
) -> Output:
    """Draw which place of a ring of windows is filled and multiplied when, by the overlap model.

    The times of a window are those of the kernel; ``clocks`` is the length of the axis.
    """
    kernel = load_kernel(name)
    timed = timed_kernel(kernel, score_of(kernel, _size(4096)))
    pipeline = Pipeline(timed["latency"], timed["load"], timed["compute"], windows, stages)
    return ring_panel(title, pipeline, clocks, says=says)


def shares(title: str, name: str, *, tiles: int = 4, sms: int = 3, says: str = "") -> Output:
    """Draw which windows of a row of tiles each SM multiplies, if there is one block for each."""
    return shares_panel(title, load_kernel(name), tiles, sms, says=says)


def shared_out(name: str, *, tiles: int = 4, sms: int = 3) -> list[int]:
    """Return how many windows each SM multiplies of what ``lab.shares`` draws."""
    return [len(share) for share in shares_of(load_kernel(name), tiles, sms)]


def ways(title: str, name: str, *, says: str = "") -> Output:
    """Draw the way of a kernel's windows into shared memory, and what it costs each thread."""
    return ways_panel(title, load_kernel(name), says=says)


def copied(name: str) -> Copies:
    """Return what a thread does to copy its share of a window, counted here: ``held`` registers."""
    return copies_of(load_kernel(name))


def phase(title: str, name: str, line: str, *, says: str = "") -> Output:
    """Draw the banks that the first eight lanes of a 16-byte request use, wavefront by wavefront.

    ``line`` is a piece of the source line that makes the request, such as "fragB[".
    """
    return phase_panel(title, load_kernel(name), line, says=says)


def fragment_map(*names: str, others: Sequence[tuple[str, int]] = ()) -> FragmentMap:
    """Show which lane of a warp holds which element, where these kernels multiply by ``mma.sync``.

    ``others`` adds instructions that no kernel has, each as type and depth, such as ("f16", 16).
    """
    return _fragment_map(names, others)


def formats(title: str, *, says: str = "") -> Output:
    """Draw the bits of FP32, TF32 and FP16: sign, exponent, fraction."""
    return formats_panel(title, says=says)


def in_two(title: str, *, says: str = "") -> Output:
    """Draw the significant bits of an FP32 number and of its two TF32 parts."""
    return split_panel(title, says=says)


def errors(*names: str) -> _accuracies.Errors:
    """Return recorded errors of kernels and modes of cuBLAS, such as "cublas" or "cublas_tf32"."""
    return _accuracies.Errors(names)


def library(arithmetic: str, size: int | Size = 4096) -> Measurement:
    """Return what cuBLAS made in an arithmetic: "fp32", "tf32" or "fp16"."""
    return _accuracies.library(arithmetic, _size(size))


def speed_and_error(
    *names: str, conclusion: str, size: int | Size = 4096, levels: bool = False
) -> Picture:
    """Draw speed over error, each kernel and each mode of cuBLAS a point; Strassen's by levels."""
    return _points.speed_and_error(names, conclusion, _size(size), levels)


def speed_over_error() -> SpeedError:
    """Draw the same of all that is recorded, with switches for inputs, K and size."""
    return _points.speed_over_error()


def contributions() -> dict[str, str]:
    """Say the error that "one", "three" or "four" products of parts leave, sums exact."""
    left = _accuracies.contributions()
    return {name: error_text(error) for name, error in left.items()}


def scoreboard(size: int | Size = 4096) -> Scoreboard:
    """Show every measurement of the records and of this session, to filter and to sort."""
    return _scoreboard(_size(size))


def several() -> MultiGpuResults:
    """Return what the record of several GPUs says: ``product``, ``link``, ``predicted`` times."""
    return _several()


def gpu_tiles(*plans: tuple[str, int], size: int = 16384) -> GpuTiles:
    """Step through plans for several GPUs: who multiplies which tiles, what travels, in bytes.

    Each plan is a layout, "rows", "summa" or "cannon", and a number of GPUs.
    """
    return _tiles_on_gpus(size, list(plans))


def gpu_timeline(size: int = 8192) -> GpuTimeline:
    """Draw when each GPU multiplied and when it received, as recorded; by the model where not."""
    return _gpu_timeline(size)


def many_gpus() -> ManyGpus:
    """Slide the number of GPUs and their links, and see how efficient a product is on paper."""
    return _many_gpus()


def on_gpus(layout: str, size: int | Size, gpus: int = 4) -> Output:
    """Run a plan: on this machine's GPUs where there are so many, else in NumPy, and check it."""
    return _multiply_on(layout, _size(size), gpus)


def over_gpus(title: str, layout: str, gpus: int, *, says: str = "") -> Output:
    """Draw which GPU has which tiles of A, B and C when a plan begins."""
    return gpus_panel(title, layout, gpus, says=says)


def sm(title: str, name: str, size: int | Size = 4096, *, says: str = "") -> Output:
    """Draw one SM of this machine's GPU, or of the recorded one, with the blocks that it holds."""
    found, of, shape = card(), load_kernel(name), _size(size)
    blocks = blocks_per_sm(of, shape, found.record)
    return multiprocessor_panel(title, find_gpu(found.device.name), of, shape, blocks, says=says)


def _kernel(kernel: str | Kernel | ExternalKernel) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, ExternalKernel):
        raise LabError("A kernel without the book's head comment stands alone in lab.check and "
                       "lab.count; no other verb knows it.")  # fmt: skip
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
    "Hardware",
    "Recorded",
    "Request",
    "agreement",
    "banks",
    "bound",
    "bytes_text",
    "cap",
    "card",
    "check",
    "choice",
    "closing",
    "coalescing",
    "code",
    "contributions",
    "copied",
    "copies",
    "count",
    "curves",
    "effects",
    "error_text",
    "errors",
    "exercise",
    "fewer",
    "figure",
    "find_gpu",
    "formats",
    "fragment_map",
    "gpu_tiles",
    "gpu_timeline",
    "hardware",
    "in_flight",
    "in_two",
    "instructions",
    "intensity",
    "kernel",
    "ladder",
    "library",
    "machine_code",
    "many_gpus",
    "matmul",
    "measure",
    "memory_ladder",
    "mine",
    "moves",
    "my_gpu",
    "number",
    "occupancy",
    "on_gpus",
    "one_number",
    "others_kernels",
    "over_gpus",
    "owners",
    "owns",
    "pace",
    "phase",
    "place",
    "predict",
    "public_bugs",
    "race",
    "reads",
    "recorded",
    "request",
    "resources",
    "ring",
    "roofline",
    "runs",
    "say",
    "scoreboard",
    "search_map",
    "seven_products",
    "several",
    "shared_out",
    "shares",
    "show",
    "sm",
    "source",
    "speed",
    "speed_and_error",
    "speed_over_error",
    "spread",
    "step",
    "strassen",
    "table",
    "tile_waves",
    "timeline",
    "times",
    "verdicts",
    "waves",
    "ways",
    "wgsl",
    "wgsl_climb",
    "words",
    "written",
]
