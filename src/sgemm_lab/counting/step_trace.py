"""A kernel at a toy size, step by step: data for the step-through, as ``step_trace.ts`` makes it.

A and B hold different numbers everywhere. So each value that a thread reads, multiplies or writes
identifies the element it is a copy of.
"""

from typing import Literal, TypedDict, cast

from sgemm_lab.counting import sentence
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.simulator import worker
from sgemm_lab.text import size_text

_TIME_LIMIT = 300.0
"""Seconds that the simulation may take; that of a kernel of the book takes less than one."""
LARGEST_SIDE = 12
"""M and N up to which cells can be told apart in a picture."""
LARGEST_SUM = 24
"""And K with the larger of the two: A stands left of C, and B above it."""


class Fetched(TypedDict):
    """A variable that holds what comes from global memory on its way to shared memory."""

    name: str
    vector: bool  # a float4: its elements are .x .y .z .w


class RegisterNames(TypedDict):
    """Names as the source has them, with its own indices: "acc[i][j]", "fragA[i]", "a"."""

    sum: str
    a: str
    b: str
    fetched_a: Fetched | None  # None where the value has no name
    fetched_b: Fetched | None


class ReorderedStep(TypedDict):
    """A part of a step of the trace, made at another time."""

    of: int  # the step with all barriers
    window: int  # barriers the block had passed
    first: int  # of the entries of that step
    count: int
    # Entries that are not what they should be: number among these, value, and the two factors.
    wrong: list[list[float | None]]


class WithoutBarrier(TypedDict):
    """The launch without the barrier of one line."""

    line: int
    order: Literal["warps", "threads"]  # what runs on alone to its next barrier
    problem: str  # the most relevant race that the simulator finds; empty if it finds none
    blocks: list[list[ReorderedStep]]


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
    refuse_large(size)
    given = {
        "kernel": kernel.name,
        "source": kernel.source,
        "ptx": kernel_ptx(kernel),
        "size": size,
        "timeLimit": time_limit,
    }
    return cast(StepTrace, worker.ask("trace_steps", given))


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
