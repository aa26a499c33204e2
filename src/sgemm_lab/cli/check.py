"""The command ``check``: check kernels on a GPU or by simulation.

Modules for GPUs and for external files are imported on demand, which keeps the command fast.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sgemm_lab.catalogue import is_builtin
from sgemm_lab.checking.judge import AWKWARD_SIZES, QUICK_SIZES, CheckResult, bound_text, summary
from sgemm_lab.checking.simulated import check_simulated
from sgemm_lab.cli.arguments import add_time_limit, chosen, for_this_gpu, natural
from sgemm_lab.cli.external import (
    EXTERNAL_GROUP,
    add_expectations,
    add_external_arguments,
    is_external,
)
from sgemm_lab.cli.printing import print_json, print_progress, print_status, result_json
from sgemm_lab.cuda.launch import has_gpu
from sgemm_lab.kernel import Kernel, Size

CHECK_SCHEMA = "sgemm-lab.check.1"
"""Schema version in ``check --json``; incremented when a key changes its meaning or is removed."""

MOST_FAULTS = 5
"""How many wrong sizes of a kernel are printed, each with its fault."""


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``check``."""
    add_time_limit(parser, "one size", None)
    parser.add_argument("--seed", type=natural, default=0, help="seed of the random matrices")
    other = parser.add_argument_group(EXTERNAL_GROUP)
    add_external_arguments(other)
    add_expectations(other)
    other.add_argument("--sarif", type=Path, metavar="FILE",
                       help="write the findings as SARIF 2.1.0, too")  # fmt: skip
    other.add_argument(
        "--annotate",
        action="store_true",
        help="print the findings as commands of a GitHub workflow, too",
    )
    other.add_argument("--watch", action="store_true",
                       help="check again whenever a file changes")  # fmt: skip


def run_check(options: argparse.Namespace) -> int:
    """Check and print; return the exit status: 0 correct, 1 wrong, 2 not run at any size."""
    if any(is_external(options, name) for name in options.kernels or [""]):
        from sgemm_lab.cli.check_file import run_check_file

        return run_check_file(options)
    kernels = chosen(options.kernels)
    live = has_gpu()
    if live:
        kernels = for_this_gpu(options.kernels)
    else:
        print_status("There is no GPU here: the kernels are simulated on this machine's processor.")
    sizes = options.sizes or (AWKWARD_SIZES if live else QUICK_SIZES)
    results: list[CheckResult] = []
    for kernel in kernels:
        done = _check_one(kernel, sizes, options, live)
        results += done
        if live and is_builtin(kernel) and len(done) < len(sizes):
            # A failed kernel makes the CUDA context unusable, even for freeing memory. Exit without
            # cleanup.
            _print_verdict(results, options)
            sys.stdout.flush()
            os._exit(1)
    return _print_verdict(results, options)


def _print_verdict(results: Sequence[CheckResult], options: argparse.Namespace) -> int:
    """Print the summary; return the exit status."""
    if options.json:
        rows = [{"schema": CHECK_SCHEMA, **result_json(r)} for r in results]
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
    results = _print_results(
        kernel.name, _verdicts(kernel, sizes, options, live), len(sizes), options
    )
    if kernel.arithmetic != "fp32" and not options.json:
        print(f"{kernel.name} multiplies in {kernel.arithmetic}. {bound_text(kernel.arithmetic)}")
    return results


def _print_results(
    name: str, verdicts: Iterable[CheckResult], count: int, options: argparse.Namespace
) -> list[CheckResult]:
    """Print results as they arrive; return them."""
    results: list[CheckResult] = []
    faults = 0
    for result in verdicts:
        results.append(result)
        size = f"{result.m}×{result.n}×{result.k}"
        print_progress(f"{len(results)}/{count} check {name} {size}")
        if result.fault:
            faults += 1
            if not options.json and faults <= MOST_FAULTS:
                print_progress("")
                print(f"{name} at {size}: {result.fault}")
    print_progress("")
    if faults > MOST_FAULTS and not options.json:
        print(f"{name}: wrong at {faults - MOST_FAULTS} more sizes; --json prints them all.")
    if not options.json:
        print(f"{name}: {summary(results)}")
    return results


def _verdicts(
    kernel: Kernel, sizes: Sequence[Size], options: argparse.Namespace, live: bool
) -> Iterator[CheckResult]:
    """Check on the GPU, a reader's kernel in a separate process; without a GPU simulate."""
    limit = {} if options.time_limit is None else {"time_limit": options.time_limit}
    if not live:
        return check_simulated(kernel, sizes, seed=options.seed, **limit)
    from sgemm_lab.checking.on_gpu import check
    from sgemm_lab.checking.sandbox import check_sandboxed

    if is_builtin(kernel):
        return check(kernel, sizes, seed=options.seed)
    return check_sandboxed(kernel, sizes, seed=options.seed, **limit)
