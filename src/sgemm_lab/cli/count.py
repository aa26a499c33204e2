"""The command ``sgemm-lab count``: a launch counted on this machine's processor, line by line."""

import argparse
import json
import math
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sgemm_lab.counting.any_file import ForeignKernel, count_foreign, read_source
from sgemm_lab.counting.of_kernel import Multiplication, count
from sgemm_lab.cuda.compiler import DEFAULT_TARGET, TARGETS
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, LaunchShape, Size, load_kernel, parse_kernel
from sgemm_lab.simulator import LineCounts

DESCRIPTION = """Run a kernel on this machine's processor, without a GPU, and count its memory
requests as the hardware counts them. A and B hold whole numbers from -8 to 8, whose product float32
holds exactly, and max_abs_error is the largest difference of C from that product, computed in
float64: 0 for a right kernel, null in JSON where an element is not a number."""

_COLUMNS: tuple[tuple[str, Callable[[LineCounts], int]], ...] = (
    ("global requests", lambda c: c.global_load_requests + c.global_store_requests),
    ("sectors", lambda c: c.global_load_sectors + c.global_store_sectors),
    ("shared requests", lambda c: c.shared_load_requests + c.shared_store_requests),
    ("wavefronts", lambda c: c.shared_load_wavefronts + c.shared_store_wavefronts),
    ("copies", lambda c: c.async_copy_requests),
    ("FLOP", lambda c: c.flop),
    ("barriers", lambda c: c.barriers),
)
_LEAST_TEXT, _MOST_TEXT = 16, 70
"""Characters of a source line in the table."""


def add_count_arguments(parser: argparse.ArgumentParser, size: Callable[[str], Size]) -> None:
    """Declare the command's arguments. ``size`` reads "M,N,K"."""
    parser.description = DESCRIPTION
    parser.add_argument("kernel", metavar="KERNEL", help="a name such as 'tiled', or a .cu file")
    parser.add_argument(
        "--size", type=size, default=(256, 256, 256), metavar="M,N,K",
        help="a size, or one number for a square; default: 256",
    )  # fmt: skip
    parser.add_argument(
        "--arch", choices=TARGETS, default=DEFAULT_TARGET, help="GPU to compile for"
    )
    parser.add_argument(
        "--hazards", action=argparse.BooleanOptionalAction, default=True,
        help="look for races in shared memory, which costs some time",
    )  # fmt: skip
    parser.add_argument(
        "--schedule", choices=("lockstep", "warps"), default="lockstep",
        help="run a block's threads side by side, or warp after warp (slow)",
    )  # fmt: skip
    other = parser.add_argument_group("a .cu file without the book's head comment")
    other.add_argument("--entry", metavar="NAME", help="the kernel's name, or a part of it")
    other.add_argument("--grid", type=_pair, metavar="X,Y", help="blocks")
    other.add_argument("--block", type=_pair, metavar="X,Y", help="threads of a block")
    other.add_argument("--define", type=_define, action="append", default=[], metavar="K=V",
                       help="set a macro; may be given more than once")  # fmt: skip
    other.add_argument("--shared-bytes", type=_bytes, default=0, metavar="B",
                       help="dynamic shared memory of a block")  # fmt: skip


def run_count(options: argparse.Namespace) -> int:
    """Count, print, and return the exit status: 1 where C is wrong or something was found.

    Raises:
        LabError: the kernel, the file or the launch is not right.
    """
    counted, source = _counted(options)
    if options.json:
        print(json.dumps(_to_json(counted), ensure_ascii=False))
    else:
        _print_lines(counted, source)
        _print_totals(counted)
    return 1 if counted.wrong or counted.result.hazards else 0


def _counted(options: argparse.Namespace) -> tuple[Multiplication, str]:
    """The launch, and the source text that its lines are of."""
    settings: dict[str, Any] = {
        "target": options.arch,
        "check_hazards": options.hazards,
        "schedule": options.schedule,
        "progress": Progress(),
    }
    if _is_foreign(options):
        kernel = _foreign(options)
        source = read_source(kernel.path)
        return count_foreign(kernel, options.size, **settings), source
    book_kernel = _book_kernel(options.kernel)
    return count(book_kernel, options.size, **settings), book_kernel.source


