"""A kernel at a toy size, access by access: data for the step-through.

A and B hold different numbers everywhere. So each value that a thread reads or writes tells by
itself which element it is a copy of.
"""

from typing import Any, TypedDict

import numpy as np

from sgemm_lab.counting.of_kernel import fresh_workspace, patience
from sgemm_lab.counting.warp_requests import shared_shapes
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import ENTRY, Kernel, Size, body_start
from sgemm_lab.simulator import Result, Trace, simulate
from sgemm_lab.simulator.hazards import UNWRITTEN
from sgemm_lab.simulator.trace import Fault

_TIME_LIMIT = 300.0
"""Seconds that the simulation may take; a walk through a kernel of the book takes less than one."""
LARGEST_SIDE = 12
"""Sides of the matrices up to which cells can be told apart in a picture."""


class WalkedArray(TypedDict):
    """An array and the part of it that is drawn."""

    name: str
    space: str  # "global" or "shared"
    shape: list[int]
    rows: int  # drawn; a shared array of three dimensions stacks its planes
    columns: int


class WalkedStep(TypedDict):
    """One memory instruction of one block: entries of equal length, one per thread and element."""

    line: int
    window: int  # barriers the block had passed
    array: int  # index into the walk's arrays
    store: bool
    threads: list[int]
    rows: list[int]
    columns: list[int]
    values: list[float | None]  # None: nothing had written it
    fault: str  # why the launch fails here; empty where it does not


class Walk(TypedDict):
    """A launch to step through."""

    kernel: str
    title: str
    size: list[int]  # M, N, K
    grid: list[int]
    block: list[int]
    source: list[str]
    first_line: int  # number of the first line of ``source``
    a: list[float]
    b: list[float]
    arrays: list[WalkedArray]
    # Of a block that fails, the steps after the failing one are what would have followed.
    blocks: list[list[WalkedStep]]
    problems: list[str]  # what is wrong with the kernel


def walk(kernel: Kernel, size: Size, *, time_limit: float = _TIME_LIMIT) -> Walk:
    """Simulate a launch and return every access of it, block by block.

    A kernel that reads or writes where it must not is walked too: the first such step of a block
    says what is wrong with it.

    Of large tiles the part that stays zero is left out, and with it the threads that only work
    on that part. ``time_limit`` is in seconds.

    Raises:
        LabError: the size is too large to be drawn, or the kernel cannot be compiled here.
    """
    m, n, k = size
    refuse_large(size)
    shape = kernel.launch_shape(m, n, k)
    a = np.arange(1, m * k + 1, dtype=np.float32).reshape(m, k)
    b = np.arange(m * k + 1, m * k + k * n + 1, dtype=np.float32).reshape(k, n)
    result = simulate(
        kernel_ptx(kernel),
        ENTRY,
        shape.grid,
        shape.block,
        {
            "A": a,
            "B": b,
            "C": np.full((m, n), np.nan, np.float32),
            **{"M": m, "N": n, "K": k},
            **fresh_workspace(shape),
        },
        shape.shared_bytes,
        together=shape.workspace_bytes > 0,
        unwritten=["C"],
        trace=True,
        patience=patience(size),
        time_limit=time_limit,
    )
    assert result.trace is not None
    if not result.trace.complete:
        raise LabError(
            f"'{kernel.name}' makes too many accesses at {m}×{n}×{k} to step through. "
            "Take smaller tiles, or smaller matrices."
        )
    arrays = _arrays(result.trace, shared_shapes(kernel), k)
    start = body_start(kernel.source)
    return {
        "kernel": kernel.name,
        "title": kernel.title,
        "size": [m, n, k],
        "grid": list(shape.grid),
        "block": list(shape.block),
        "source": kernel.source.splitlines()[start:],
        "first_line": start + 1,
        "a": a.reshape(-1).tolist(),
        "b": b.reshape(-1).tolist(),
        "arrays": arrays,
        "blocks": [
            _block_steps(result.trace, arrays, block)
            for block in range(shape.grid[0] * shape.grid[1])
        ],
        "problems": _problems(result),
    }


def _problems(result: Result) -> list[str]:
    """Return what is wrong, without what only follows from a launch that has failed."""
    assert result.trace is not None
    failed = bool(result.trace.faults)
    return [str(hazard) for hazard in result.hazards if not (failed and hazard.kind == UNWRITTEN)]


