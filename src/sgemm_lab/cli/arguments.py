"""Arguments of the command line: sizes, shapes, counts, kernels."""

import argparse
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sgemm_lab.catalogue import load_kernel, load_kernel_file, load_kernels
from sgemm_lab.cli.printing import print_status
from sgemm_lab.cuda.arrays import MAX_DIMENSION
from sgemm_lab.cuda.compiler import suits
from sgemm_lab.cuda.launch import device_target
from sgemm_lab.kernel import Kernel, Size

MOST_DIGITS = 18
"""Maximum number of digits of an integer; Python refuses more than 4,300."""


def add_shared(parser: argparse.ArgumentParser, *names: str) -> None:
    """Declare arguments that several commands have, by their names in ``_SHARED``."""
    for name in names:
        flag, settings = _SHARED[name]
        parser.add_argument(flag, **settings)


def add_time_limit(parser: argparse.ArgumentParser, what: str, default: float | None) -> None:
    """Declare a time limit; without a default the limits of the checks apply."""
    shown = "60 simulated, 20 for a kernel of your own on a GPU" if default is None else default
    parser.add_argument(
        "--time-limit", type=seconds, default=default, metavar="SECONDS",
        help=f"how long {what} may take; default: {shown}",
    )  # fmt: skip


def chosen(names: Sequence[str]) -> list[Kernel]:
    """Return the kernels with these names or files; by default all of the book."""
    return [named_kernel(name) for name in names] or list(load_kernels(variants=True))


def for_this_gpu(names: Sequence[str]) -> list[Kernel]:
    """Return the named kernels; without names those that this GPU supports.

    The unsupported ones are listed on stderr.
    """
    kernels = chosen(names)
    target = device_target()
    if names:
        return kernels
    for kernel in kernels:
        if not suits(kernel, target):
            print_status(
                f"{kernel.name} is left out: it needs {kernel.needs}, and this GPU is {target}."
            )
    return [kernel for kernel in kernels if suits(kernel, target)]


def named_kernel(name: str) -> Kernel:
    """Return the kernel with this name, or in this file."""
    return load_kernel_file(Path(name)) if name.endswith(".cu") else load_kernel(name)


def whole(text: str, least: int = 0) -> int | None:
    """Parse an integer; None if the text is not an integer, too small or too long."""
    text = text.strip()
    if not text.isdecimal() or len(text) > MOST_DIGITS or int(text) < least:
        return None
    return int(text)


def size(text: str) -> Size:
    """Parse "M,N,K", or one number for all three."""
    parts = text.split(",")
    if len(parts) == 1:
        parts *= 3
    if len(parts) != 3 or not all(re.fullmatch(r"\s*0*[1-9]\d*\s*", p, re.A) for p in parts):
        raise refusal(text, "is not a size. Write M,N,K, such as 1000,999,64.")
    m, n, k = (whole(part) or math.inf for part in parts)
    if max(m, n, k) > MAX_DIMENSION:
        raise refusal(text, f"is too large: at most {MAX_DIMENSION:,} each.")
    return int(m), int(n), int(k)


def natural(text: str) -> int:
    """Parse an integer of 0 or more."""
    number = whole(text)
    if number is None:
        raise refusal(text, "is not a whole number of 0 or more.")
    return number


def seconds(text: str) -> float:
    """Parse a time in seconds."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise refusal(text, "is not a time. Write seconds, such as 0.4.")
    return found


def macro(text: str) -> tuple[str, str]:
    """Parse "NAME=VALUE"; the default value is 1."""
    name, _, value = text.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise refusal(text, "is not a macro. Write K=V, such as TILE=16.")
    return name, value or "1"


def refusal(text: str, why: str) -> argparse.ArgumentTypeError:
    """Return the exception for an invalid text, which is truncated."""
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    return argparse.ArgumentTypeError(f"'{shown}' {why}")


_SHARED: dict[str, tuple[str, dict[str, Any]]] = {
    "kernels": ("kernels", {
        "nargs": "*", "metavar": "KERNEL",
        "help": "a name such as 'tiled' or 'tiled:TILE=16', or a .cu file; default: all",
    }),
    "sizes": ("--size", {
        "type": size, "action": "append", "dest": "sizes", "metavar": "M,N,K",
        "help": "a size, or one number for a square; may be given more than once",
    }),
    "out": ("--out", {
        "type": Path,
        "help": "folder of record files; default: the book's, or ./records where it is installed",
    }),
    "cublas": ("--cublas", {"action": "store_true", "help": "cuBLAS in FP32, no kernel"}),
    "seed": ("--seed", {"type": natural, "default": 0, "help": "of the drawn shapes"}),
}  # fmt: skip
