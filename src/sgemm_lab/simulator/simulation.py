"""Simulate one kernel launch: the entry point of the simulator.

The simulator is the TypeScript of this folder. It runs in a process of Node: see ``worker``.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator import worker
from sgemm_lab.simulator.counts import Counts, LineCounts
from sgemm_lab.simulator.hazards import Hazard
from sgemm_lab.simulator.source_locations import Location
from sgemm_lab.simulator.trace import Fault, Trace
from sgemm_lab.simulator.warp_requests import NamedArray, WarpRequest
from sgemm_lab.simulator.worker import Progress
from sgemm_lab.tensor_map import TensorMap

Argument = npt.NDArray[Any] | int | float | TensorMap | Mapping[str, Any]

_EXACT = 2**53
"""Whole numbers from here on are no numbers of JavaScript."""
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_COLUMNS = {"value": np.float64, "a": np.float64, "b": np.float64, "store": np.int8}


class Options(TypedDict, total=False):
    """How a launch is simulated, where that is not as usual."""

    unwritten: Collection[str]
    """Names of arrays that hold nothing yet, such as C: reading them is a hazard."""
    images: Mapping[str, Mapping[str, Any]]
    """Which arguments are textures or surfaces, each with a ``Sampling`` of ``images.ts``. Their
    arrays have the shape (depth or layers, height, width, numbers of an element)."""
    check_hazards: bool
    """False: do not look for races in shared memory, which costs time. Illegal addresses, missed
    barriers and reads of unwritten memory are always found."""
    watch_races_in: Collection[str]
    """Names of arrays in global memory in which to look for races too."""
    count_requests: bool
    """False: memory requests are not counted, and their counts stay zero."""
    trace: bool
    """Record every access; for small launches."""
    products: bool
    """Record every multiply-add in the trace as well."""
    requests_of: tuple[int, int] | None
    """A block and a warp of it whose memory requests are wanted, address by address."""
    watch: Collection[str]
    """What else to watch for; ``watches.ts`` says what each finds."""
    schedule: Literal["lockstep", "warps", "threads"]
    """"lockstep", the default, runs all threads of a block side by side. "warps" runs each warp to
    its next barrier before the next warp: slower, and a missing barrier shows. "threads" does so
    with every thread."""
    shared_parts: Sequence[tuple[str, int, int]]
    """The arrays inside dynamic shared memory: name, first byte there, bytes."""
    cooperative: bool
    """All blocks run concurrently, for kernels whose blocks wait for each other."""
    max_basic_blocks: int | None
    """Basic blocks that a group of threads may run before its loop is called endless; None for no
    limit."""
    time_limit: float
    """Seconds after which the simulation is given up."""


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
    watched: Mapping[str, Any] = field(default_factory=dict)
    """By name, what was watched for."""


def simulate(
    ptx: str,
    entry: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Mapping[str, Argument],
    shared_bytes: int = 0,
    *,
    variables: Mapping[str, npt.NDArray[Any]] | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Result:
    """Run a kernel's PTX on the CPU and count its memory requests as the hardware does.

    Args:
        ptx: PTX text, as NVRTC gives it for sm_75 to sm_120; with ``-lineinfo`` for source lines.
        entry: Name of the kernel.
        grid: Blocks along x, y, z; missing axes are 1.
        block: Threads along x, y, z; missing axes are 1.
        args: The kernel's arguments by name, in order: NumPy arrays for pointers, numbers, tensor
            maps; for a struct its ``bytes`` and ``fields``, as in ``simulation.ts``.
        shared_bytes: Dynamic shared memory of one block, in bytes.
        variables: What ``__device__`` and ``__constant__`` variables hold, by their names in the
            PTX; others start as the source says, or with zeros.
        progress: Called with (blocks done, all blocks) now and then.
        options: see ``Options``.

    Raises:
        PtxError: the PTX cannot be read, or uses an unknown instruction.
        EndlessLoopError: the kernel ran on past ``max_basic_blocks``.
        TimeLimitError: the simulation took longer than ``time_limit``.
        DeadlockError: threads wait for what no other thread will do, and no hazard says why.
        LabError: the launch fits neither the kernel nor any GPU, or would take hours.
    """
    given = {
        "ptx": ptx,
        "entry": entry,
        "grid": grid,
        "block": block,
        "args": [[name, _argument(value)] for name, value in args.items()],
        "variables": dict(variables or {}),
        "options": {"sharedBytes": shared_bytes, "watch": [], **_camel_case(options)},
    }
    found = result_of(worker.ask("simulate", given, progress), {})
    return replace(found, arrays=_arrays({**(variables or {}), **args}, found.arrays))


def result_of(answer: Mapping[str, Any], types: Mapping[str, npt.NDArray[Any]]) -> Result:
    """Return a result of Node; ``types`` are arrays of the types that arrays have."""
    return Result(
        arrays={
            name: array.view(types[name].dtype) if name in types else array
            for name, array in answer["arrays"].items()
        },
        counts=_counts(answer["lines"]),
        hazards=[hazard_of(one) for one in answer["hazards"]],
        warnings=[hazard_of(one) for one in answer["warnings"]],
        trace=answer["trace"] and _trace(answer["trace"]),
        requests=answer["requests"] and [_request(one) for one in answer["requests"]],
        watched=answer["watched"],
    )


def _argument(value: Argument) -> Any:
    if isinstance(value, TensorMap):
        return _camel_case(asdict(value))
    if isinstance(value, np.ndarray | Mapping):
        return value
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float):
        return number if isfinite(number) else _NOT_FINITE[str(number)]
    return number if abs(number) < _EXACT else {"whole": str(number)}


def _camel_case(values: Mapping[str, Any]) -> dict[str, Any]:
    return {re.sub("_(.)", lambda m: m[1].upper(), name): one for name, one in values.items()}


def _arrays(
    args: Mapping[str, Argument], found: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Give arrays the types and shapes with which they came."""
    return {
        name: array.view(given.dtype).reshape(given.shape)
        if isinstance(given := args.get(name), np.ndarray)
        else array
        for name, array in found.items()
    }


