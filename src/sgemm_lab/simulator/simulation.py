"""Simulate one kernel launch: the entry point of the simulator."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from random import Random
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.simulator.access_merging import Merged, merge_shared_accesses
from sgemm_lab.simulator.control_flow import BasicBlock
from sgemm_lab.simulator.counts import Counts, RequestCounter, collect
from sgemm_lab.simulator.errors import DeadlockError
from sgemm_lab.simulator.execution_counts import Tally
from sgemm_lab.simulator.fma_contraction import fuse_products
from sgemm_lab.simulator.global_races import GlobalRaceDetector
from sgemm_lab.simulator.group import Dim3, Launch, Observer
from sgemm_lab.simulator.hazards import Hazard, HazardLog
from sgemm_lab.simulator.images import Image, Sampling
from sgemm_lab.simulator.limits import refuse_impossible
from sgemm_lab.simulator.machine import flow_of, run_lockstep, run_warp_after_warp
from sgemm_lab.simulator.memory import GLOBAL_BASE, Memory, global_memory, lay_out, read_back
from sgemm_lab.simulator.ptx import PtxKernel, parse
from sgemm_lab.simulator.relaxed_gc import relaxed_gc
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.shared_races import RaceDetector
from sgemm_lab.simulator.trace import Trace, TraceRecorder
from sgemm_lab.simulator.uninitialized_registers import UnsetReads, unset_reads
from sgemm_lab.simulator.uninitialized_values import UninitializedValues
from sgemm_lab.simulator.unroll import unroll_short_loops
from sgemm_lab.simulator.variables import Struct, array_of, bytes_of
from sgemm_lab.simulator.vector_clock_races import VectorClockRaceDetector
from sgemm_lab.simulator.vector_clocks import synchronises_in_parts
from sgemm_lab.simulator.warp_requests import WarpRecorder, WarpRequest
from sgemm_lab.simulator.wgmma_operations import early_uses
from sgemm_lab.tensor_map import MAP_BYTES, TensorMap

_WORKSPACE = "the barrier of the grid"
"""The first of its words is the size, the second counts blocks, as CUDA's own header has it."""

Schedule = Literal["lockstep", "warps", "threads"]
Argument = npt.NDArray[Any] | int | float | Struct | TensorMap
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Result:
    """What a simulated launch did."""

    arrays: dict[str, npt.NDArray[Any]]
    """All arrays after the launch, by argument name. The arrays passed in are unchanged."""
    counts: Counts
    hazards: list[Hazard]
    """What is wrong with the kernel, in the order in which it was found; may be empty."""
    warnings: list[Hazard]
    """What is odd, but right on a GPU: warps that wait at two barriers of the source."""
    trace: Trace | None
    """Every access, if it was asked for."""
    requests: list[WarpRequest] | None = None
    """Every memory request of one warp, in order, if they were asked for."""


