"""The command ``tune``: measure all candidates at many shapes, and fit the dispatcher's model."""

import argparse

from sgemm_lab.cli.arguments import natural, seconds
from sgemm_lab.cli.printing import ProgressBar, print_json, print_status, print_table
from sgemm_lab.cuda.launch import current_device
from sgemm_lab.files import check_writable, own_records
from sgemm_lab.gemm.dispatch.bench import GpuBench
from sgemm_lab.gemm.dispatch.candidates import candidates
from sgemm_lab.gemm.dispatch.tuning import measure_shapes, table_of, tuning_shapes
from sgemm_lab.measuring.recorder import new_run
from sgemm_lab.records.dispatch_table import TABLES, Search, Table
from sgemm_lab.text import number, percent, plural, size_text, tenths_percent

_SECONDS = 330.0
"""Time for the measurements; with the compilation a search takes less than seven minutes."""

_SEED = 1


def add_tune_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``tune``."""
    parser.add_argument(
        "--time-limit", type=seconds, default=_SECONDS, metavar="SECONDS",
        help=f"measure no longer than this (default: {_SECONDS:g})",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=natural, default=_SEED, help="of the drawn shapes (default: 1)"
    )


def run_tune(options: argparse.Namespace) -> int:
    """Search on this machine's GPU, and write its table; return 130 after Ctrl-C."""
    device, kernels = current_device(), candidates()
    folder = options.out or own_records()
    check_writable(folder / TABLES.folder)
    run = new_run()
    about = Search(**run.environment(), complete=False, points=())
    print_status(f"{len(kernels)} candidates are compiled")
    bench, sizes = GpuBench(device, kernels), tuning_shapes(options.seed)
    bar = ProgressBar(len(sizes), options.time_limit, "shapes")
    try:
        measured = measure_shapes(bench, sizes, options.time_limit, bar.show)
    except KeyboardInterrupt:
        bar.end()
        print_status("The search was stopped. Nothing was written.")
        return 130
    bar.end()
    for fault in (fault for one in measured for fault in one.faults):
        print_status(fault)
    table = table_of(device, about, bench, measured)
    path = TABLES.path(folder, device.name)
    TABLES.save(path, table)
    if options.json:
        assert table.model is not None
        fits = {fit.kernel: fit.error for fit in table.model.fits}
        print_json({"file": str(path), "shapes": len(measured), "errors": fits})
    else:
        print(_summary(table, len(measured)) + f" The table is in {path}.")
        _print_winners(table)
    return 0


def _summary(table: Table, shapes: int) -> str:
    assert table.model is not None
    errors = sorted(fit.error for fit in table.model.fits)
    return (
        f"{plural(len(errors), 'candidate')} measured at {plural(shapes, 'shape')}. Half of them "
        f"are predicted with an error of at most {percent(errors[len(errors) // 2])}."
    )


def _print_winners(table: Table) -> None:
    winners = [table.at(size)[0] for size in sorted(table.sizes)]
    print_table(
        ["M×N×K", "fastest", "GFLOP/s", "of cuBLAS"],
        [(size_text(w.size), w.kernel, number(w.gflops), tenths_percent(w.share)) for w in winners],
        range(2, 4),
    )
