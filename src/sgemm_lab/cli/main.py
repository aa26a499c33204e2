"""The command ``sgemm-lab``. It needs no package besides NumPy and CuPy.

Only the module of the called command is imported, which keeps short commands fast.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from sgemm_lab import __version__
from sgemm_lab.cli.printing import print_status, safe_output
from sgemm_lab.errors import LabError


class Command(NamedTuple):
    """A subcommand."""

    text: str
    module: str
    """Name of the module whose ``run_…`` runs it."""
    shared: tuple[str, ...] = ()
    """Arguments that it shares with others; ``add_…_arguments``, if there is one, adds its own."""


COMMANDS = {
    "doctor": Command("Show what this machine can do: compile, run, measure.", "doctor"),
    "kernels": Command("List the kernels of the book with registers and memory.", "listing"),
    "check": Command(
        "Check kernels against float64, on a GPU if there is one.", "check", ("kernels", "sizes")
    ),
    "record": Command(
        "Measure on this machine's GPU and write a record. The name 'matmul' is the dispatcher.",
        "measure",
        ("kernels", "sizes", "out"),
    ),
    "tune": Command(
        "Measure the candidates of matmul on this GPU, and fit its choice.", "tune", ("out",)
    ),
    "shapes": Command("Measure matmul at shapes drawn at random.", "shapes", ("seed", "out")),
    "other-libraries": Command(
        "Measure FP32 products of other libraries and of matmul.",
        "other_libraries",
        ("seed", "out"),
    ),
    "counters": Command(
        "Read the GPU's hardware counters with ncu.",
        "measure",
        ("kernels", "sizes", "out", "cublas"),
    ),
    "errors": Command(
        "Measure the errors of kernels by input distribution.", "measure", ("kernels", "out")
    ),
    "add": Command(
        "Add the runs of record files, such as those of another machine.", "measure", ("out",)
    ),
    "count": Command("Count a kernel's memory requests, without a GPU.", "count"),
    "export": Command("Write a kernel as one CUDA file that nvcc compiles.", "export"),
    "launch": Command(
        "Launch each kernel once, for a profiler.", "measure", ("kernels", "sizes", "cublas")
    ),
    "strassen": Command("Measure products by Strassen's algorithm.", "strassen", ("out",)),
    "scoreboard": Command("Show the measurements: GFLOP/s, share of cuBLAS.", "measure"),
}
"""The commands by name, in the order of the help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0 success, 1 a failed check, 2 invalid input."""
    status = 0
    if arguments is None:
        # Otherwise a simulation would go on in its process when this one is told to end.
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with safe_output() as ended:
        try:
            given = sys.argv[1:] if arguments is None else list(arguments)
            called = next((argument for argument in given if not argument.startswith("-")), "")
            options = _parser(called).parse_args(given)
            status = options.run(options)
        except LabError as error:
            print_status(f"sgemm-lab: {error}")
            status = 2
        except KeyboardInterrupt:
            print("\nsgemm-lab: stopped.", file=sys.stderr)
            status = 130
    return ended(status)


def _parser(called: str) -> argparse.ArgumentParser:
    """Return the parser; only the called command has its arguments."""
    parser = argparse.ArgumentParser(
        prog="sgemm-lab", description="The kernels of the book: list, check, measure, compare."
    )
    parser.add_argument("--version", action="version", version=f"sgemm-lab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.text, description=command.text)
        sub.add_argument("--json", action="store_true", help="print JSON for a program to read")
        if name == called:
            from sgemm_lab.cli.arguments import add_shared

            add_shared(sub, *command.shared)
            module, function = (
                import_module(f"sgemm_lab.cli.{command.module}"),
                name.replace("-", "_"),
            )
            sub.set_defaults(run=getattr(module, f"run_{function}"))
            getattr(module, f"add_{function}_arguments", lambda _: None)(sub)
    return parser