def simulate(
    ptx: str,
    entry: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Mapping[str, Argument],
    shared_bytes: int = 0,
    *,
    unwritten: Collection[str] = (),
    variables: Mapping[str, npt.NDArray[Any]] | None = None,
    starts: Mapping[str, int] | None = None,
    images: Mapping[str, Sampling] | None = None,
    check_hazards: bool = True,
    watch_races_in: Collection[str] = (),
    count_requests: bool = True,
    trace: bool = False,
    products: bool = False,
    requests_of: tuple[int, int] | None = None,
    watching: Sequence[Observer] = (),
    only_blocks: Sequence[int] | None = None,
    schedule: Schedule = "lockstep",
    order: int | None = None,
    shared_parts: Sequence[tuple[str, int, int]] = (),
    cooperative: bool = False,
    join_products: bool = False,
    max_basic_blocks: int | None = None,
    time_limit: float = math.inf,
    progress: Progress | None = None,
) -> Result:
    """Run a kernel's PTX on the CPU and count its memory requests as the hardware does.

    Args:
        ptx: PTX text, as NVRTC gives it for sm_75 to sm_120; with ``-lineinfo`` for source lines.
        entry: Name of the kernel.
        grid: Blocks along x, y, z; missing axes are 1.
        block: Threads along x, y, z; missing axes are 1.
        args: The kernel's arguments by name, in order: NumPy arrays for pointers, numbers for
            the rest, a ``Struct`` for what is one. The names are used in messages.
        shared_bytes: Dynamic shared memory of one block, in bytes.
        unwritten: Names of arrays that hold nothing yet, such as C: reading them is a hazard.
        variables: What ``__device__`` and ``__constant__`` variables hold, by their names in the
            PTX; others start as the source says, or with zeros.
        starts: How many bytes into its array an argument points, where that is not its start.
        images: Which arguments are textures or surfaces, and how each is read. Their arrays have
            the shape (depth or layers, height, width, numbers of an element).
        check_hazards: Whether to look for races in shared memory, which costs time. Illegal
            addresses, missed barriers and reads of unwritten memory are always found.
        watch_races_in: Names of arrays in global memory in which to look for races too.
        count_requests: Whether to count memory requests; without, their counts stay zero.
        trace: Whether to record every access; for small launches.
        products: Whether a trace has every multiply-add as well.
        requests_of: A block and a warp of it whose memory requests are wanted, address by address.
        watching: More observers of every access.
        only_blocks: The numbers of the blocks to run, x fastest; None for all.
        schedule: "lockstep" runs all threads of a block side by side. "warps" runs each warp to
            its next barrier before the next warp: slower, and a missing barrier shows. "threads"
            does so with every thread.
        order: A seed: blocks, and with "warps" the warps of a block, run in an order drawn from it;
            None for the order of their numbers.
        shared_parts: The arrays inside dynamic shared memory: name, first byte there, bytes.
        cooperative: Whether all blocks run concurrently, for kernels whose blocks wait for each
            other.
        join_products: Whether a product and a sum that ptxas joins are rounded once, as there.
        max_basic_blocks: Basic blocks that a group of threads may run before its loop is called
            endless; None for no limit.
        time_limit: Seconds after which the simulation is given up.
        progress: Called with (blocks done, all blocks) now and then.

    Raises:
        PtxError: the PTX cannot be read, or uses an unknown instruction.
        EndlessLoopError: the kernel ran on past ``max_basic_blocks``.
        TimeLimitError: the simulation took longer than ``time_limit``.
        DeadlockError: threads wait for what no other thread will do, and no hazard says why.
        LabError: the launch fits neither the kernel nor any GPU, or would take hours.
    """
    kernel, blocks, merged, unset, early = _understand(ptx, entry, shared_bytes, join_products)
    recorder = TraceRecorder() if trace else None
    log = HazardLog(recorder.on_fault if recorder else None)
    counter = RequestCounter(merged)
    observers: list[Observer] = [*([counter] if count_requests else []), *watching]
    tensor_watches: list[VectorClockRaceDetector] = []
    if check_hazards:
        if synchronises_in_parts(kernel):
            tensor_watches.append(VectorClockRaceDetector(log, kernel.instructions))
        observers += tensor_watches or [RaceDetector(log, kernel.instructions)]
    if recorder is not None:
        observers.append(recorder)
    warp = None if requests_of is None else WarpRecorder(merged, *requests_of)
    if warp is not None:
        observers.append(warp)
    if watch_races_in:
        # At the barrier of the grid blocks synchronize.
        watched = {*watch_races_in, _WORKSPACE}
        observers.append(GlobalRaceDetector(log, kernel.instructions, watched))
    arrays = _arrays(args)
    placed = {**arrays, **_hidden(kernel, args, variables or {})}
    memory = global_memory(placed, _checked_names(unwritten, arrays))
    addresses = {array.name: GLOBAL_BASE + array.start for array in memory.arrays}
    symbols = _fill(memory, kernel, args, addresses, variables or {})
    uninitialized = UninitializedValues(log)
    launch = Launch(
        kernel=kernel,
        grid=_three(grid, "grid"),
        block=_three(block, "block"),
        parameters=_parameters(kernel, args, addresses, starts or {}),
        global_memory=memory,
        shared_bytes=shared_bytes,
        hazards=log,
        uninitialized=uninitialized,
        observers=observers,
        tensor_maps=_tensor_maps(kernel, args, addresses),
        tensor_watches=tensor_watches,
        early_uses=early,
        products=recorder if products else None,
        shared_parts=shared_parts,
        variables=symbols,
        images=_images(memory, images or {}),
        workspace=addresses.get(_WORKSPACE, 0),
        cooperative=cooperative or _WORKSPACE in addresses,
        chosen=only_blocks if order is None else _shuffled(only_blocks, grid, order),
        max_basic_blocks=max_basic_blocks,
        time_limit=time_limit,
        unset=unset,
    )
    refuse_impossible(launch)
    tally = Tally(len(blocks))
    runs: dict[Schedule, Callable[..., None]] = {
        "lockstep": run_lockstep,
        "warps": partial(run_warp_after_warp, order=order),
        "threads": partial(run_warp_after_warp, thread_by_thread=True, order=order),
    }
    # Overflow, NaN and division by zero are ordinary values on a GPU.
    with np.errstate(all="ignore"), relaxed_gc():
        try:
            # One block after another would wait for ever at a barrier of the grid.
            runs["lockstep" if launch.workspace else schedule](launch, blocks, tally, progress)
        except DeadlockError:
            # What was found before says more than where the threads wait.
            uninitialized.report_all()
            if not log.found:
                raise
    return Result(
        arrays=read_back(memory),
        counts=collect(counter, kernel.instructions, blocks, tally),
        hazards=log.found,
        warnings=log.warnings,
        trace=None if recorder is None else recorder.finish(),
        requests=None if warp is None else warp.requests,
    )


