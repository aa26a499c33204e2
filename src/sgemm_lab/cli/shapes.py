"""The command ``shapes``: measure ``matmul`` at shapes drawn at random."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sgemm_lab.cli.arguments import natural, seconds
from sgemm_lab.cli.printing import ProgressBar, print_json, print_status, print_table
from sgemm_lab.cuda.launch import current_device
from sgemm_lab.errors import LabError
from sgemm_lab.files import locked, own_records
from sgemm_lab.gemm.dispatch.bench import GpuBench
from sgemm_lab.gemm.dispatch.candidates import candidates
from sgemm_lab.gemm.dispatch.first_use import FIRST_CUBLAS, MODEL_CUBLAS, MODES, FirstUse
from sgemm_lab.gemm.dispatch.judging import LOW, Verdict, by_mode, judge, verdict
from sgemm_lab.gemm.dispatch.library import WithCublas
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.gemm.dispatch.shapes import drawn
from sgemm_lab.gemm.dispatch.winners import Winners
from sgemm_lab.measuring.interleaved import Budget
from sgemm_lab.measuring.recorder import new_run
from sgemm_lab.records.dispatch_table import TABLES, DrawnShape, DrawnShapes
from sgemm_lab.text import number, percent, plural, size_text, tenths_percent

_SECONDS = 0.03


def add_shapes_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``shapes``."""
    parser.add_argument(
        "--drawn", type=natural, metavar="COUNT", default=100,
        help="how many shapes are drawn at random, 32 to 10,000 (default: 100)",
    )  # fmt: skip
    parser.add_argument("--candidates", action="store_true", help="also find the best candidate")
    parser.add_argument(
        "--tune", action="append", choices=MODES[1:], default=[],
        help="also choose in this mode; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=seconds, default=_SECONDS, help="per shape and product (default: 0.03)"
    )


def run_shapes(options: argparse.Namespace) -> int:
    """Measure, write the run, and print its statistics. Return 130 after an interruption."""
    device, run, multiply = current_device(), new_run(), dispatcher(0)
    bench = GpuBench(device, candidates()) if options.candidates else None
    tuned = {
        mode: WithCublas(multiply)
        if mode == MODEL_CUBLAS
        else FirstUse(multiply, Winners(None), with_cublas=mode == FIRST_CUBLAS)
        for mode in options.tune
    }
    budget = Budget(seconds=options.seconds, max_samples=20, warm_up_seconds=0.01)
    sizes = drawn(options.drawn, options.seed)
    bar, found, status = ProgressBar(len(sizes), None, "shapes"), list[DrawnShape](), 0
    tuned_shapes: list[DrawnShape] = []
    try:
        for done, size in enumerate(sizes):
            bar.show(done)
            try:
                model, *picks = judge(size, multiply, bench, budget, tuned)
                found.append(model)
                tuned_shapes += picks
            except LabError as refusal:
                print_status(f"{size_text(size)} is left out: {refusal}")
    except KeyboardInterrupt:
        status = 130
    bar.end()
    judged = verdict(found)
    path = TABLES.path(options.out or own_records(), device.name)
    if path.exists() and not status:
        shapes = DrawnShapes(
            **run.environment(), seed=options.seed, shapes=tuple(found), tuned=tuple(tuned_shapes)
        )
        with locked(path):
            TABLES.save(path, replace(TABLES.load(path), drawn=shapes))
    if options.json:
        print_json([_entry(one, tuned_shapes, device.name, run.date) for one in found])
        return status
    print_table(
        ["M×N×K", "kernel", "GFLOP/s", "of cuBLAS", "of the best"],
        [
            (
                size_text(one.size), one.kernel, number(one.gflops), tenths_percent(one.share),
                tenths_percent(one.share_of_best) if one.share_of_best else "",
            )
            for one in found
        ],
        range(2, 5),
    )  # fmt: skip
    print(
        f"{plural(judged.shapes, 'shape')} drawn with seed {options.seed} on {device.name}: "
        f"{_words(judged)}"
    )
    for mode, picks in by_mode(tuned_shapes).items():
        one = verdict(picks)
        cost = ""
        if one.cost is not None and one.most_cost is not None:
            cost = f" The choice took {_milliseconds(one.cost)} a shape, "
            cost += f"at most {_milliseconds(one.most_cost)}."
        print(f"With tune='{mode}': {_words(one)}{cost}")
    return status


def _words(judged: Verdict) -> str:
    of_best = f", {percent(judged.of_best)} of the best candidate" if judged.of_best else ""
    return (
        f"geometric mean {percent(judged.geometric_mean)} of cuBLAS{of_best}; least "
        f"{percent(judged.least.share)} at {size_text(judged.least.size)}; {judged.low} below "
        f"{percent(LOW)}."
    )


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _entry(one: DrawnShape, tuned: Iterable[DrawnShape], gpu: str, date: str) -> dict[str, Any]:
    """Return a shape as JSON."""
    entry: dict[str, Any] = {
        "m": one.m, "n": one.n, "k": one.k, "kernel": one.kernel, "gflops": one.gflops,
        "cublas_gflops": one.flop / one.cublas_seconds / 1e9,
    }  # fmt: skip
    if one.best_seconds:
        entry |= {"best": one.best, "best_gflops": one.flop / one.best_seconds / 1e9}
    for pick in tuned:
        if pick.tune and pick.size == one.size:
            entry[pick.tune] = {"kernel": pick.kernel, "gflops": pick.gflops, "cost": pick.cost}
    return {**entry, "gpu": gpu, "date": date}
