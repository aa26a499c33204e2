"""A CUDA file that is not the book's: compile it, find its kernel, and count what it asks.

Such a file has no head comment, so the launch is told by whoever calls. Its kernel multiplies
row-major matrices, C = A·B, with the arguments in one of two orders.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from sgemm_lab.counting.foreign.opening import Pasted, open_file
from sgemm_lab.counting.of_kernel import (
    BOOK_ORDER,
    TIME_LIMIT,
    Multiplication,
    Order,
    Schedule,
    check_size,
    multiply_whole_numbers,
)
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import LaunchShape, Size
from sgemm_lab.simulator.ptx import PtxKernel

_ORDERS: dict[tuple[str, ...], Order] = {
    ("u64", "u64", "u64", "u32", "u32", "u32"): BOOK_ORDER,
    ("u32", "u32", "u32", "u64", "u64", "u64"): ("M", "N", "K", "A", "B", "C"),
}
"""The order of the arguments by the PTX types of the parameters: pointers have 64 bits."""


@dataclass(frozen=True)
class ForeignKernel:
    """A kernel in any CUDA file, and how to launch it."""

    pasted: Pasted
    shape: LaunchShape


def count_foreign(
    kernel: ForeignKernel,
    size: Size,
    *,
    target: str = DEFAULT_TARGET,
    check_hazards: bool = True,
    schedule: Schedule = "lockstep",
    time_limit: float = TIME_LIMIT,
    progress: Callable[[int, int], None] | None = None,
) -> Multiplication:
    """Simulate one launch on small whole numbers, whose product float32 holds exactly.

    Raises:
        CompileError: the file does not compile.
        LabError: the file cannot be read, has no such kernel, or the kernel takes other arguments.
    """
    check_size(size)
    opened = open_file(kernel.pasted, target)
    return multiply_whole_numbers(
        opened.ptx,
        opened.compiled.name,
        kernel.shape,
        size,
        order=argument_order(opened.compiled, opened.name),
        target=target,
        check_hazards=check_hazards,
        schedule=schedule,
        time_limit=time_limit,
        progress=progress,
    )


def argument_order(kernel: PtxKernel, name: str) -> Order:
    """Return the names of a kernel's arguments in its order, told by their types.

    Raises:
        LabError: it takes other arguments.
    """
    types = tuple(re.sub("^[bs]", "u", parameter.type) for parameter in kernel.parameters)
    if types not in _ORDERS:
        raise LabError(
            f"The kernel '{name}' takes other arguments ({', '.join(types)}). "
            "It must take (int M, int N, int K, const float* A, const float* B, float* C) or "
            "(const float* A, const float* B, float* C, int M, int N, int K)."
        )
    return _ORDERS[types]