def refuse_large(size: Size) -> None:
    """Refuse matrices whose cells could not be told apart in a picture.

    Raises:
        LabError: M, N or K is too large; the message names a size that works.
    """
    if max(size) > LARGEST_SIDE:
        m, n, k = size
        fits = "×".join(str(min(side, LARGEST_SIDE)) for side in size)
        raise LabError(
            f"{m}×{n}×{k} is too large to be drawn cell by cell. M, N and K go up to "
            f"{LARGEST_SIDE}: take {fits}."
        )


def _arrays(trace: Trace, shapes: dict[str, list[int]], k: int) -> list[WalkedArray]:
    columns, found = trace.columns, []
    for number, array in enumerate(trace.arrays):
        shape = shapes.get(array["name"], array["shape"])
        if len(shape) == 1:
            # Shared memory whose size the launch decides: rows of K elements.
            shape = [-(-shape[0] // k), k]
        width = shape[-1]
        height = int(np.prod(shape)) // width
        if array["space"] == "shared":
            # Zeros only fill up: they stand where A or B have nothing.
            used = (columns["array"] == number) & (columns["value"] != 0)
            elements = columns["element"][used]
            if len(elements):
                height = int((elements // width).max()) + 1
                width = int((elements % width).max()) + 1
        found.append(
            WalkedArray(
                name=array["name"],
                space=array["space"],
                shape=list(shape),
                rows=height,
                columns=width,
            )
        )
    return found


def _block_steps(trace: Trace, arrays: list[WalkedArray], block: int) -> list[WalkedStep]:
    here = trace.columns["block"] == block
    columns = {name: column[here] for name, column in trace.columns.items()}
    widths = np.array([array["shape"][-1] for array in arrays])[columns["array"]]
    row, column = columns["element"] // widths, columns["element"] % widths
    drawn = _drawn(columns, arrays, row, column)
    fault = next((fault for fault in trace.faults if fault.block == block), None)
    steps: list[WalkedStep] = []
    for number in dict.fromkeys(columns["step"].tolist()):
        if fault is not None and number >= fault.step:
            steps.append(_failing_step(fault, arrays))
            fault = None
        for array in range(len(arrays)):  # an asynchronous copy has two in one step
            chosen = drawn & (columns["step"] == number) & (columns["array"] == array)
            if not chosen.any():
                continue
            first = int(np.flatnonzero(chosen)[0])
            values = columns["value"][chosen].tolist()
            steps.append(
                {
                    "line": int(columns["line"][first]),
                    "window": int(columns["window"][first]),
                    "array": array,
                    "store": bool(columns["store"][first]),
                    "threads": columns["thread"][chosen].tolist(),
                    "rows": row[chosen].tolist(),
                    "columns": column[chosen].tolist(),
                    "values": [value if value == value else None for value in values],
                    "fault": "",
                }
            )
    return steps if fault is None else [*steps, _failing_step(fault, arrays)]


def _failing_step(fault: Fault, arrays: list[WalkedArray]) -> WalkedStep:
    array = arrays[fault.array]
    places = [divmod(element, array["shape"][-1]) for element in fault.elements]
    shown = [i for i, (r, c) in enumerate(places) if r < array["rows"] and c < array["columns"]]
    return {
        "line": fault.line,
        "window": fault.window,
        "array": fault.array,
        "store": fault.store,
        "threads": [fault.threads[i] for i in shown],
        "rows": [places[i][0] for i in shown],
        "columns": [places[i][1] for i in shown],
        "values": [None] * len(shown),
        "fault": fault.message,
    }


def _drawn(columns: dict[str, Any], arrays: list[WalkedArray], row: Any, column: Any) -> Any:
    """Which entries lie in the drawn part, and are made by threads that work on it."""
    height = np.array([array["rows"] for array in arrays])[columns["array"]]
    width = np.array([array["columns"] for array in arrays])[columns["array"]]
    drawn = (row < height) & (column < width)
    names = np.array([array["name"] for array in arrays])[columns["array"]]
    shared = np.array([array["space"] == "shared" for array in arrays])[columns["array"]]
    owners = np.unique(columns["thread"][(names == "C") & (columns["store"] == 1)])
    reads = shared & (columns["store"] == 0)
    return drawn & (~reads | np.isin(columns["thread"], owners))
