"""The command ``multi-gpu``: a product on several GPUs or in NumPy, and its records."""

import argparse
import math
import os
import sys
from typing import Any, NoReturn

from sgemm_lab.cli.arguments import (
    add_one_size,
    add_out,
    add_part,
    add_records,
    seconds,
    whole,
)
from sgemm_lab.cli.printing import print_json, print_progress, print_status, print_table
from sgemm_lab.cuda.launch import has_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import own_records
from sgemm_lab.kernel import Size
from sgemm_lab.multi_gpu.cases import PARTS, SIZES
from sgemm_lab.multi_gpu.engine import COPY, TIME_LIMIT, TRANSPORTS
from sgemm_lab.multi_gpu.layouts import LAYOUTS, make_plan
from sgemm_lab.multi_gpu.nccl import set_block_limit
from sgemm_lab.multi_gpu.plan import Plan
from sgemm_lab.multi_gpu.recorder import take_record
from sgemm_lab.multi_gpu.run_plan import in_numpy, multiply
from sgemm_lab.multi_gpu.single_gpu import CUBLAS, LOCAL_PRODUCTS
from sgemm_lab.multi_gpu.topology import cuda_errors_as_messages, gpu_count
from sgemm_lab.records.multi_gpu import MULTI_GPU_RECORDS, MultiGpuScore, scores
from sgemm_lab.text import bytes_moved_text, number, plural, size_text

_GPUS_ON_PAPER = 4
_NUMPY_SIZE: Size = (500, 600, 700)
_GPU_SIZE: Size = (8192, 8192, 8192)


