"""The commands that measure on a GPU and write records, and the command that shows them."""

import argparse
import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.cli.arguments import chosen, for_this_gpu, seconds
from sgemm_lab.cli.printing import print_json, print_status, print_table
from sgemm_lab.cuda.launch import multiply, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import own_records
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.gemm.dispatch.shapes import SQUARES
from sgemm_lab.gemm.strassen.measure import products_by_levels
from sgemm_lab.measuring.interleaved import Budget, cublas
from sgemm_lab.measuring.recorder import (
    COUNTER_SIZES,
    RAGGED_SIZES,
    SQUARE_SIZES,
    record_counters,
    record_errors,
    take_record,
)
from sgemm_lab.measuring.sizes import TIME_LIMIT
from sgemm_lab.models.record_checks import findings
from sgemm_lab.models.scoreboard import Line, lines
from sgemm_lab.records.gpu_record import MATMUL, Score
from sgemm_lab.records.store import RECORDS, load_record, load_records, not_yet_measured
from sgemm_lab.records.strassen import STRASSEN, STRASSEN_RECORDS
from sgemm_lab.text import plural, tenths_percent


def add_record_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``record``."""
    parser.add_argument(
        "--seconds", type=seconds, default=Budget().seconds, help="per kernel, size"
    )
    parser.add_argument("--no-micro", action="store_true", help="skip the microbenchmarks")
    parser.add_argument(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="total time of the timings; slower products are skipped. "
        f"Default: {TIME_LIMIT:.0f}, or no limit with --size",
    )


def add_add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``add``."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a record file")


def add_scoreboard_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``scoreboard``."""
    parser.add_argument("--gpu", help="only GPUs whose name contains this")
    parser.add_argument("--records", type=Path, help="folder of record files; default: the book's")


def run_record(options: argparse.Namespace) -> int:
    """Measure, write and print; return 130 after an interruption."""
    names = [name for name in options.kernels if name != MATMUL]
    with_matmul = MATMUL in options.kernels
    only_matmul = with_matmul and not names
    kernels = [] if only_matmul else for_this_gpu(names)
    squares = SQUARES if only_matmul else SQUARE_SIZES
    limit = math.inf if options.sizes else TIME_LIMIT
    path, run = take_record(
        kernels,
        options.out or own_records(),
        sizes=options.sizes or (*squares, *RAGGED_SIZES),
        micro=not (options.no_micro or only_matmul),
        budget=Budget(seconds=options.seconds),
        matmul=dispatcher(0) if with_matmul else None,
        time_limit=limit if options.time_limit is None else options.time_limit,
        progress=print_status,
    )
    ended = "complete" if run.complete else "stopped early"
    if options.json:
        summary = {"file": str(path), "date": run.date, "complete": run.complete}
        print_json({**summary, "measurements": len(run.measurements)})
    else:
        print(f"Wrote {len(run.measurements)} measurements to {path} (run {ended}).")
        found = load_record(path).scores
        taken = {(kernel.name, kernel.fingerprint) for kernel in kernels}
        _print_scores(
            s
            for s in found
            if s.date == run.date and (s.picked or (s.kernel, s.fingerprint) in taken)
        )
    return 0 if run.complete else 130


def run_counters(options: argparse.Namespace) -> int:
    """Read and write the hardware counters; return 130 after an interruption."""
    path, run = record_counters(
        [] if options.cublas else for_this_gpu(options.kernels),
        options.out or own_records(),
        options.sizes or COUNTER_SIZES,
        progress=print_status,
        with_cublas=options.cublas,
    )
    if options.json:
        print_json([asdict(counters) for counters in run.counters])
    else:
        print(f"Wrote the counters of {plural(len(run.counters), 'launch', 'launches')} to {path}.")
    return 0 if run.complete else 130


def run_errors(options: argparse.Namespace) -> int:
    """Measure and write errors; return 130 after an interruption."""
    names = [name for name in options.kernels if name != STRASSEN]
    only_strassen = STRASSEN in options.kernels and not names
    kernels = [] if only_strassen else for_this_gpu(names)
    others = products_by_levels() if STRASSEN in options.kernels or not names else {}
    path, run = record_errors(kernels, options.out or own_records(), print_status, others)
    if options.json:
        print_json([asdict(found) for found in run.accuracies or ()])
    else:
        found = run.accuracies or ()
        products = len({one.kernel for one in found})
        print(f"Wrote {plural(len(found), 'error')} of {plural(products, 'product')} to {path}.")
    return 0 if run.complete else 130


def run_add(options: argparse.Namespace) -> int:
    """Add the runs of files to the records, and report implausible values."""
    records = [load_record(file) for file in options.files]
    for record in records:
        for found in findings(record):
            print_status(found.sentence)
    folder = options.out or own_records()
    paths = [RECORDS.add_run(folder, record.gpu, run) for record in records for run in record.runs]
    if options.json:
        print_json([str(path) for path in dict.fromkeys(paths)])
    else:
        for path in dict.fromkeys(paths):
            print(f"{path} holds {plural(len(load_record(path).runs), 'run')}.")
        print("Run 'make book' to show the new runs in the book.")
    return 0


def run_launch(options: argparse.Namespace) -> int:
    """Launch each kernel once at each size."""
    kernels = [] if options.cublas else chosen(options.kernels)
    cupy = require_gpu()
    import numpy as np

    # Separate allocations of the exact size, so that a memory checker finds accesses outside them.
    with cupy.cuda.using_allocator(None):
        # Generated on the host, so that a profiler sees no other kernels.
        random = np.random.default_rng(seed=1)
        for m, n, k in options.sizes or SQUARE_SIZES[2:3]:
            a, b = (cupy.asarray(random.random(s, dtype="float32")) for s in ((m, k), (k, n)))
            for kernel in kernels:
                multiply(kernel, a, b)
            if options.cublas:
                cublas()(a, b, cupy.empty((m, n), "float32"))
        cupy.cuda.get_current_stream().synchronize()
    return 0


def run_scoreboard(options: argparse.Namespace) -> int:
    """Print the scoreboard."""
    records = load_records(options.records)
    if not records:
        raise LabError(
            f"There is no record in {options.records or own_records()}. "
            "Take one with 'sgemm-lab record' on a GPU."
        )
    strassen = STRASSEN_RECORDS.load_all(options.records)
    found = lines(records, strassen, options.gpu or "", bounds=options.json)
    if not found and options.gpu:
        raise LabError(f"No record has a GPU whose name contains '{options.gpu}'.")
    if options.json:
        print_json([asdict(line) for line in found])
    else:
        _print_scores(found)
    known = {line.kernel for line in found}
    waiting = [k.name for k in load_kernels(variants=True) if k.name not in known]
    if waiting:
        print_status(not_yet_measured(waiting))
    return 0


def _print_scores(found: Iterable[Score | Line]) -> None:
    rows = [
        (
            s.kernel,
            s.gpu,
            f"{s.m}×{s.n}×{s.k}",
            f"{s.gflops:,.0f}",
            "" if s.share is None else tenths_percent(s.share),
            s.date[:10],
        )
        for s in found
    ]
    print_table(["kernel", "GPU", "M×N×K", "GFLOP/s", "of cuBLAS", "date"], rows)