@lru_cache(maxsize=32)
def _understand(
    ptx: str, entry: str, shared_bytes: int, join_products: bool
) -> tuple[PtxKernel, list[BasicBlock], Merged, UnsetReads, Mapping[int, str]]:
    """Everything about a kernel that does not depend on the launch; remembered, never changed."""
    kernels = parse(ptx)
    if entry not in kernels:
        raise LabError(sentence("run.entry", entry=entry, names=", ".join(kernels)))
    kernel = unroll_short_loops(kernels[entry])
    if join_products:
        kernel = fuse_products(kernel)
    blocks = flow_of(kernel)
    merged = merge_shared_accesses(blocks, lay_out(kernel.shared, shared_bytes))
    return kernel, blocks, merged, unset_reads(kernel, blocks), early_uses(blocks)


def _tensor_maps(
    kernel: PtxKernel, args: Mapping[str, Argument], addresses: Mapping[str, int]
) -> dict[int, tuple[TensorMap, int]]:
    """Tensor maps by where the parameters lie, with the addresses of their matrices."""
    a, b, workspace, c = (addresses.get(name, 0) for name in ("A", "B", "workspace", "C"))
    given = args.get("A")
    width = given.itemsize if isinstance(given, np.ndarray) else FLOAT_BYTES
    return {
        addresses[parameter.name]: (value, value.address(a, b, workspace, c, width))
        for parameter, value in zip(kernel.parameters, args.values(), strict=False)
        if isinstance(value, TensorMap)
    }


def _images(memory: Memory, images: Mapping[str, Sampling]) -> dict[int, Image]:
    """Textures and surfaces by where they lie, which is the number that stands for each."""
    return {
        GLOBAL_BASE + array.start: Image(array, images[array.name])
        for array in memory.arrays
        if array.name in images
    }


