"""The command ``strassen record``: products by Strassen's algorithm, measured."""

import argparse
from collections.abc import Sequence

from sgemm_lab.cli.arguments import size
from sgemm_lab.cli.printing import print_json, print_status, print_table
from sgemm_lab.errors import LabError
from sgemm_lab.files import own_records
from sgemm_lab.gemm.strassen.measure import SIZES, take_strassen_record
from sgemm_lab.records.strassen import SizeTimes
from sgemm_lab.text import bytes_moved_text, plural, size_text


def add_strassen_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``strassen record``."""
    parser.add_argument("record", choices=["record"], help="measure on this machine's GPU")
    parser.add_argument(
        "--measure", type=size, action="append", metavar="M,N,K",
        help="measure this size of the record's; may be given again; default: all",
    )  # fmt: skip
    parser.add_argument(
        "--only-inside", action="store_true",
        help="measure only with the kernel on tensor cores for all leaves",
    )  # fmt: skip


def run_strassen(options: argparse.Namespace) -> int:
    """Measure and print; return the exit status."""
    sizes = options.measure or tuple(SIZES)
    for chosen in sizes:
        if chosen not in SIZES:
            raise LabError(
                f"The record has no size {size_text(chosen)}. It has "
                f"{', '.join(map(size_text, SIZES))}."
            )
    path, run = take_strassen_record(
        options.out or own_records(), sizes, progress=print_status, only_inside=options.only_inside
    )
    if options.json:
        print_json({"file": str(path), "date": run.date, "complete": run.complete})
    else:
        if run.times:
            print(f"Wrote {plural(len(run.times), 'size')} to {path}.")
            _print_times(run.times)
        for inside in run.inside:
            print(f"With {inside.kernel} inside:")
            _print_times(inside.times)
    return 0 if run.complete else 130


def _print_times(measured: Sequence[SizeTimes]) -> None:
    print_table(
        ["M×N×K", "levels", "schedules", "TFLOP/s", "of cuBLAS", "workspace"],
        [
            (
                size_text(times.size), way.levels, "+".join(way.schedules),
                f"{times.tflops(way.seconds):.2f}", f"{times.share(way):.3f}",
                bytes_moved_text(way.workspace_bytes),
            )
            for times in measured
            for way in times.ways
        ],
        range(3, 6),
    )  # fmt: skip