def _counts(lines: list[tuple[str, int, dict[str, int]]]) -> Counts:
    by_line = {Location(file, line): LineCounts(**counts) for file, line, counts in lines}
    total = LineCounts()
    for counts in by_line.values():
        total.add(counts)
    return Counts(total, by_line)


def hazard_of(found: Mapping[str, Any]) -> Hazard:
    """Return a hazard of Node."""
    other, element = found["otherLocation"], found["element"]
    return Hazard(
        kind=found["kind"],
        location=Location(*found["location"]),
        message=found["message"],
        block=tuple(found["block"]),
        thread=tuple(found["thread"]),
        array=found["array"],
        element=None if element is None else tuple(element),
        other_thread=found["otherThread"] and tuple(found["otherThread"]),
        other_location=other and Location(*other),
        across_warps=found["acrossWarps"],
    )


def _trace(found: Mapping[str, Any]) -> Trace:
    return Trace(
        arrays=found["arrays"],
        columns=_columns(found["columns"]),
        complete=found["complete"],
        faults=[Fault(**fault) for fault in found["faults"]],
        products=_columns(found["products"]),
    )


def _columns(found: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    return {name: one.astype(_COLUMNS.get(name, np.int32)) for name, one in found.items()}


def _request(found: Mapping[str, Any]) -> WarpRequest:
    array = found["array"]
    return WarpRequest(
        line=found["line"],
        space=found["space"],
        array=NamedArray(array["name"], array["start"], array["bytes"], tuple(array["shape"])),
        is_load=found["isLoad"],
        width=found["width"],
        addresses=tuple(found["addresses"]),
        epoch=found["epoch"],
    )
