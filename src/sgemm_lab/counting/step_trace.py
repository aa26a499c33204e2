"""A kernel at a toy size, step by step: data for the step-through.

A and B hold different numbers everywhere. So each value that a thread reads, multiplies or writes
identifies the element it is a copy of.
"""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from sgemm_lab.counting.barrier_removal import (
    Order,
    StepPositions,
    WithoutBarrier,
    launches_without_barrier,
)
from sgemm_lab.counting.entries import PRODUCT, Column, Entries, entries_of
from sgemm_lab.counting.kernel_counts import book_arguments
from sgemm_lab.counting.launch_limits import max_basic_blocks
from sgemm_lab.counting.register_names import RegisterNames, register_names
from sgemm_lab.counting.sentences import sentence
from sgemm_lab.counting.shared_arrays import shared_parts, shared_shapes
from sgemm_lab.counting.warp_roles import role_of, roles_in
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import ENTRY, Kernel, Size, body_start
from sgemm_lab.simulator import Result, Trace, simulate
from sgemm_lab.simulator.hazards import UNWRITTEN
from sgemm_lab.simulator.ptx import parse
from sgemm_lab.simulator.trace import Fault
from sgemm_lab.simulator.vector_clocks import synchronises_in_parts
from sgemm_lab.text import size_text

_BULK = "cp.async.bulk."
_TIME_LIMIT = 300.0
"""Seconds that the simulation may take; that of a kernel of the book takes less than one."""
LARGEST_SIDE = 12
"""M and N up to which cells can be told apart in a picture."""
LARGEST_SUM = 24
"""And K with the larger of the two: A stands left of C, and B above it."""


class TracedArray(TypedDict):
    """An array and the part of it that is drawn."""

    name: str
    space: str  # "global", "shared" or, for the sums of all threads together, "register"
    shape: list[int]
    rows: int  # drawn; a shared array of three dimensions stacks its planes
    columns: int


class TracedStep(TypedDict):
    """One instruction of one block: entries of equal length, one per thread and element.

    An access to memory, or a multiply-add, whose array is that of the sums: there ``rows`` and
    ``columns`` are those of C, and ``values`` are the sums after it.
    """

    line: int
    window: int  # barriers the block had passed; with roles, the window of time of these warps
    array: int  # index into the trace's arrays
    store: bool
    threads: list[int]
    rows: list[int]
    columns: list[int]
    values: list[float | None]  # None: nothing had written it
    a: list[float | None]  # factors of a multiply-add: the one of A
    b: list[float | None]  # and the one of B
    fault: str  # why the launch fails here; empty where it does not


class StepTrace(TypedDict):
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
    arrays: list[TracedArray]
    names: RegisterNames
    # Where warps synchronise in parts: the numbers of those that do the same, those first that are
    # the first to do something. A step is one of one role. Empty where all barriers are those of
    # whole blocks.
    roles: list[list[int]]
    # Of a block that fails, the steps after the failing one are what would have followed.
    blocks: list[list[TracedStep]]
    problems: list[str]  # what is wrong with the kernel
    # The launch without one of its barriers; nothing if it is wrong anyway, or has roles.
    left_out: list[WithoutBarrier]