def _shuffled(blocks: Sequence[int] | None, grid: tuple[int, ...], seed: int) -> list[int]:
    found = list(range(math.prod(grid)) if blocks is None else blocks)
    Random(seed).shuffle(found)
    return found


def _three(size: tuple[int, ...], what: str) -> Dim3:
    if not 1 <= len(size) <= 3 or min(size) < 1:
        raise LabError(sentence("run.sizes", what=what, sizes=size))
    x, y, z = (*size, 1, 1)[:3]
    return x, y, z


def _checked_names(unwritten: Collection[str], arrays: Mapping[str, object]) -> frozenset[str]:
    unknown = sorted(set(unwritten) - set(arrays))
    if unknown:
        raise LabError(sentence("run.unwritten", name=unknown[0]))
    return frozenset(unwritten)


def _arrays(args: Mapping[str, Argument]) -> dict[str, npt.NDArray[Any]]:
    """The arrays among the arguments, those that structs point to with them."""
    found: dict[str, npt.NDArray[Any]] = {}
    for name, value in args.items():
        if isinstance(value, Struct):
            found |= value.arrays
        elif isinstance(value, np.ndarray):
            found[name] = value
    return found


def _hidden(
    kernel: PtxKernel, args: Mapping[str, Argument], variables: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """What lies in global memory besides the arrays: variables, structs that are arguments, and
    the barrier of ``grid.sync()``, whose address a GPU has in two registers of its own."""
    found = {one.name: variables.get(one.name, array_of(one)) for one in kernel.variables}
    for parameter, value in zip(kernel.parameters, args.values(), strict=False):
        if isinstance(value, Struct | TensorMap):
            size = MAP_BYTES if isinstance(value, TensorMap) else value.bytes
            found[parameter.name] = np.zeros(size, np.uint8)
    if kernel.reads("%envreg1"):
        found[_WORKSPACE] = np.zeros(2, np.uint32)
    return found


def _fill(
    memory: Memory,
    kernel: PtxKernel,
    args: Mapping[str, Argument],
    addresses: Mapping[str, int],
    variables: Mapping[str, npt.NDArray[Any]],
) -> dict[str, int]:
    """Write addresses into variables and structs that hold some; return where those lie."""
    symbols = {one.name: addresses[one.name] for one in kernel.variables}
    for one in kernel.variables:
        for start, name in () if one.name in variables else one.addresses:
            address = np.array([addresses[name]], np.uint64).view(np.uint8)
            memory.write(addresses[one.name] + start, address)
    for parameter, value in zip(kernel.parameters, args.values(), strict=False):
        if isinstance(value, Struct | TensorMap):
            symbols[parameter.name] = addresses[parameter.name]
        if isinstance(value, Struct):
            memory.write(addresses[parameter.name], bytes_of(value, addresses))
    return symbols


def _parameters(
    kernel: PtxKernel,
    args: Mapping[str, Argument],
    addresses: Mapping[str, int],
    starts: Mapping[str, int],
) -> dict[str, Any]:
    if len(args) != len(kernel.parameters):
        takes, given = len(kernel.parameters), len(args)
        raise LabError(sentence("run.arguments", entry=kernel.name, takes=takes, given=given))
    parameters: dict[str, Any] = {}
    for (name, value), parameter in zip(args.items(), kernel.parameters, strict=True):
        if isinstance(value, Struct | TensorMap) != parameter.type.startswith("b8["):
            raise LabError(sentence("run.struct", name=name, entry=kernel.name))
        if isinstance(value, Struct | TensorMap):
            continue
        # A pointer and a 64-bit number look the same in PTX, but no narrower type is a pointer.
        if isinstance(value, np.ndarray) and parameter.type not in ("u64", "b64"):
            raise LabError(sentence("run.number", name=name, entry=kernel.name))
        found = addresses.get(name, value)
        parameters[parameter.name] = found + starts[name] if name in starts else found
    return parameters
