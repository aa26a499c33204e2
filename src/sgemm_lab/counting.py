"""Run a kernel of the book on this machine's processor, and count what it asks of memory.

The kernel's PTX comes from NVRTC. Where NVRTC is not installed, the PTX of the book's own kernels,
shipped with the package, takes its place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sgemm_lab.compiler import DEFAULT_TARGET, compile_kernel, load_nvrtc
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import ENTRY, Kernel, load_kernels
from sgemm_lab.simulator import Result, simulate

Size = tuple[int, int, int]

SHIPPED = Path(__file__).parent / "ptx"

_LARGEST_PRODUCT = 1024**3
"""Above this M·N·K a simulated launch takes minutes."""


@dataclass(frozen=True)
class CountedLaunch:
    """A simulated launch of a kernel at one size."""

    kernel: Kernel
    size: Size
    result: Result
    wrong: int
    """Elements of C that differ from the exact product of the whole numbers multiplied."""
    max_abs_error: float


def count(
    kernel: Kernel,
    size: Size,
    *,
    target: str = DEFAULT_TARGET,
    check_hazards: bool = False,
    trace: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> CountedLaunch:
    """Simulate one launch of C = A·B on small whole numbers, whose product float32 holds exactly.

    Raises:
        LabError: the size is too large to simulate, or the kernel cannot be compiled here.
    """
    m, n, k = size
    shape = kernel.launch_shape(m, n, k)
    if m * n * k > _LARGEST_PRODUCT:
        raise LabError(
            f"{m}×{n}×{k} is too large to count on a processor: it would take minutes. "
            "Choose sizes whose product is at most 1024·1024·1024."
        )
    random = np.random.default_rng(seed=m + 3 * n + 7 * k)
    a = random.integers(-8, 9, (m, k)).astype(np.float32)
    b = random.integers(-8, 9, (k, n)).astype(np.float32)
    result = simulate(
        kernel_ptx(kernel, target),
        ENTRY,
        shape.grid,
        shape.block,
        {"A": a, "B": b, "C": np.full((m, n), np.nan, np.float32), "M": m, "N": n, "K": k},
        shape.shared_bytes,
        unwritten=["C"],
        check_hazards=check_hazards,
        trace=trace,
        progress=progress,
    )
    c = result.arrays["C"].reshape(m, n)
    error = np.abs(c - a.astype(np.float64) @ b.astype(np.float64))
    wrong = ~(error == 0)
    return CountedLaunch(
        kernel, size, result, int(wrong.sum()), float(np.nan_to_num(error, nan=np.inf).max())
    )


def kernel_ptx(kernel: Kernel, target: str = DEFAULT_TARGET) -> str:
    """Return a kernel's PTX: compiled here, or else the shipped text of a book kernel.

    Raises:
        LabError: NVRTC is missing and the kernel is not one of the book's own.
        CompileError: the kernel does not compile.
    """
    try:
        load_nvrtc()
    except LabError as missing:
        if target == DEFAULT_TARGET and kernel in load_kernels(variants=True):
            return shipped_file(kernel).read_text(encoding="utf-8")
        raise LabError(
            f"{missing} Only the book's own kernels, unchanged and for {DEFAULT_TARGET}, "
            "can be counted without it."
        ) from None
    return compile_kernel(kernel, target).ptx


def shipped_file(kernel: Kernel) -> Path:
    """Return where the PTX of a book kernel is kept in the package."""
    return SHIPPED / f"{kernel.name.replace(':', '-').replace('=', '').replace(',', '-')}.ptx"