def add_multi_gpu_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``multi-gpu`` and of its commands ``record`` and ``scoreboard``."""
    parser.set_defaults(run=_multiply)
    parser.add_argument("--layout", choices=LAYOUTS, default="rows", help="default: rows")
    parser.add_argument("--gpus", type=_count, help="how many; default: all, or 4 in NumPy")
    add_one_size(parser)
    parser.add_argument(
        "--inside", choices=LOCAL_PRODUCTS, default=CUBLAS, help="a GPU's own product"
    )
    parser.add_argument(
        "--transport", choices=TRANSPORTS, default=COPY, help="of the tiles; default: copy"
    )
    parser.add_argument(
        "--block-limit", type=_count, metavar="BLOCKS", help="limit of NCCL's blocks"
    )
    parser.add_argument("--graph", action="store_true", help="replay the plan as a CUDA graph")
    parser.add_argument(
        "--time-limit", type=seconds, default=TIME_LIMIT, metavar="SECONDS",
        help="time limit of a product",
    )  # fmt: skip
    commands = parser.add_subparsers(metavar="COMMAND")
    recording = add_part(commands, "record", "measure on this machine's GPUs")
    recording.set_defaults(run=_record)
    add_out(recording)
    recording.add_argument(
        "--sizes", type=_sizes, default=SIZES, metavar="N,N,…",
        help=f"of the large products; default: {','.join(map(str, SIZES))}",
    )  # fmt: skip
    recording.add_argument(
        "--only", choices=PARTS, action="append", help="measure this part; may be given again"
    )
    recording.add_argument("--most", type=_count, metavar="GPUS", help="GPUs that take part")
    recording.add_argument(
        "--time-limit", type=seconds, default=math.inf, metavar="SECONDS",
        help="stop after this; a later run resumes",
    )  # fmt: skip
    board = add_part(commands, "scoreboard", "show the measurements")
    board.set_defaults(run=_scoreboard)
    add_records(board)


def _multiply(options: argparse.Namespace) -> int:
    if not has_gpu():
        print_status(
            "There is no GPU here: the plan runs in NumPy, one GPU after the other, without times."
        )
        return _in_numpy(options)
    set_block_limit(options.block_limit)
    try:
        with cuda_errors_as_messages():
            gpus = options.gpus or gpu_count()
            plan = make_plan(options.layout, options.size or _GPU_SIZE, gpus)
            found = multiply(
                plan, options.inside, options.transport, graph=options.graph,
                seconds=options.time_limit,
            )  # fmt: skip
    except LabError as fault:
        print_status(f"sgemm-lab: {fault}")
        # A GPU may still be busy with the failed run, so exit without cleanup.
        _leave(2)
    if options.json:
        print_json({"layout": plan.layout, "size": list(plan.size), **vars(found)})
    else:
        print(
            f"{size_text(plan.size)} on {plural(found.gpus, 'GPU')}, {plan.layout}, "
            f"{options.inside} inside, carried by {found.transport}: {found.seconds * 1e3:.4g} ms, "
            f"{found.tflops:.4g} TFLOP/s. Sampled rows are right: at most "
            f"{found.worst_share:.2g} of what rounding allows."
        )
    return 0


def _leave(status: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _in_numpy(options: argparse.Namespace) -> int:
    chosen = options.size or _NUMPY_SIZE
    plan = make_plan(options.layout, chosen, options.gpus or _GPUS_ON_PAPER)
    share = in_numpy(plan)
    rows = _per_gpu(plan)
    if options.json:
        print_json(
            {"layout": plan.layout, "size": list(chosen), "worst_share": share, "gpus": rows}
        )
    else:
        print_table(
            ["GPU", "tiles of C", "products", "received", "bytes", "memory"],
            [
                (
                    row["gpu"], row["tiles"], row["products"], row["received"],
                    bytes_moved_text(row["bytes"]), bytes_moved_text(row["memory"]),
                )
                for row in rows
            ],
            range(1, 6),
        )  # fmt: skip
        print(
            f"{size_text(chosen)} by {plan.layout} on {plural(plan.gpus, 'GPU')}: sampled rows are "
            f"right, at most {share:.2g} of what rounding allows."
        )
    return 0


def _per_gpu(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "gpu": gpu,
            "tiles": len(share.results),
            "products": len(share.products),
            "received": len(share.receives),
            "bytes": sum(step.tile.bytes for step in share.receives),
            "memory": share.bytes,
        }
        for gpu, share in enumerate(plan.shares)
    ]


def _record(options: argparse.Namespace) -> int:
    folder = options.out or own_records()
    try:
        summary = take_record(
            folder,
            gpus=options.most,
            sizes=options.sizes,
            parts=options.only or PARTS,
            seconds=options.time_limit,
            progress=print_status,
        )
    except KeyboardInterrupt:
        print_progress("")
        print_status("The run was stopped. Its results are in the file; run it again to continue.")
        return 130
    if options.json:
        print_json({**vars(summary), "path": str(summary.path)})
    else:
        ended = "complete" if summary.complete else "stopped; call it again to go on"
        print(
            f"{plural(summary.measured, 'case')} measured, {summary.known} known before, "
            f"{summary.failed} could not be measured. The run is {ended}. "
            f"It is in {summary.path}."
        )
    return 0 if summary.complete else 130


def _scoreboard(options: argparse.Namespace) -> int:
    found = scores(MULTI_GPU_RECORDS.load_all(options.records))
    if options.json:
        print_json([_to_json(score) for score in found])
        return 0
    if not found:
        raise LabError(
            "No product on several GPUs was recorded. Run 'sgemm-lab multi-gpu record' on a "
            "machine with several GPUs."
        )
    print_table(
        ["GPU", "GPUs", "n", "inside", "layout", "TFLOP/s", "efficiency", "date"],
        [
            (
                s.gpu, s.times.case.gpus, s.times.case.n, s.times.case.inside, s.times.case.layout,
                number(s.times.tflops), f"{s.times.efficiency:.3f}", s.run.date[:10],
            )
            for s in found
        ],
        range(5, 7),
    )  # fmt: skip
    return 0


def _to_json(score: MultiGpuScore) -> dict[str, Any]:
    times, case = score.times, score.times.case
    return {
        "gpu": score.gpu,
        "gpus": case.gpus,
        "n": case.n,
        "inside": case.inside,
        "layout": case.layout,
        "panels": case.panels,
        "transport": case.transport,
        "block_limit": case.block_limit,
        "graph": case.graph,
        "tflops": round(times.tflops, 3),
        "efficiency": None if times.efficiency is None else round(times.efficiency, 4),
        "transfer_cost": None if times.transfer_cost is None else round(times.transfer_cost, 4),
        "worst_share": times.worst_share,
        "date": score.run.date,
    }


def _count(text: str) -> int:
    """Parse an integer of 1 or more."""
    found = whole(text, 1)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a whole number of 1 or more.")
    return found


def _sizes(text: str) -> tuple[int, ...]:
    """Parse "8192,16384"."""
    return tuple(_count(part) for part in text.split(","))
