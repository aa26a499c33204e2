"""Launches of the book's kernels, and of kernels that do something wrong."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from golden_launch import Case
from simulator_kernels import gemm_inputs

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.counting.kernel_counts import book_arguments
from sgemm_lab.counting.launch_limits import max_basic_blocks
from sgemm_lab.counting.shared_arrays import shared_parts
from sgemm_lab.cuda.compiler import compile_to_ptx
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.kernel import ENTRY, Kernel, Size, parse_kernel

WRONG = sorted((Path(__file__).parents[1] / "wrong_kernels").glob("*.cu"))
RAGGED: Size = (37, 22, 13)
ALIGNED: Size = (64, 64, 16)
SMS = 6
"""Kernels that have blocks for all SMs share out as much over few, with less to simulate."""
SCHEDULES = ("lockstep", "warps")
PARTED = ("tiled", "split", "producers")
TOYS = ("tiled:TILE=2", "sliding_window:TILE=2,BK=8", "float4:TILE=4,BK=4")
TRACED = {"trace": True, "products": True, "requests_of": (0, 0)}


def at(size: Size) -> str:
    return "×".join(map(str, size))


def of_kernel(kernel: Kernel, ptx: str, size: Size, *, sms: int = SMS, **options: Any) -> Case:
    """A launch of a kernel on numbers from -0.5 to 0.5, with C unwritten."""
    shape, drawn = kernel.launch_shape(*size, sms=sms), gemm_inputs(*size)
    said = "".join(f" {value}" for value in options.values() if isinstance(value, str))
    return Case(
        f"{kernel.name} {at(size)}{said}",
        ptx,
        ENTRY,
        shape.grid,
        shape.block,
        book_arguments(shape, drawn["A"], drawn["B"]),
        shape.shared_bytes,
        {
            "cooperative": shape.workspace_bytes > 0,
            "unwritten": ["C"],
            "shared_parts": list(shared_parts(kernel)),
            "max_basic_blocks": max_basic_blocks(size),
            **options,
        },
    )


def of_book(names: Iterable[str], size: Size, **options: Any) -> Iterator[Case]:
    for kernel in map(load_kernel, names):
        yield of_kernel(kernel, kernel_ptx(kernel), size, **options)


def of_every_kernel(size: Size) -> Iterator[Case]:
    return of_book((kernel.name for kernel in load_kernels()), size)


def of_orders() -> Iterator[Case]:
    """Warps and threads that run one after the other."""
    yield from of_book(PARTED, (9, 7, 5), schedule="warps")
    yield from of_book(TOYS, (9, 7, 5), schedule="threads")


def of_traces() -> Iterator[Case]:
    return of_book(("naive", "tiled", "float4", "stages"), (7, 9, 10), **TRACED)


def of_wrong_kernels() -> Iterator[Case]:
    for path in WRONG:
        kernel = parse_kernel(path.stem, path.read_text(encoding="utf-8"))
        ptx = compile_to_ptx(kernel)
        usual = {"max_basic_blocks": 100_000}
        yield of_kernel(kernel, ptx, (33, 34, 35), **usual, schedule="lockstep")
        for schedule in SCHEDULES:
            yield of_kernel(kernel, ptx, (5, 6, 7), **usual, schedule=schedule, trace=True)