def trace_steps(kernel: Kernel, size: Size, *, time_limit: float = _TIME_LIMIT) -> StepTrace:
    """Simulate a launch and return every access and product of it, block by block.

    Reads of shared memory and products use registers only, so the compiler mixes them. They are
    given as the source has them: for each k first what is read, then what is multiplied.

    A kernel that reads or writes where it must not is traced too: the first such step of a block
    says what is wrong with it.

    Of large tiles the part that stays zero is left out, and with it the threads that only work
    on that part. ``time_limit`` is in seconds.

    Where warps synchronise in parts, the steps are those of one window of time after the other,
    and in each those of one role after the other. A launch that goes wrong keeps the order in
    which it did: there another one may have other values.

    Raises:
        LabError: the size is too large to be drawn, the kernel cannot be compiled here, or it
            copies in bulk, which no thread does.
    """
    m, n, k = size
    refuse_large(size)
    shape = kernel.launch_shape(m, n, k)
    a = np.arange(1, m * k + 1, dtype=np.float32).reshape(m, k)
    b = np.arange(m * k + 1, m * k + k * n + 1, dtype=np.float32).reshape(k, n)
    ptx = kernel_ptx(kernel)
    parsed = parse(ptx)[ENTRY]
    if any(one.opcode.startswith(_BULK) for one in parsed.instructions):
        raise LabError(sentence("trace.bulk", kernel=kernel.name))

    def run(text: str, order: Order | None = None) -> Result:
        return simulate(
            text,
            ENTRY,
            shape.grid,
            shape.block,
            book_arguments(shape, a, b),
            shape.shared_bytes,
            shared_parts=shared_parts(kernel),
            cooperative=shape.workspace_bytes > 0,
            unwritten=["C"],
            trace=True,
            products=True,
            schedule=order or "lockstep",
            max_basic_blocks=max_basic_blocks(size),
            time_limit=time_limit,
        )

    result = run(ptx)
    trace = result.trace
    assert trace is not None
    if not trace.complete:
        raise LabError(sentence("trace.accesses", kernel=kernel.name, size=size_text(size)))
    start = body_start(kernel.source)
    source = kernel.source.splitlines()[start:]
    lines = trace.products["line"]
    product = source[int(lines[0]) - start - 1] if len(lines) else ""
    names = register_names(source, product)
    arrays = _arrays(trace, shared_shapes(kernel), size, names)
    problems = _problems(result)
    roles = roles_in(trace) if synchronises_in_parts(parsed) else []
    blocks = [
        _Block(entries_of(trace, number), arrays, size, roles, by_time=not problems)
        for number in range(shape.grid[0] * shape.grid[1])
    ]
    return {
        "kernel": kernel.name,
        "title": kernel.title,
        "size": [m, n, k],
        "grid": list(shape.grid),
        "block": list(shape.block),
        "source": source,
        "first_line": start + 1,
        "a": a.reshape(-1).tolist(),
        "b": b.reshape(-1).tolist(),
        "arrays": arrays,
        "names": names,
        "roles": roles,
        "blocks": [
            block.traced(next((one for one in trace.faults if one.block == number), None))
            for number, block in enumerate(blocks)
        ],
        "problems": problems,
        "left_out": []
        if problems or roles
        else launches_without_barrier(
            source,
            start + 1,
            ptx,
            shape,
            [block.places() for block in blocks],
            [array["name"] for array in arrays],
            run,
        ),
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
    m, n = (min(side, LARGEST_SIDE) for side in size[:2])
    fits = (m, n, min(size[2], LARGEST_SUM - max(m, n)))
    if fits != tuple(size):
        limits = {"most": LARGEST_SIDE, "together": LARGEST_SUM, "fits": size_text(fits)}
        raise LabError(sentence("trace.large", size=size_text(size), **limits))


def _arrays(
    trace: Trace, shapes: dict[str, list[int]], size: Size, names: RegisterNames
) -> list[TracedArray]:
    """Return the arrays of a trace, and behind them the sums."""
    m, n, k = size
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
            TracedArray(
                name=array["name"],
                space=array["space"],
                shape=list(shape),
                rows=height,
                columns=width,
            )
        )
    name = names["sum"].partition("[")[0]
    sums = TracedArray(name=name, space="register", shape=[m, n], rows=m, columns=n)
    return [*found, sums]


