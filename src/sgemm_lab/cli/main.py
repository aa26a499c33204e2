"""The command ``sgemm-lab``. Every part of it works on a machine that has only CuPy."""

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sgemm_lab import __version__
from sgemm_lab.checking.apart import check_apart
from sgemm_lab.checking.foreign import check_foreign, fitting_tile, prepare_check, sizes_of
from sgemm_lab.checking.judge import AWKWARD_SIZES, CheckResult, bound_text, summary
from sgemm_lab.checking.on_cpu import QUICK_SIZES, check_here
from sgemm_lab.checking.on_gpu import check
from sgemm_lab.cli.arguments import (
    add_kernels,
    add_out,
    add_records,
    add_sizes,
    add_time_limit,
    chosen,
    natural,
    seconds,
)
from sgemm_lab.cli.count import add_count_arguments, run_count
from sgemm_lab.cli.doctor import run_doctor
from sgemm_lab.cli.foreign import FOREIGN_GROUP, add_foreign_arguments, foreign_kernel, is_foreign
from sgemm_lab.cli.printing import answering, print_json, print_table, tell, tell_over
from sgemm_lab.cli.several import add_several_arguments, run_several
from sgemm_lab.cli.strassen import add_strassen_arguments, run_strassen
from sgemm_lab.cli.tune import add_shapes_arguments, add_tune_arguments, run_shapes, run_tune
from sgemm_lab.cli.wgsl import run_record_wgsl
from sgemm_lab.cuda.compiler import TARGETS, compile_kernel, suits
from sgemm_lab.cuda.launch import device_target, has_gpu, multiply, require_gpu
from sgemm_lab.dispatch.product import dispatcher
from sgemm_lab.dispatch.shapes import SQUARES
from sgemm_lab.errors import LabError
from sgemm_lab.files import own_records
from sgemm_lab.kernel import Kernel, Size, load_kernels
from sgemm_lab.measuring.race import Budget
from sgemm_lab.measuring.recorder import (
    COUNTER_SIZES,
    RAGGED_SIZES,
    SQUARE_SIZES,
    record_counters,
    record_errors,
    take_record,
)
from sgemm_lab.models.scoreboard import Line, lines
from sgemm_lab.records.data import MATMUL, Score
from sgemm_lab.records.fewer import FEWER
from sgemm_lab.records.store import (
    add_run,
    load_record,
    load_records,
    not_yet_measured,
)
from sgemm_lab.text import plural, tenths_percent

