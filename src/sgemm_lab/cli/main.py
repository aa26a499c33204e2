"""The command ``sgemm-lab``. It needs no package besides NumPy and CuPy.

Only the module of the called command is imported, which keeps short commands fast.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sgemm_lab import __version__
from sgemm_lab.cli.printing import print_status, safe_output
from sgemm_lab.errors import LabError

Run = Callable[[argparse.Namespace], int]
Declare = Callable[[argparse.ArgumentParser], None]


class Command(NamedTuple):
    """A subcommand."""

    text: str
    """Description in the help."""
    load: Callable[[], tuple[Declare, Run]]
    """Import the functions that declare its arguments and run it."""


def _check() -> tuple[Declare, Run]:
    from sgemm_lab.cli import check

    return check.add_check_arguments, check.run_check


def _count() -> tuple[Declare, Run]:
    from sgemm_lab.cli import count

    return count.add_count_arguments, count.run_count


def _doctor() -> tuple[Declare, Run]:
    from sgemm_lab.cli import doctor

    return lambda _: None, doctor.run_doctor


def _kernels() -> tuple[Declare, Run]:
    from sgemm_lab.cli import listing

    return listing.add_kernels_arguments, listing.run_kernels


def _record() -> tuple[Declare, Run]:
    from sgemm_lab.cli import measure

    return measure.add_record_arguments, measure.run_record


def _counters() -> tuple[Declare, Run]:
    from sgemm_lab.cli import measure

    return measure.add_counters_arguments, measure.run_counters


def _errors() -> tuple[Declare, Run]:
    from sgemm_lab.cli import measure

    return measure.add_errors_arguments, measure.run_errors


def _add() -> tuple[Declare, Run]:
    from sgemm_lab.cli import measure

    return measure.add_add_arguments, measure.run_add


def _launch() -> tuple[Declare, Run]:
    from sgemm_lab.cli import measure

    return measure.add_launch_arguments, measure.run_launch


def _scoreboard() -> tuple[Declare, Run]:
    from sgemm_lab.cli import measure

    return measure.add_scoreboard_arguments, measure.run_scoreboard


def _tune() -> tuple[Declare, Run]:
    from sgemm_lab.cli import tune

    return tune.add_tune_arguments, tune.run_tune


def _shapes() -> tuple[Declare, Run]:
    from sgemm_lab.cli import shapes

    return shapes.add_shapes_arguments, shapes.run_shapes


def _others() -> tuple[Declare, Run]:
    from sgemm_lab.cli import others

    return others.add_others_arguments, others.run_others


def _export() -> tuple[Declare, Run]:
    from sgemm_lab.cli import export

    return export.add_export_arguments, export.run_export


def _multi_gpu() -> tuple[Declare, Run]:
    from sgemm_lab.cli import multi_gpu
    from sgemm_lab.cli.arguments import run_part

    return multi_gpu.add_multi_gpu_arguments, run_part


def _strassen() -> tuple[Declare, Run]:
    from sgemm_lab.cli import strassen
    from sgemm_lab.cli.arguments import run_part

    return strassen.add_strassen_arguments, run_part


COMMANDS = {
    "doctor": Command("Show what this machine can do: compile, run, measure.", _doctor),
    "kernels": Command("List the kernels of the book with registers and memory.", _kernels),
    "check": Command("Check kernels against float64, on a GPU if there is one.", _check),
    "record": Command(
        "Measure on this machine's GPU and write a record. The name 'matmul' is the dispatcher.",
        _record,
    ),
    "tune": Command("Measure the candidates of matmul on this GPU, and fit its choice.", _tune),
    "shapes": Command("Measure matmul at forty fixed shapes, or at drawn ones.", _shapes),
    "others": Command("Measure FP32 products of other libraries beside matmul.", _others),
    "counters": Command("Read the GPU's hardware counters with ncu.", _counters),
    "errors": Command("Measure the errors of kernels by input distribution.", _errors),
    "add": Command("Add the runs of record files, such as those of another machine.", _add),
    "count": Command("Count a kernel's memory requests, without a GPU.", _count),
    "export": Command("Write a kernel as one CUDA file that nvcc compiles.", _export),
    "launch": Command("Launch each kernel once, for a profiler.", _launch),
    "multi-gpu": Command("Multiply on several GPUs, or record their performance.", _multi_gpu),
    "strassen": Command("Multiply by Strassen's algorithm, or record its performance.", _strassen),
    "scoreboard": Command("Show the measurements: GFLOP/s, share of cuBLAS.", _scoreboard),
}
"""The commands by name, in the order of the help."""
RENAMED = {"several": "multi-gpu"}
"""Old names of commands; they work, and the help omits them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0 success, 1 a failed check, 2 invalid input."""
    status = 0
    with safe_output() as ended:
        try:
            given = sys.argv[1:] if arguments is None else list(arguments)
            called = next((argument for argument in given if not argument.startswith("-")), "")
            if called in RENAMED:
                given[given.index(called)] = called = RENAMED[called]
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
            declare, run = command.load()
            declare(sub)
            sub.set_defaults(run=run)
    return parser