def _is_foreign(options: argparse.Namespace) -> bool:
    launch = (options.entry, options.grid, options.block)
    return any(launch) or bool(options.define) or bool(options.shared_bytes)


def _foreign(options: argparse.Namespace) -> ForeignKernel:
    needed = {"--entry": options.entry, "--grid": options.grid, "--block": options.block}
    missing = [name for name, value in needed.items() if value is None]
    if missing or not options.kernel.endswith(".cu"):
        raise LabError(
            "A .cu file without the book's head comment needs --entry, --grid and --block. "
            "A kernel of the book takes none of them; its constants are set by name: "
            "'tiled:TILE=16'."
        )
    shape = LaunchShape(options.grid, options.block, options.shared_bytes)
    return ForeignKernel(Path(options.kernel), options.entry, shape, dict(options.define))


def _book_kernel(name: str) -> Kernel:
    if not name.endswith(".cu"):
        return load_kernel(name)
    source = read_source(Path(name))
    try:
        return parse_kernel(Path(name).stem, source)
    except LabError as error:
        raise LabError(
            f"{error} Or say how to launch it: --entry NAME --grid X,Y --block X,Y."
        ) from None


def _to_json(counted: Multiplication) -> dict[str, Any]:
    finite = math.isfinite(counted.max_abs_error)
    return {
        "size": list(counted.size),
        "max_abs_error": counted.max_abs_error if finite else None,
        "wrong_elements": counted.wrong,
        "hazards": [str(hazard) for hazard in counted.result.hazards],
        **counted.result.counts.to_json(),
    }


def _print_lines(counted: Multiplication, source: str) -> None:
    texts = source.splitlines()
    lines = counted.result.counts.lines
    used = [column for column in _COLUMNS if column[1](counted.result.counts.total)]
    rows = [["line", *(name for name, _ in used), "source"]]
    main_file = next(iter(lines)).file if lines else ""
    for where, counts in lines.items():
        inside = where.file == main_file and 0 < where.line <= len(texts)
        text = texts[where.line - 1].strip() if inside else where.file
        numbers = [of(counts) for _, of in used]
        if any(numbers):
            rows.append([str(where.line), *(f"{number:,}" for number in numbers), text])
    widths = [max(len(row[i]) for row in rows) for i in range(len(used) + 1)]
    room = shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths)
    room = max(_LEAST_TEXT, min(_MOST_TEXT, room))
    for *cells, text in rows:
        shown = text if len(text) <= room else text[: room - 1] + "…"
        aligned = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        print("  ".join([*aligned, shown]))


def _print_totals(counted: Multiplication) -> None:
    total = counted.result.counts.total.to_json()
    print()
    for name, number in total.items():
        if number and not name.endswith("_as_written"):
            written = total.get(f"{name}_as_written", number)
            note = f"  (as written in the PTX: {written:,})" if written != number else ""
            print(f"{name.replace('_', ' '):28}{number:>16,}{note}")
    for level, intensity in counted.result.counts.intensity().items():
        print(f"{f'FLOP per byte, {level}':28}{intensity:>16.3f}")
    m, n, k = counted.size
    print()
    if counted.wrong:
        print(f"C is WRONG: {counted.wrong:,} of {m * n:,} elements differ from the exact product.")
    else:
        print(f"C is right: all {m * n:,} elements of {m}×{n}×{k} equal the exact product.")
    for hazard in counted.result.hazards:
        print(hazard)


class Progress:
    """Rewrites one line of a terminal; silent elsewhere."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Say how many blocks are done."""
        if self._shown:
            end = "\r\033[K" if done == total else ""
            print(f"\r\033[K{done:,} of {total:,} blocks{end}", end="", file=sys.stderr, flush=True)


def _pair(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) > 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' is no shape. Write X,Y, such as 8,16.")
    x, y = (*map(int, parts), 1)[:2]
    return x, y


def _define(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise argparse.ArgumentTypeError(f"'{text}' sets no macro. Write K=V, such as TILE=16.")
    return name, value or "1"


def _bytes(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of 0 or more.")
    return int(text)
