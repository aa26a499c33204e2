"""A CUDA file that is not the book's: compile it, find its kernel, and count what it asks.

Such a file has no head comment, so the launch is told by whoever calls. Its kernel multiplies
row-major matrices, C = A·B, with the arguments in one of two orders.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sgemm_lab.counting.of_kernel import (
    BOOK_ORDER,
    TIME_LIMIT,
    Multiplication,
    Order,
    Schedule,
    check_size,
    multiply_whole_numbers,
)
from sgemm_lab.cuda.compiler import DEFAULT_TARGET, source_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import LaunchShape, Size, read_source
from sgemm_lab.simulator.ptx import PtxKernel, parse

_ORDERS: dict[tuple[str, ...], Order] = {
    ("u64", "u64", "u64", "u32", "u32", "u32"): BOOK_ORDER,
    ("u32", "u32", "u32", "u64", "u64", "u64"): ("M", "N", "K", "A", "B", "C"),
}
"""The order of the arguments by the PTX types of the parameters: pointers have 64 bits."""

_ASSERT = "#define assert(x) ((void)0)"
_HEADERS = {
    "algorithm": "", "assert.h": _ASSERT, "cassert": _ASSERT, "cmath": "", "cstdint": "",
    "cstdio": "", "cstdlib": "", "cublas_v2.h": "", "cuda.h": "", "cuda_runtime_api.h": "",
    "cuda_runtime.h": "typedef unsigned int uint;", "device_launch_parameters.h": "",
    "iostream": "", "math.h": "", "stdint.h": "", "stdio.h": "", "stdlib.h": "", "vector": "",
}  # fmt: skip
"""Headers that a file names for its host code. The compiler's own knowledge takes their place."""


@dataclass(frozen=True)
class ForeignKernel:
    """A kernel in any CUDA file, and how to launch it."""

    path: Path
    entry: str
    """The kernel's name, or a part of it: C++ names are longer in PTX than in the source."""
    shape: LaunchShape
    defines: Mapping[str, str] = field(default_factory=dict)
    """Macros to set, name to value."""


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
    options = [f"-D{name}={value}" for name, value in kernel.defines.items()]
    ptx = source_ptx(
        read_source(kernel.path),
        kernel.path.name,
        target,
        options=[*options, f"-I{kernel.path.resolve().parent}"],
        headers=_HEADERS,
    )
    if ".entry" not in ptx:
        raise LabError(
            f"{kernel.path.name} has no kernel. It needs a __global__ function; "
            "a template needs an instantiation."
        )
    entry = find_entry(parse(ptx), kernel.entry, kernel.path.name)
    return multiply_whole_numbers(
        ptx,
        entry.name,
        kernel.shape,
        size,
        order=argument_order(entry),
        target=target,
        check_hazards=check_hazards,
        schedule=schedule,
        time_limit=time_limit,
        progress=progress,
    )


def find_entry(kernels: Mapping[str, PtxKernel], name: str, file_name: str) -> PtxKernel:
    """Return the kernel called ``name``, or else the only one whose name contains it.

    Raises:
        LabError: there is none, or there are several; the message lists them.
    """
    same = [found for found in kernels if name in (found, plain_name(found))]
    part = [found for found in kernels if name in found]
    chosen = same or part
    if len(chosen) == 1:
        return kernels[chosen[0]]
    names = ", ".join(_said(found) for found in chosen or kernels)
    if chosen:
        raise LabError(f"{file_name} has several kernels that '{name}' can mean: {names}.")
    raise LabError(f"{file_name} has no kernel called '{name}'. It has: {names}.")


def plain_name(mangled: str) -> str:
    """Return the name in the source of a C++ function: "tiled" for "_Z5tilediiiPKfS0_Pf".

    Names inside namespaces keep the last part; what cannot be taken apart stays as it is.
    """
    match = re.match(r"_ZN?", mangled)
    rest = mangled[match.end() :] if match else ""
    name = mangled
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        name, rest = rest[length.end() : end], rest[end:]
    return name


def argument_order(kernel: PtxKernel) -> Order:
    """Return the names of a kernel's arguments in its order, told by their types.

    Raises:
        LabError: it takes other arguments.
    """
    types = tuple(re.sub("^[bs]", "u", parameter.type) for parameter in kernel.parameters)
    if types not in _ORDERS:
        raise LabError(
            f"The kernel '{_said(kernel.name)}' takes other arguments ({', '.join(types)}). "
            "It must take (int M, int N, int K, const float* A, const float* B, float* C) or "
            "(const float* A, const float* B, float* C, int M, int N, int K)."
        )
    return _ORDERS[types]


def _said(mangled: str) -> str:
    plain = plain_name(mangled)
    return plain if plain == mangled else f"{plain} ({mangled})"