class _Block:
    """The steps of one block, as numbers of its entries."""

    def __init__(
        self,
        entries: Entries,
        arrays: list[TracedArray],
        size: Size,
        roles: Sequence[Sequence[int]],
        *,
        by_time: bool,
    ) -> None:
        self.entries, self.arrays = entries, arrays
        self.role = role_of(roles)
        made = entries["array"] == PRODUCT
        widths = np.array([array["shape"][-1] for array in arrays])[entries["array"]]
        self.row, self.column = entries["element"] // widths, entries["element"] % widths
        whole, row, column = _factors_in_order(entries, size)
        self.row[made], self.column[made] = row[made], column[made]
        drawn = _drawn(entries, arrays, self.row, self.column) & (~made | whole)
        steps = self._groups(drawn)
        if by_time:
            steps.sort(key=self._turn)
        self.steps = self._as_in_the_source(steps)

    def _groups(self, drawn: Column) -> list[Column]:
        """Part the drawn entries by instruction, window and array."""
        array, window = self.entries["array"], self.entries["window"]
        found = []
        for step in dict.fromkeys(self.entries["step"].tolist()):
            now = np.flatnonzero(drawn & (self.entries["step"] == step))
            # Where warps synchronise in parts, those of one instruction may be in several windows.
            for time in np.unique(window[now]).tolist():
                # An asynchronous copy has two arrays in one step.
                for number in (*range(len(self.arrays) - 1), PRODUCT):
                    found.append(now[(window[now] == time) & (array[now] == number)])
        return [those for those in found if len(those)]

    def _turn(self, those: Column) -> tuple[int, int]:
        """When a step is made, and by which role."""
        window, thread = (int(self.entries[name][those[0]]) for name in ("window", "thread"))
        return window, self.role.get(thread // WARP, 0)

    def _moves(self, those: Column) -> bool:
        """Whether a step only uses registers, and reads what no one writes meanwhile."""
        array, store = self.entries["array"][those[0]], self.entries["store"][those[0]]
        return bool(array == PRODUCT or (self.arrays[array]["space"] == "shared" and not store))

    def _as_in_the_source(self, steps: list[Column]) -> list[Column]:
        """Put what the compiler has mixed back in order: reads of one k, then its products."""
        ordered: list[Column] = []
        reads: list[Column] = []
        products: list[Column] = []
        added: set[tuple[int, int, int]] = set()  # sums that have their product of this k
        turn = None

        def write(*, last: bool) -> None:
            used = {
                value
                for those in products
                for name in ("a", "b")
                for value in self.entries[name][those].tolist()
            }
            later = [
                those
                for those in reads
                if not last and products and not used & set(self.entries["value"][those].tolist())
            ]
            now = [those for those in reads if not any(those is one for one in later)]
            now.sort(key=lambda those: int(self.entries["line"][those[0]]))
            ordered.extend([*now, *products])
            reads[:] = later
            products.clear()
            added.clear()

        for those in steps:
            if not self._moves(those) or self._turn(those) != turn:
                write(last=True)
            turn = self._turn(those)
            if not self._moves(those):
                ordered.append(those)
            elif self.entries["array"][those[0]] != PRODUCT:
                reads.append(those)
            else:
                names = zip(
                    self.entries["thread"][those].tolist(),
                    self.row[those].tolist(),
                    self.column[those].tolist(),
                    strict=True,
                )
                sums = set(names)
                if sums & added:
                    write(last=False)
                products.append(those)
                added |= sums
        write(last=True)
        return ordered

    def places(self) -> StepPositions:
        """Where the entries stand."""
        return StepPositions(self.entries, self.steps, [self._moves(those) for those in self.steps])

    def traced(self, fault: Fault | None) -> list[TracedStep]:
        """Return the steps, with the one at which the launch fails."""
        steps: list[TracedStep] = []
        for those in self.steps:
            if fault is not None and self.entries["step"][those[0]] >= fault.step:
                steps.append(_failing_step(fault, self.arrays))
                fault = None
            steps.append(self._traced_step(those))
        return steps if fault is None else [*steps, _failing_step(fault, self.arrays)]

    def _traced_step(self, those: Column) -> TracedStep:
        entries, first = self.entries, int(those[0])
        array = int(entries["array"][first])
        made = array == PRODUCT
        return {
            "line": int(entries["line"][first]),
            "window": int(entries["window"][first]),
            "array": len(self.arrays) - 1 if made else array,
            "store": bool(entries["store"][first]),
            "threads": entries["thread"][those].tolist(),
            "rows": self.row[those].tolist(),
            "columns": self.column[those].tolist(),
            "values": _plain(entries["value"][those]),
            "a": _plain(entries["a"][those]) if made else [],
            "b": _plain(entries["b"][those]) if made else [],
            "fault": "",
        }


def _plain(values: Column) -> list[float | None]:
    return [value if value == value else None for value in values.tolist()]


def _factors_in_order(entries: Entries, size: Size) -> tuple[Column, Column, Column]:
    """Put the factor of A first; return which products add to C, and to which row and column.

    The column ``swapped`` notes where the factor of B came first.
    Products with a zero from past an edge add nothing, and are left out.
    """
    m, n, k = size
    a, b = entries["a"], entries["b"]
    with np.errstate(invalid="ignore"):
        swapped = ((a > m * k) & (a <= m * k + k * n)) | ((b > 0) & (b <= m * k))
        left, right = np.where(swapped, b, a), np.where(swapped, a, b)
        whole = (left > 0) & (left <= m * k) & (right > m * k) & (right <= m * k + k * n)
    entries.columns["a"], entries.columns["b"] = left, right
    entries.columns["swapped"] = swapped
    in_a, in_b = (
        np.where(whole, values - first, 0).astype(np.int64)
        for values, first in ((left, 1), (right, m * k + 1))
    )
    whole &= in_a % k == in_b // n
    return whole, in_a // k, in_b % n


def _failing_step(fault: Fault, arrays: list[TracedArray]) -> TracedStep:
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
        "a": [],
        "b": [],
        "fault": fault.message,
    }


def _drawn(entries: Entries, arrays: list[TracedArray], row: Column, column: Column) -> Column:
    """Which entries lie in the drawn part, and are made by threads that work on it."""
    array = entries["array"]
    height = np.array([array["rows"] for array in arrays])[array]
    width = np.array([array["columns"] for array in arrays])[array]
    drawn = (row < height) & (column < width)
    names = np.array([array["name"] for array in arrays])[array]
    shared = np.array([array["space"] == "shared" for array in arrays])[array]
    owners = np.unique(entries["thread"][(names == "C") & (entries["store"] == 1)])
    reads = shared & (entries["store"] == 0)
    return np.asarray(drawn & (~reads | np.isin(entries["thread"], owners)))
