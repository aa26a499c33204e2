"""The commands ``tune`` and ``shapes``: find the fastest kernels, and evaluate the dispatcher."""

import argparse
import sys
from typing import Any

from sgemm_lab.cli.arguments import add_out, add_sizes, seconds
from sgemm_lab.cli.printing import print_json, print_progress, print_status, print_table
from sgemm_lab.files import check_writable, own_records
from sgemm_lab.gemm.dispatch.bench import GpuBench
from sgemm_lab.gemm.dispatch.candidates import candidates
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.gemm.dispatch.search import search
from sgemm_lab.gemm.dispatch.shapes import FORTY_SHAPES, SEARCHED
from sgemm_lab.gemm.dispatch.summary import FortyShapes, forty
from sgemm_lab.measuring.interleaved import CUBLAS_CALL, Budget
from sgemm_lab.measuring.recorder import current_device, new_run, take_record
from sgemm_lab.records.dispatch_table import TABLES, Search, Table, TableFile
from sgemm_lab.records.store import load_record, load_records
from sgemm_lab.text import number, percent, size_text, tenths_percent

_ROOM = 2**22
"""Disk space for a table in bytes, with a large margin."""


def add_tune_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``tune``."""
    add_sizes(parser)
    parser.add_argument(
        "--time-limit", type=seconds, metavar="SECONDS", help="stop after this; a later run resumes"
    )
    parser.add_argument(
        "--everything", action="store_true",
        help="measure also ruled-out candidates, to evaluate the bound",
    )  # fmt: skip
    add_out(parser)


def run_tune(options: argparse.Namespace) -> int:
    """Search on this machine's GPU; return 130 if the search is incomplete."""
    device, kernels = current_device(), candidates()
    folder = options.out or own_records()
    check_writable(folder / TABLES.folder, _ROOM)
    run = new_run()
    store = TableFile(
        folder,
        device,
        Search(
            run.date, run.driver, run.cuda, run.nvrtc, run.cupy, run.package, CUBLAS_CALL,
            complete=False, points=(),
        ),
    )  # fmt: skip
    print_progress(f"{len(kernels)} candidates are compiled")
    bench = GpuBench(device, kernels)
    sizes = options.sizes or SEARCHED
    stopped = False
    try:
        summary = search(
            kernels, sizes, bench, store,
            everything=options.everything, seconds=options.time_limit,
            progress=print_progress if sys.stderr.isatty() else print_status,
        )  # fmt: skip
    except KeyboardInterrupt:
        stopped = True
    print_progress("")
    if stopped:
        print_status(
            f"The search was stopped. Its points are in {store.path}; run it again to continue."
        )
        return 130
    for fault in summary.faults:
        print_status(fault)
    if options.json:
        print_json({"file": str(store.path), **vars(summary)})
    else:
        print(f"{summary.text} The table is in {store.path}.")
        _print_winners(store.table, sizes)
    return 0 if summary.complete else 130


def _print_winners(table: Table, sizes: Any) -> None:
    winners = [points[0] for size in sizes if (points := table.at(size))]
    print_table(
        ["M×N×K", "fastest", "GFLOP/s", "of cuBLAS"],
        [(size_text(w.size), w.kernel, number(w.gflops), tenths_percent(w.share)) for w in winners],
        range(2, 4),
    )


def add_shapes_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``shapes``."""
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="show the records; no measurement",
    )
    parser.add_argument(
        "--seconds", type=seconds, default=Budget().seconds, help="per shape, for each of the two"
    )
    add_out(parser)


def run_shapes(options: argparse.Namespace) -> int:
    """Measure ``matmul`` at the forty shapes, write the run, and print its statistics.

    Return 130 after an interruption.
    """
    status = 0
    if options.recorded:
        record = load_records(options.out)[0]
    else:
        path, run = take_record(
            [],
            options.out or own_records(),
            sizes=FORTY_SHAPES,
            micro=False,
            budget=Budget(seconds=options.seconds),
            matmul=dispatcher(0),
            progress=print_status,
        )
        record, status = load_record(path), 0 if run.complete else 130
    found = forty(record)
    if options.json:
        print_json(
            {
                "gpu": record.gpu.name,
                "geometric_mean": found.geometric_mean,
                "least": found.least.share,
                "shapes": len(found.scores),
                "missing": [list(size) for size in found.missing],
                "shares": [
                    {"m": s.m, "n": s.n, "k": s.k, "share": s.share, "kernel": s.picked}
                    for s in found.scores
                ],
            }
        )
    else:
        _print_forty(found)
    return status


def _print_forty(found: FortyShapes) -> None:
    print_table(
        ["M×N×K", "kernel", "GFLOP/s", "of cuBLAS"],
        [
            (size_text(s.size), s.picked or "", number(s.gflops), tenths_percent(s.share))
            for s in found.scores
        ],
        range(2, 4),
    )
    missing = f" {len(found.missing)} shapes are not measured." if found.missing else ""
    print(
        f"{len(found.scores)} shapes on {found.least.gpu}: geometric mean "
        f"{percent(found.geometric_mean)} of cuBLAS, least {percent(found.least.share)} at "
        f"{size_text(found.least.size)}.{missing}"
    )
