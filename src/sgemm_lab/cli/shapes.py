"""The command ``shapes``: measure ``matmul`` at forty fixed shapes, or at shapes drawn anew."""

import argparse
import statistics
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sgemm_lab.cli.arguments import add_out, natural, seconds
from sgemm_lab.cli.printing import ProgressBar, print_json, print_status, print_table
from sgemm_lab.cuda.launch import current_device
from sgemm_lab.errors import LabError
from sgemm_lab.files import own_records
from sgemm_lab.gemm.dispatch.bench import GpuBench
from sgemm_lab.gemm.dispatch.candidates import candidates
from sgemm_lab.gemm.dispatch.first_use import FIRST_CUBLAS, MODEL_CUBLAS, MODES, FirstUse
from sgemm_lab.gemm.dispatch.judging import LOW, Verdict, by_mode, judge, verdict
from sgemm_lab.gemm.dispatch.library import WithCublas
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.gemm.dispatch.shapes import FORTY_SHAPES, drawn
from sgemm_lab.gemm.dispatch.winners import Winners
from sgemm_lab.measuring.interleaved import Budget
from sgemm_lab.measuring.recorder import new_run, take_record
from sgemm_lab.records.dispatch_table import TABLES, DrawnShape, DrawnShapes
from sgemm_lab.records.gpu_record import MATMUL, Record, Score
from sgemm_lab.records.store import load_record, load_records, scores
from sgemm_lab.text import number, percent, plural, size_text, tenths_percent

_DRAWN_SECONDS = 0.03
"""Time per drawn shape and product: there are many."""


def add_shapes_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``shapes``."""
    parser.set_defaults(run=run_shapes)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--recorded", action="store_true", help="show the records; no measurement")
    which.add_argument(
        "--drawn", type=natural, metavar="COUNT",
        help="measure shapes drawn at random, 32 to 10,000, instead of the forty",
    )  # fmt: skip
    parser.add_argument("--seed", type=natural, default=0, help="of the drawn shapes")
    parser.add_argument(
        "--candidates", action="store_true", help="at drawn shapes also find the best candidate"
    )
    parser.add_argument(
        "--tune", action="append", choices=MODES[1:], default=[],
        help="at drawn shapes also choose in this mode; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=seconds, help="per shape, for each product (default: 0.4; drawn: 0.03)"
    )
    add_out(parser)


def run_shapes(options: argparse.Namespace) -> int:
    """Measure, write the run, and print its statistics. Return 130 after an interruption."""
    if options.drawn:
        return _run_drawn(options)
    status = 0
    if options.recorded:
        record = load_records(options.out)[0]
    else:
        path, run = take_record(
            [],
            options.out or own_records(),
            sizes=FORTY_SHAPES,
            micro=False,
            budget=Budget(seconds=options.seconds or Budget().seconds),
            matmul=dispatcher(0),
            progress=print_status,
        )
        record, status = load_record(path), 0 if run.complete else 130
    found = _forty_scores(record)
    mean = statistics.geometric_mean(score.share for score in found)
    least = min(found, key=lambda score: score.share)
    missing = sorted({*FORTY_SHAPES} - {score.size for score in found})
    if options.json:
        print_json(
            {
                "gpu": record.gpu.name,
                "geometric_mean": mean,
                "least": least.share,
                "shapes": len(found),
                "missing": [list(size) for size in missing],
                "shares": [
                    {"m": s.m, "n": s.n, "k": s.k, "share": s.share, "kernel": s.picked}
                    for s in found
                ],
            }
        )
        return status
    print_table(
        ["M×N×K", "kernel", "GFLOP/s", "of cuBLAS"],
        [
            (size_text(s.size), s.picked or "", number(s.gflops), tenths_percent(s.share))
            for s in found
        ],
        range(2, 4),
    )
    print(
        f"{len(found)} shapes on {record.gpu.name}: geometric mean {percent(mean)} of cuBLAS, "
        f"least {percent(least.share)} at {size_text(least.size)}."
        + (f" {len(missing)} shapes are not measured." if missing else "")
    )
    return status


def _forty_scores(record: Record) -> list[Score]:
    """Return the latest scores of the dispatcher at the forty shapes, in their order.

    Raises:
        LabError: none was measured.
    """
    found = {score.size: score for score in scores([record]) if score.kernel == MATMUL}
    measured = [found[size] for size in FORTY_SHAPES if size in found]
    if not measured:
        raise LabError(
            f"The forty shapes were not measured on {record.gpu.name}. "
            "Run 'sgemm-lab shapes' on a GPU."
        )
    return measured


def _run_drawn(options: argparse.Namespace) -> int:
    device, run, multiply = current_device(), new_run(), dispatcher(0)
    bench = GpuBench(device, candidates()) if options.candidates else None
    tuned = {
        mode: WithCublas(multiply)
        if mode == MODEL_CUBLAS
        else FirstUse(multiply, Winners(None), with_cublas=mode == FIRST_CUBLAS)
        for mode in options.tune
    }
    budget = Budget(seconds=options.seconds or _DRAWN_SECONDS, max_samples=20, warm_up_seconds=0.01)
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
