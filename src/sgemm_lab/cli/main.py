"""The command ``sgemm-lab``. Every part of it works on a machine that has only CuPy."""

import argparse
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sgemm_lab.checking.judge import AWKWARD_SIZES, CheckResult, summary
from sgemm_lab.checking.on_gpu import check
from sgemm_lab.cli.count import add_count_arguments, run_count
from sgemm_lab.cuda.compiler import TARGETS, compile_kernel, load_nvrtc
from sgemm_lab.cuda.launch import MAX_DIMENSION, device_target, multiply, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder
from sgemm_lab.gpu import is_model
from sgemm_lab.kernel import Kernel, Size, load_kernel, load_kernels, parse_kernel
from sgemm_lab.measuring.race import Budget
from sgemm_lab.measuring.recorder import (
    COUNTER_SIZES,
    RAGGED_SIZES,
    SQUARE_SIZES,
    current_device,
    record_counters,
    take_record,
)
from sgemm_lab.models.bound import bound_of
from sgemm_lab.models.roofline import known_gpus
from sgemm_lab.records.data import Record
from sgemm_lab.records.store import Score, load_record, load_records, scores
from sgemm_lab.text import plain_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 done, 1 a check failed, 2 bad input."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except LabError as error:
        print(f"sgemm-lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nsgemm-lab: stopped.", file=sys.stderr)
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sgemm-lab", description="The kernels of the book: list, check, measure, compare."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> Any:
        sub = commands.add_parser(name, help=text, description=text)
        sub.add_argument("--json", action="store_true", help="print JSON for a program to read")
        sub.set_defaults(run=run)
        return sub

    command("doctor", _doctor, "Say what this machine can do: compile, run, measure.")
    listing = command("kernels", _kernels, "List the kernels of the book and what they cost.")
    listing.add_argument("--target", choices=TARGETS, default="sm_90", help="GPU to compile for")

    checking = command("check", _check, "Check kernels against float64 on this machine's GPU.")
    _add_kernels(checking)
    _add_sizes(checking)
    checking.add_argument(
        "--shift", type=_natural, default=0, metavar="ELEMENTS",
        help="move the matrices this far off their aligned addresses",
    )  # fmt: skip
    checking.add_argument("--seed", type=_natural, default=0, help="seed of the random matrices")

    recording = command("record", _record, "Measure on this machine's GPU and keep the samples.")
    _add_kernels(recording)
    _add_sizes(recording)
    recording.add_argument("--out", type=Path, help="folder of record files; default: the book's")
    recording.add_argument(
        "--seconds", type=_seconds, default=Budget().seconds, help="per kernel, size"
    )
    recording.add_argument("--no-micro", action="store_true", help="leave out the microbenchmarks")

    counting = command("counters", _counters, "Take the GPU's own counters, where ncu can.")
    _add_kernels(counting)
    _add_sizes(counting)
    counting.add_argument("--out", type=Path, help="folder of record files; default: the book's")

    simulating = command("count", run_count, "Count a kernel's memory requests, without a GPU.")
    add_count_arguments(simulating, _size)

    launching = command("launch", _launch, "Launch kernels once each, for a profiler to watch.")
    _add_kernels(launching)
    _add_sizes(launching)

    board = command("scoreboard", _scoreboard, "Show what was measured: GFLOP/s, share of cuBLAS.")
    board.add_argument("--gpu", help="only GPUs whose name contains this")
    board.add_argument("--records", type=Path, help="folder of record files; default: the book's")
    return parser


def _add_kernels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kernels", nargs="*", metavar="KERNEL",
        help="a name such as 'tiled' or 'tiled:TILE=16', or a .cu file; default: all",
    )  # fmt: skip


def _add_sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--size", type=_size, action="append", dest="sizes", metavar="M,N,K",
        help="a size, or one number for a square; may be given more than once",
    )  # fmt: skip


