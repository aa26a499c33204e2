"""Run a kernel of the book on this machine's processor, and count what it asks of memory.

The kernel's PTX comes from NVRTC. Where NVRTC is not installed, the PTX of the book's own kernels,
shipped with the package, takes its place.
"""

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from sgemm_lab.counting.launch_limits import TIME_LIMIT, Matrix, check_size, max_basic_blocks
from sgemm_lab.counting.shared_arrays import shared_parts
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.kernel import ENTRY, Kernel, LaunchShape, Size
from sgemm_lab.simulator import Result, simulate
from sgemm_lab.simulator.simulation import Options
from sgemm_lab.simulator.worker import Progress

WORKSPACE = "workspace"
"""The seventh argument, of the kernels that have it."""

COUNTS = (
    "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
    "shared_load_requests", "shared_load_wavefronts",
    "shared_store_requests", "shared_store_wavefronts", "ffma_thread_instructions",
)  # fmt: skip
"""The counts that a GPU's own counters have too, under the same names."""


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
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> CountedLaunch:
    """Simulate one launch of C = A·B on small whole numbers, whose product float32 holds exactly.

    Raises:
        LabError: the size is too large to simulate, or the kernel cannot be compiled here.
    """
    shape = kernel.launch_shape(*size)
    check_size(size)
    options.setdefault("shared_parts", shared_parts(kernel))
    ptx = kernel_ptx(kernel, target)
    made = multiply_whole_numbers(ptx, shape, size, progress=progress, **options)
    return CountedLaunch(made.size, made.result, made.wrong, made.max_abs_error, kernel)


def multiply_whole_numbers(
    ptx: str,
    shape: LaunchShape,
    size: Size,
    *,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Multiplication:
    """Simulate one launch on whole numbers from -8 to 8, and compare C with the exact product.

    Above K of 262,144 the numbers are -1, 0 and 1.

    Raises:
        LabError: the launch does not fit the kernel or a GPU.
    """
    m, n, k = size
    random = np.random.default_rng(seed=m + 3 * n + 7 * k)
    most = 8 if 64 * k <= 2**24 else 1
    a = random.integers(-most, most + 1, (m, k)).astype(np.float32)
    b = random.integers(-most, most + 1, (k, n)).astype(np.float32)
    result = launch(ptx, shape, a, b, progress=progress, **options)
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
    shape: LaunchShape,
    a: Matrix,
    b: Matrix,
    *,
    workspace: Matrix | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Result:
    """Simulate one launch of ``sgemm`` on given matrices: A is M×K, B is K×N, both float32.

    ``workspace`` is what an earlier launch left there; without one it is filled with zeros.

    Raises:
        LabError: the launch does not fit the kernel or a GPU.
    """
    arguments = book_arguments(shape, a, b)
    if workspace is not None:
        arguments[WORKSPACE] = workspace
    options.setdefault("time_limit", TIME_LIMIT)
    options.setdefault("cooperative", shape.workspace_bytes > 0)
    options.setdefault("unwritten", ["C"])
    options.setdefault("max_basic_blocks", max_basic_blocks((len(a), b.shape[1], len(b))))
    return simulate(
        ptx,
        ENTRY,
        shape.grid,
        shape.block,
        arguments,
        shape.shared_bytes,
        progress=progress,
        **options,
    )
