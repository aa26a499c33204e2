"""The command ``sgemm-lab count``: a launch counted on this machine's processor, line by line."""

import argparse
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sgemm_lab.cli.arguments import add_time_limit, macro, natural, pair, size
from sgemm_lab.cli.printing import blocks_done, print_json, print_table
from sgemm_lab.counting.any_file import ForeignKernel, count_foreign
from sgemm_lab.counting.foreign.opening import Pasted
from sgemm_lab.counting.of_kernel import TIME_LIMIT, Multiplication, count
from sgemm_lab.cuda.compiler import DEFAULT_TARGET, TARGETS
from sgemm_lab.cuda.launch import MAX_GRID_Y
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, LaunchShape, load_kernel, load_kernel_file, read_source
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
FILES = (".cu", ".cuh")
"""How the names of CUDA files end."""

MOST_THREADS = 2**24
"""Threads of a launch that take minutes here, however little each does."""

_LEAST_TEXT, _MOST_TEXT = 16, 70
"""Characters of a source line in the table."""


def add_count_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
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
    add_time_limit(parser, "the launch", TIME_LIMIT)
    other = parser.add_argument_group("a .cu file without the book's head comment")
    other.add_argument("--entry", metavar="NAME",
                       help="the kernel, where there are several; of a template with its values, "
                       "such as 'tiled<16>'")  # fmt: skip
    other.add_argument("-I", dest="include", type=Path, action="append", default=[],
                       metavar="FOLDER", help="where its headers lie; may be repeated")  # fmt: skip
    other.add_argument("--grid", type=pair, metavar="X,Y", help="blocks")
    other.add_argument("--block", type=pair, metavar="X,Y", help="threads of a block")
    other.add_argument("--define", type=macro, action="append", default=[], metavar="K=V",
                       help="set a macro; may be given more than once")  # fmt: skip
    other.add_argument("--shared-bytes", type=natural, default=0, metavar="B",
                       help="dynamic shared memory of a block")  # fmt: skip


def run_count(options: argparse.Namespace) -> int:
    """Count, print, and return the exit status: 1 where C is wrong or something was found.

    Raises:
        LabError: the kernel, the file or the launch is not right.
    """
    counted, source = _counted(options)
    if options.json:
        print_json(_to_json(counted))
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
        "time_limit": options.time_limit,
        "progress": blocks_done,
    }
    if _is_foreign(options):
        kernel = _foreign(options)
        return count_foreign(kernel, options.size, **settings), kernel.pasted.text
    book_kernel = _book_kernel(options.kernel)
    return count(book_kernel, options.size, **settings), book_kernel.source


def _is_foreign(options: argparse.Namespace) -> bool:
    launch = (options.entry, options.grid, options.block, options.define, options.include)
    return any(launch) or bool(options.shared_bytes) or options.kernel.endswith(".cuh")


def _foreign(options: argparse.Namespace) -> ForeignKernel:
    if not options.kernel.endswith(FILES):
        raise LabError(
            "Only a file of your own takes --entry, --grid and --block. A kernel of the book takes "
            "none of them; its constants are set by name: 'tiled:TILE=16'."
        )
    path = Path(options.kernel)
    pasted = Pasted(
        path.name,
        read_source(path),
        path.parent,
        options.entry,
        tuple(options.include),
        dict(options.define),
    )
    if options.grid is None or options.block is None:
        raise LabError(
            f"{path.name} does not say how it is launched: it needs --grid and --block, "
            "its blocks and the threads of a block."
        )
    shape = LaunchShape(options.grid, options.block, options.shared_bytes)
    _check_shape(shape)
    return ForeignKernel(pasted, shape)


def _check_shape(shape: LaunchShape) -> None:
    """Refuse a launch that no GPU takes, or that would never end here.

    Raises:
        LabError: the grid is too large.
    """
    blocks = shape.grid[0] * shape.grid[1]
    if shape.grid[0] >= 2**31 or shape.grid[1] > MAX_GRID_Y:
        raise LabError(
            f"No GPU takes a grid of {shape.grid[0]:,} × {shape.grid[1]:,} blocks: at most "
            f"{2**31 - 1:,} along x and {MAX_GRID_Y:,} along y."
        )
    if blocks * shape.threads > MOST_THREADS:
        raise LabError(
            f"{blocks:,} blocks of {shape.threads:,} threads are too many to run on a processor: "
            f"it takes minutes from {MOST_THREADS:,} threads on. Choose a smaller size and grid."
        )


def _book_kernel(name: str) -> Kernel:
    if not name.endswith(".cu"):
        return load_kernel(name)
    try:
        return load_kernel_file(Path(name))
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
        "warnings": [str(warning) for warning in counted.result.warnings],
        **counted.result.counts.to_json(),
    }


def _print_lines(counted: Multiplication, source: str) -> None:
    texts = source.splitlines()
    lines = counted.result.counts.lines
    used = [column for column in _COLUMNS if column[1](counted.result.counts.total)]
    rows = []
    main_file = next(iter(lines)).file if lines else ""
    for where, counts in lines.items():
        inside = where.file == main_file and 0 < where.line <= len(texts)
        text = texts[where.line - 1].strip() if inside else where.file
        numbers = [of(counts) for _, of in used]
        if any(numbers):
            rows.append([str(where.line), *(f"{number:,}" for number in numbers), text])
    heads = ["line", *(name for name, _ in used)]
    widths = [max(map(len, column)) for column in zip(heads, *(r[:-1] for r in rows), strict=True)]
    room = shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths)
    room = max(_LEAST_TEXT, min(_MOST_TEXT, room))
    for row in rows:
        row[-1] = row[-1] if len(row[-1]) <= room else row[-1][: room - 1] + "…"
    print_table([*heads, "source"], rows, range(len(heads)))


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
    for finding in (*counted.result.hazards, *counted.result.warnings):
        print(finding)