def _size(text: str) -> Size:
    parts = text.split(",")
    if len(parts) == 1:
        parts *= 3
    if len(parts) != 3 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' is no size. Write M,N,K, such as 1000,999,64.")
    m, n, k = (int(part) for part in parts)
    if max(m, n, k) > MAX_DIMENSION:
        raise argparse.ArgumentTypeError(f"'{text}' is too large: at most {MAX_DIMENSION:,} each.")
    return m, n, k


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of 0 or more.")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no time. Write seconds, such as 0.4.")
    return seconds


def _chosen(names: Sequence[str]) -> list[Kernel]:
    if not names:
        return load_kernels(variants=True)
    return [_from_file(Path(name)) if name.endswith(".cu") else load_kernel(name) for name in names]


def _from_file(path: Path) -> Kernel:
    try:
        return parse_kernel(path.stem, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"The file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise LabError(f"The file {path} is not text in UTF-8.") from None


def _doctor(options: argparse.Namespace) -> int:
    answers: dict[str, str] = {
        "Python": platform.python_version(),
        "CuPy": _installed("cupy-cuda12x", "cupy-cuda13x", "cupy"),
        "compile": _try(lambda: "NVRTC " + ".".join(map(str, load_nvrtc().getVersion()))),
        "run": _try(lambda: f"{current_device().name}, {device_target()}"),
        "kernels": str(len(load_kernels())),
        "records": _try(lambda: ", ".join(r.gpu.name for r in load_records()) or "none"),
    }
    if options.json:
        print(json.dumps(answers, indent=1))
    else:
        _print_table(["", ""], answers.items())
    return 0


def _try(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except LabError as error:
        return f"no. {error}"


def _installed(*names: str) -> str:
    for name in names:
        try:
            return f"{version(name)} ({name})"
        except PackageNotFoundError:
            continue
    return "no. Install cupy-cuda12x or cupy-cuda13x."


def _kernels(options: argparse.Namespace) -> int:
    rows = []
    for kernel in load_kernels(variants=True):
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
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        columns = ["kernel", "title", "registers", "spill_bytes", "shared_bytes"]
        _print_table(columns, ([row[c] for c in columns] for row in rows))
    return 0


def _check(options: argparse.Namespace) -> int:
    require_gpu()
    sizes = options.sizes or AWKWARD_SIZES
    results: list[CheckResult] = []
    for kernel in _chosen(options.kernels):
        done = _check_one(kernel, sizes, options)
        results += done
        if len(done) < len(sizes):
            # The GPU stopped the kernel and cannot be used any more by this process, not even to
            # free memory. So leave without the usual tidying up.
            _print_verdict(results, options)
            sys.stdout.flush()
            os._exit(1)
    _print_verdict(results, options)
    failed = any(r.fault for r in results)
    return 1 if failed or not any(r.passed for r in results) else 0


def _print_verdict(results: Sequence[CheckResult], options: argparse.Namespace) -> None:
    if options.json:
        rows = [{**asdict(r), "passed": r.passed} for r in results]
        for row in rows:
            if not math.isfinite(row["error"]):  # JSON has no infinity
                row["error"] = None
        print(json.dumps(rows, indent=1, allow_nan=False))
    else:
        failed = sum(r.fault is not None for r in results)
        print(f"{sum(r.passed for r in results)} passed, {failed} failed")


def _check_one(
    kernel: Kernel, sizes: Sequence[Size], options: argparse.Namespace
) -> list[CheckResult]:
    results = []
    for result in check(kernel, sizes, seed=options.seed, shift=options.shift):
        results.append(result)
        size = f"{result.m}×{result.n}×{result.k}"
        _progress(f"check {kernel.name} {size}", len(results), len(sizes))
        if result.fault and not options.json:
            print(f"\n{kernel.name} at {size}: {result.fault}")
    if not options.json:
        print(f"{kernel.name}: {summary(results)}")
    return results


def _record(options: argparse.Namespace) -> int:
    kernels = _chosen(options.kernels)
    path, run = take_record(
        kernels,
        options.out or data_folder("records"),
        sizes=options.sizes or (*SQUARE_SIZES, *RAGGED_SIZES),
        micro=not options.no_micro,
        budget=Budget(seconds=options.seconds),
        progress=lambda text: print(text, file=sys.stderr, flush=True),
    )
    ended = "complete" if run.complete else "stopped early"
    if options.json:
        summary = {"file": str(path), "date": run.date, "complete": run.complete}
        print(json.dumps({**summary, "measurements": len(run.measurements)}))
    else:
        print(f"Wrote {len(run.measurements)} measurements to {path} (run {ended}).")
        names = {kernel.name for kernel in kernels}
        taken = [s for s in scores([load_record(path)]) if s.run.date == run.date]
        _print_scores([s for s in taken if s.kernel in names])
    return 0 if run.complete else 130


def _counters(options: argparse.Namespace) -> int:
    require_gpu()
    path, run = record_counters(
        _chosen(options.kernels),
        options.out or data_folder("records"),
        options.sizes or COUNTER_SIZES,
        progress=lambda text: print(text, file=sys.stderr, flush=True),
    )
    if options.json:
        print(json.dumps([asdict(counters) for counters in run.counters]))
    else:
        print(f"Wrote the counters of {len(run.counters)} launches to {path}.")
    return 0


def _launch(options: argparse.Namespace) -> int:
    cupy = require_gpu()
    import numpy as np

    # Made on the host: no other kernel runs, so a profiler or a memory checker sees ours only.
    random = np.random.default_rng(seed=1)
    for m, n, k in options.sizes or SQUARE_SIZES[2:3]:
        a, b = (cupy.asarray(random.random(s, dtype="float32")) for s in ((m, k), (k, n)))
        for kernel in _chosen(options.kernels):
            multiply(kernel, a, b)
    cupy.cuda.get_current_stream().synchronize()
    return 0


def _scoreboard(options: argparse.Namespace) -> int:
    wanted = (options.gpu or "").lower()
    records = load_records(options.records)
    found = [s for s in scores(records) if wanted in s.gpu.lower()]
    if not found and options.gpu:
        raise LabError(f"No record is of a GPU whose name contains '{options.gpu}'.")
    if options.json:
        columns = ("kernel", "gpu", "m", "n", "k", "gflops", "cublas_gflops", "date")
        bounds = _bounds(records)
        rows = [{**{c: getattr(s, c) for c in columns}, **bounds(s)} for s in found]
        print(json.dumps(rows, indent=1))
    else:
        _print_scores(found)
    return 0


def _bounds(records: Sequence[Record]) -> Callable[[Score], dict[str, str | float | None]]:
    """Return a function that gives the bound over a score; None where it is not known."""
    gpus = known_gpus(records)

    def fields(score: Score) -> dict[str, str | float | None]:
        record = next(r for r in records if score.run in r.runs)
        gpu = next((gpu for gpu in gpus if is_model(record.gpu.name, gpu)), None)
        found = bound_of(score, gpu, record) if gpu else None
        return {
            "bound_by": found.unit if found else None,
            "bound_gflops": found.gflops if found else None,
        }

    return fields


def _print_scores(found: Iterable[Score]) -> None:
    rows = [
        (s.kernel, s.gpu, f"{s.m}×{s.n}×{s.k}", f"{s.gflops:,.0f}", f"{s.share:.1%}", s.date[:10])
        for s in found
    ]
    _print_table(["kernel", "GPU", "M×N×K", "GFLOP/s", "of cuBLAS", "date"], rows)


def _print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(plain_table(heads, rows, numbers=len(heads)))


def _progress(text: str, done: int, total: int) -> None:
    """Show one line that is written over, where a person is watching."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r\033[K{done}/{total} {text}", end=end, file=sys.stderr, flush=True)
