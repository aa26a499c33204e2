"""Arguments for external CUDA files: kernel and launch."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgemm_lab.cli.arguments import MOST_DIGITS, macro, natural, refusal, seconds
from sgemm_lab.errors import LabError
from sgemm_lab.files import read_source
from sgemm_lab.kernel import has_head_comment, terms

if TYPE_CHECKING:
    from sgemm_lab.external_cuda import ExternalKernel

EXTERNAL_GROUP = "any CUDA file, without the book's head comment"
"""Title of these arguments in the help."""

SEVERITIES = ("error", "warning", "information")
"""Severities of findings, from the gravest on."""

FILES = (".cu", ".cuh")


def add_external_arguments(group: Any) -> None:
    """Declare the arguments for an external file."""
    group.add_argument("--entry", metavar="NAME",
                       help="the kernel, where there are several; of a template with its values, "
                       "such as 'tiled<16>'")  # fmt: skip
    group.add_argument("--grid", type=shape, metavar="X,Y,Z",
                       help="blocks: numbers, or such as 'ceil(N/32),ceil(M/32)'")  # fmt: skip
    group.add_argument("--block", type=shape, metavar="X,Y,Z", help="threads of a block")
    group.add_argument("--args", metavar="ARGUMENTS",
                       help="what the kernel is given, in its order, such as "
                       "'M N K 1.0 A B 0.0 C' or 'x:in:4096 y:out:4096 n=4096'; "
                       "default: inferred from names and types")  # fmt: skip
    group.add_argument("-I", dest="include", type=Path, action="append", default=[],
                       metavar="FOLDER", help="where its headers lie; may be repeated")  # fmt: skip
    group.add_argument("--define", type=macro, action="append", default=[], metavar="K=V",
                       help="set a macro; may be given more than once")  # fmt: skip
    group.add_argument("--shared-bytes", type=natural, default=0, metavar="B",
                       help="dynamic shared memory of a block")  # fmt: skip


def add_expectations(group: Any) -> None:
    """Declare what arrays should hold, and which findings fail."""
    group.add_argument("--fail-on", choices=(*SEVERITIES, "never"), default="error",
                       help="the exit status is 1 for such findings and worse; a warning rests on "
                       "an assumed launch; default: error")  # fmt: skip
    group.add_argument("--expect", action="append", default=[], metavar="ARRAY=VALUE",
                       help="what an array should hold: 'y=2*x+y', or 'y=right.npy'")  # fmt: skip
    group.add_argument("--tolerance", type=seconds, default=None, metavar="T",
                       help="how far it may be off, times the larger of 1 and the right number; "
                       "default: 1e-5 of a float")  # fmt: skip


def fails(severity: str, fail_on: str) -> bool:
    """Return whether a finding of a severity fails the command."""
    return fail_on != "never" and SEVERITIES.index(severity) <= SEVERITIES.index(fail_on)


def shape(text: str) -> tuple[str, ...]:
    """Parse "X,Y,Z", each a number or an expression."""
    parts = tuple(terms(text))
    if not 1 <= len(parts) <= 3 or not all(parts) or re.search(rf"\d{{{MOST_DIGITS + 1}}}", text):
        raise refusal(text, "is not a shape. Write X,Y, such as 8,16.")
    return parts


def is_external(options: argparse.Namespace, name: str) -> bool:
    """Whether a file is launched by the options instead of its head comment."""
    expect = getattr(options, "expect", [])
    given = (options.entry, options.grid, options.block, options.args, options.define, expect)
    if any(given) or options.include or options.shared_bytes or name.endswith(".cuh"):
        return True
    return name.endswith(".cu") and not has_head_comment(read_source(Path(name)))


def external_kernel(options: argparse.Namespace, name: str) -> "ExternalKernel":
    """Return the kernel that the options describe."""
    from sgemm_lab.external_cuda import read_kernel

    if not name.endswith(FILES):
        if Path(name).suffix and Path(name).is_file():
            raise LabError(f"'{name}' is not a CUDA file: its name must end in .cu or .cuh.")
        raise LabError(
            "--entry, --grid, --block and --args apply to your own files only. Set constants of a "
            "book kernel by name: 'tiled:TILE=16'."
        )
    return read_kernel(
        name,
        entry=options.entry,
        grid=options.grid or (),
        block=options.block or (),
        arguments=options.args,
        shared_bytes=options.shared_bytes,
        include=options.include,
        defines=dict(options.define),
    )
