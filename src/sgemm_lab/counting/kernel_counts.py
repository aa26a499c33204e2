"""Run a kernel of the book on this machine's processor, and count what it asks of memory.

The kernel's PTX comes from NVRTC. Where NVRTC is not installed, the PTX of the book's own kernels,
shipped with the package, takes its place.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np

from sgemm_lab.counting.launch_limits import (
    TIME_LIMIT,
    Matrix,
    Schedule,
    check_size,
    max_basic_blocks,
)
from sgemm_lab.counting.shared_arrays import SharedPart, shared_parts
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.kernel import ENTRY, Kernel, LaunchShape, Size
from sgemm_lab.simulator import Result, simulate

Order = tuple[str, ...]

BOOK_ORDER: Order = ("A", "B", "C", "M", "N", "K")
"""The arguments of the book's kernels, in order."""

WORKSPACE = "workspace"
"""The seventh argument, of the kernels that have it."""

COUNTS = (
    "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
    "shared_load_requests", "shared_load_wavefronts",
    "shared_store_requests", "shared_store_wavefronts", "ffma_thread_instructions",
)  # fmt: skip
"""The counts that a GPU's own counters have too, under the same names."""


class SimulationOptions(TypedDict, total=False):
    """How a launch is simulated, where it is not as usual; see ``simulate``."""

    check_hazards: bool
    watch_races_in: Collection[str]
    trace: bool
    schedule: Schedule
    time_limit: float
    """Seconds; ``TIME_LIMIT`` if nothing is said."""
    progress: Callable[[int, int], None] | None
    shared_parts: Sequence[SharedPart]
    """The arrays inside dynamic shared memory, for messages and traces."""


@dataclass(frozen=True)
class Multiplication:
    """A simulated launch that multiplied two matrices of small whole numbers."""

    size: Size
    result: Result
    wrong: int
    """Elements of C that differ from the exact product."""
    max_abs_error: float
    """The largest difference from it; infinite where an element is not a number."""


@dataclass(frozen=True)
class CountedLaunch(Multiplication):
    """A simulated launch of a kernel at one size."""

    kernel: Kernel


def count(
    kernel: Kernel,
    size: Size,
    *,
    target: str = DEFAULT_TARGET,
    **options: Unpack[SimulationOptions],
) -> CountedLaunch:
    """Simulate one launch of C = A·B on small whole numbers, whose product float32 holds exactly.

    Raises:
        LabError: the size is too large to simulate, or the kernel cannot be compiled here.
    """
    shape = kernel.launch_shape(*size)
    check_size(size)
    options.setdefault("shared_parts", shared_parts(kernel))
    made = multiply_whole_numbers(
        kernel_ptx(kernel, target),
        ENTRY,
        shape,
        size,
        target=target,
        **options,
    )
    return CountedLaunch(made.size, made.result, made.wrong, made.max_abs_error, kernel)


def multiply_whole_numbers(
    ptx: str,
    entry: str,
    shape: LaunchShape,
    size: Size,
    *,
    order: Order = BOOK_ORDER,
    target: str = DEFAULT_TARGET,
    **options: Unpack[SimulationOptions],
) -> Multiplication:
    """Simulate one launch on whole numbers from -8 to 8, and compare C with the exact product.

    ``order`` names the kernel's arguments. Above K of 262,144 the numbers are -1, 0 and 1.

    Raises:
        LabError: the launch does not fit the kernel or a GPU of this target.
    """
    m, n, k = size
    random = np.random.default_rng(seed=m + 3 * n + 7 * k)
    most = 8 if 64 * k <= 2**24 else 1
    a = random.integers(-most, most + 1, (m, k)).astype(np.float32)
    b = random.integers(-most, most + 1, (k, n)).astype(np.float32)
    result = launch(ptx, entry, shape, a, b, order=order, target=target, **options)
    error = np.abs(result.arrays["C"].reshape(m, n) - a.astype(np.float64) @ b.astype(np.float64))
    wrong = int((~(error == 0)).sum())
    return Multiplication(size, result, wrong, float(np.nan_to_num(error, nan=np.inf).max()))


def book_arguments(shape: LaunchShape, a: Matrix, b: Matrix) -> dict[str, Any]:
    """Return all arguments of a kernel by name, for A of M×K and B of K×N.

    C is filled with NaN, which stays where no thread writes, and a workspace with zeros.
    """
    (m, k), n = a.shape, b.shape[1]
    c = np.full((m, n), np.nan, np.float32)
    if shape.input_bytes == 2:
        a, b = a.astype(np.float16), b.astype(np.float16)
    arguments = {"A": a, "B": b, "C": c, "M": m, "N": n, "K": k}
    if shape.workspace_bytes:
        arguments[WORKSPACE] = np.zeros(-(-shape.workspace_bytes // 4), np.uint32)
    return arguments | {one.name: one for one in shape.maps}


def launch(
    ptx: str,
    entry: str,
    shape: LaunchShape,
    a: Matrix,
    b: Matrix,
    *,
    order: Order = BOOK_ORDER,
    target: str = DEFAULT_TARGET,
    count_requests: bool = True,
    workspace: Matrix | None = None,
    **options: Unpack[SimulationOptions],
) -> Result:
    """Simulate one launch on given matrices: A is M×K, B is K×N, both float32.

    ``workspace`` is what an earlier launch left there; without one it is filled with zeros.

    Raises:
        LabError: the launch does not fit the kernel or a GPU of this target.
    """
    arguments = book_arguments(shape, a, b)
    if workspace is not None:
        arguments[WORKSPACE] = workspace
    options.setdefault("time_limit", TIME_LIMIT)
    last = (*((WORKSPACE,) if WORKSPACE in arguments else ()), *(one.name for one in shape.maps))
    return simulate(
        ptx,
        entry,
        shape.grid,
        shape.block,
        {name: arguments[name] for name in (*order, *last)},
        shape.shared_bytes,
        cooperative=shape.workspace_bytes > 0,
        unwritten=["C"],
        count_requests=count_requests,
        max_basic_blocks=max_basic_blocks((len(a), b.shape[1], len(b))),
        **options,
    )