CHECK_SCHEMA = "sgemm-lab.check.1"
"""Stands in each verdict of ``check --json``. It grows when a key changes its meaning or goes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 done, 1 a check failed, 2 bad input."""
    status = 0
    with answering() as ended:
        try:
            options = _parser().parse_args(arguments)
            status = options.run(options)
        except LabError as error:
            tell(f"sgemm-lab: {error}")
            status = 2
        except KeyboardInterrupt:
            print("\nsgemm-lab: stopped.", file=sys.stderr)
            status = 130
    return ended(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sgemm-lab", description="The kernels of the book: list, check, measure, compare."
    )
    parser.add_argument("--version", action="version", version=f"sgemm-lab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> Any:
        sub = commands.add_parser(name, help=text, description=text)
        sub.add_argument("--json", action="store_true", help="print JSON for a program to read")
        sub.set_defaults(run=run)
        return sub

    command("doctor", run_doctor, "Say what this machine can do: compile, run, measure.")
    listing = command("kernels", _kernels, "List the kernels of the book and what they cost.")
    listing.add_argument("--target", choices=TARGETS, default="sm_90", help="GPU to compile for")

    checking = command("check", _check, "Check kernels against float64, on a GPU if there is one.")
    add_kernels(checking)
    add_sizes(checking)
    checking.add_argument(
        "--shift", type=natural, default=0, metavar="ELEMENTS",
        help="move the matrices this far off their aligned addresses; needs a GPU",
    )  # fmt: skip
    add_time_limit(checking, "one size", None)
    checking.add_argument("--seed", type=natural, default=0, help="seed of the random matrices")
    add_foreign_arguments(checking.add_argument_group(FOREIGN_GROUP))

    recording = command(
        "record", _record,
        "Measure on this machine's GPU and keep the samples. The name 'matmul' is the dispatcher.",
    )  # fmt: skip
    add_kernels(recording)
    add_sizes(recording)
    add_out(recording)
    recording.add_argument(
        "--seconds", type=seconds, default=Budget().seconds, help="per kernel, size"
    )
    recording.add_argument("--no-micro", action="store_true", help="leave out the microbenchmarks")
    recording.add_argument(
        "--wgsl", action="store_true",
        help="the ladder in WGSL instead, through Vulkan or Metal; needs the package wgpu",
    )  # fmt: skip

    tuning = command("tune", run_tune, "Search this GPU for the fastest kernel of each size.")
    add_tune_arguments(tuning)

    judging = command("shapes", run_shapes, "Measure matmul at forty shapes fixed beforehand.")
    add_shapes_arguments(judging)

    counting = command("counters", _counters, "Take the GPU's own counters, where ncu can.")
    add_kernels(counting)
    add_sizes(counting)
    add_out(counting)

    erring = command("errors", _errors, "Measure how far off kernels are, by class of inputs.")
    add_kernels(erring)
    add_out(erring)

    adding = command("add", _add, "Add the runs of record files, as of another machine.")
    adding.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a record file")
    add_out(adding)

    simulating = command("count", run_count, "Count a kernel's memory requests, without a GPU.")
    add_count_arguments(simulating)

    launching = command("launch", _launch, "Launch kernels once each, for a profiler to watch.")
    add_kernels(launching)
    add_sizes(launching)

    several = command("several", run_several, "Multiply on several GPUs, or record what they do.")
    add_several_arguments(several)

    strassen = command(
        "strassen", run_strassen, "Multiply by Strassen's algorithm, or record how fast it is."
    )
    add_strassen_arguments(strassen)

    board = command("scoreboard", _scoreboard, "Show what was measured: GFLOP/s, share of cuBLAS.")
    board.add_argument("--gpu", help="only GPUs whose name contains this")
    add_records(board)
    return parser


def _kernels(options: argparse.Namespace) -> int:
    rows = []
    for kernel in load_kernels(variants=True):
        if not suits(kernel, options.target):
            tell(f"{kernel.name} is left out: it needs {kernel.needs}.")
            continue
        compiled = compile_kernel(kernel, options.target)
        rows.append(
            {
                "kernel": kernel.name,
                "title": kernel.title,
                "parent": kernel.parent,
                "chapter": kernel.chapter,
                "constants": kernel.values,
                "target": compiled.target,
                "registers": compiled.registers,
                "spill_bytes": compiled.spill_bytes,
                "shared_bytes": compiled.shared_bytes,
            }
        )
    if options.json:
        print_json(rows)
    else:
        columns = ["kernel", "title", "registers", "spill_bytes", "shared_bytes"]
        print_table(columns, ([row[c] for c in columns] for row in rows))
    return 0


def _for_this_gpu(names: Sequence[str]) -> list[Kernel]:
    """Return the kernels that are named; without names those that this GPU has what it takes for.

    The others are told of.
    """
    kernels = chosen(names)
    target = device_target()
    if names:
        return kernels
    for kernel in kernels:
        if not suits(kernel, target):
            tell(f"{kernel.name} is left out: it needs {kernel.needs}, and this GPU is {target}.")
    return [kernel for kernel in kernels if suits(kernel, target)]


def _check(options: argparse.Namespace) -> int:
    if any(is_foreign(options, name) for name in options.kernels or [""]):
        return _check_foreign(options)
    kernels = chosen(options.kernels)
    live = has_gpu()
    if live:
        kernels = _for_this_gpu(options.kernels)
    elif options.shift:
        raise LabError("--shift moves matrices in the memory of a GPU, and there is none here.")
    else:
        tell("There is no GPU here: the kernels are simulated on this machine's processor.")
    sizes = options.sizes or (AWKWARD_SIZES if live else QUICK_SIZES)
    results: list[CheckResult] = []
    for kernel in kernels:
        done = _check_one(kernel, sizes, options, live)
        results += done
        if live and kernel.is_the_books and len(done) < len(sizes):
            # The GPU stopped the kernel and cannot be used any more by this process, not even to
            # free memory. So leave without the usual tidying up.
            _print_verdict(results, options)
            sys.stdout.flush()
            os._exit(1)
    return _print_verdict(results, options)


def _check_foreign(options: argparse.Namespace) -> int:
    """Check one kernel of anybody's file, by simulation."""
    if len(options.kernels) != 1:
        raise LabError("A file without the book's head comment is checked alone: name it once.")
    kernel = foreign_kernel(options, options.kernels[0])
    prepared = prepare_check(kernel, options.sizes)
    tell("A file without the book's head comment is simulated on this machine's processor.")
    sizes = sizes_of(prepared, options.sizes)
    limit = {} if options.time_limit is None else {"time_limit": options.time_limit}
    found = check_foreign(prepared, sizes, seed=options.seed, **limit)
    results = _told(prepared.opened.name, found, len(sizes), options)
    tile = fitting_tile(results)
    if tile and not options.json:
        print(f"Of these sizes it is right exactly where {tile} divides M, N and K.")
    return _print_verdict(results, options)


def _print_verdict(results: Sequence[CheckResult], options: argparse.Namespace) -> int:
    """Print what was found; return the exit status: 1 wrong, 2 could not be run anywhere."""
    if options.json:
        rows = [{"schema": CHECK_SCHEMA, **asdict(r), "passed": r.passed} for r in results]
        for row in rows:
            if not math.isfinite(row["error"]):  # JSON has no infinity
                row["error"] = None
        print_json(rows)
    else:
        failed = sum(r.fault is not None for r in results)
        print(f"{sum(r.passed for r in results)} passed, {failed} failed")
    if any(r.fault for r in results):
        return 1
    return 0 if any(r.passed for r in results) else 2


def _check_one(
    kernel: Kernel, sizes: Sequence[Size], options: argparse.Namespace, live: bool
) -> list[CheckResult]:
    results = _told(kernel.name, _verdicts(kernel, sizes, options, live), len(sizes), options)
    if kernel.arithmetic != "fp32" and not options.json:
        print(f"{kernel.name} multiplies in {kernel.arithmetic}. {bound_text(kernel.arithmetic)}")
    return results


def _told(
    name: str, verdicts: Iterable[CheckResult], count: int, options: argparse.Namespace
) -> list[CheckResult]:
    """Tell verdicts as they come; return them."""
    results: list[CheckResult] = []
    for result in verdicts:
        results.append(result)
        size = f"{result.m}×{result.n}×{result.k}"
        tell_over(f"{len(results)}/{count} check {name} {size}")
        if result.fault and not options.json:
            tell_over("")
            print(f"{name} at {size}: {result.fault}")
    tell_over("")
    if not options.json:
        print(f"{name}: {summary(results)}")
    return results


def _verdicts(
    kernel: Kernel, sizes: Sequence[Size], options: argparse.Namespace, live: bool
) -> Iterator[CheckResult]:
    """Check on the GPU, a reader's own kernel in a process of its own; without a GPU simulate."""
    limit = {} if options.time_limit is None else {"time_limit": options.time_limit}
    if not live:
        return check_here(kernel, sizes, seed=options.seed, **limit)
    if kernel.is_the_books:
        return check(kernel, sizes, seed=options.seed, shift=options.shift)
    return check_apart(kernel, sizes, seed=options.seed, shift=options.shift, **limit)


def _record(options: argparse.Namespace) -> int:
    if options.wgsl:
        return run_record_wgsl(options)
    names = [name for name in options.kernels if name != MATMUL]
    with_matmul = MATMUL in options.kernels
    only_matmul = with_matmul and not names
    kernels = [] if only_matmul else _for_this_gpu(names)
    squares = SQUARES if only_matmul else SQUARE_SIZES
    path, run = take_record(
        kernels,
        options.out or own_records(),
        sizes=options.sizes or (*squares, *RAGGED_SIZES),
        micro=not (options.no_micro or only_matmul),
        budget=Budget(seconds=options.seconds),
        matmul=dispatcher(0) if with_matmul else None,
        progress=tell,
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


def _counters(options: argparse.Namespace) -> int:
    path, run = record_counters(
        _for_this_gpu(options.kernels),
        options.out or own_records(),
        options.sizes or COUNTER_SIZES,
        progress=tell,
    )
    if options.json:
        print_json([asdict(counters) for counters in run.counters])
    else:
        print(f"Wrote the counters of {plural(len(run.counters), 'launch', 'launches')} to {path}.")
    return 0 if run.complete else 130


def _errors(options: argparse.Namespace) -> int:
    kernels = _for_this_gpu(options.kernels)
    path, run = record_errors(kernels, options.out or own_records(), progress=tell)
    if options.json:
        print_json([asdict(found) for found in run.accuracies or ()])
    else:
        count = plural(len(run.accuracies or ()), "error", "errors")
        print(f"Wrote {count} of {plural(len(kernels), 'kernel', 'kernels')} to {path}.")
    return 0 if run.complete else 130


def _add(options: argparse.Namespace) -> int:
    records = [load_record(file) for file in options.files]
    folder = options.out or own_records()
    paths = [add_run(folder, record.gpu, run) for record in records for run in record.runs]
    if options.json:
        print_json([str(path) for path in dict.fromkeys(paths)])
    else:
        for path in dict.fromkeys(paths):
            print(f"{path} holds {plural(len(load_record(path).runs), 'run')}.")
    return 0


def _launch(options: argparse.Namespace) -> int:
    kernels = chosen(options.kernels)
    cupy = require_gpu()
    import numpy as np

    # Arrays of their own and of their exact size, not pieces of CuPy's pool: a memory checker then
    # sees every access outside them.
    with cupy.cuda.using_allocator(None):
        # Made on the host: no other kernel runs, so a profiler or a memory checker sees ours only.
        random = np.random.default_rng(seed=1)
        for m, n, k in options.sizes or SQUARE_SIZES[2:3]:
            a, b = (cupy.asarray(random.random(s, dtype="float32")) for s in ((m, k), (k, n)))
            for kernel in kernels:
                multiply(kernel, a, b)
        cupy.cuda.get_current_stream().synchronize()
    return 0


def _scoreboard(options: argparse.Namespace) -> int:
    records = load_records(options.records)
    if not records:
        raise LabError(
            f"There is no record in {options.records or own_records()}. "
            "Take one with 'sgemm-lab record' on a GPU."
        )
    strassen = FEWER.load_all(options.records)
    found = lines(records, strassen, options.gpu or "", bounds=options.json)
    if not found and options.gpu:
        raise LabError(f"No record is of a GPU whose name contains '{options.gpu}'.")
    if options.json:
        print_json([asdict(line) for line in found])
    else:
        _print_scores(found)
    known = {line.kernel for line in found}
    waiting = [k.name for k in load_kernels(variants=True) if k.name not in known]
    if waiting:
        tell(not_yet_measured(waiting))
    return 0


def _print_scores(found: Iterable[Score | Line]) -> None:
    rows = [
        (
            s.kernel,
            s.gpu,
            f"{s.m}×{s.n}×{s.k}",
            f"{s.gflops:,.0f}",
            tenths_percent(s.share),
            s.date[:10],
        )
        for s in found
    ]
    print_table(["kernel", "GPU", "M×N×K", "GFLOP/s", "of cuBLAS", "date"], rows)
