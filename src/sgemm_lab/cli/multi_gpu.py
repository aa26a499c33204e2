"""The command ``multi-gpu``: a product on several GPUs or in NumPy."""

import argparse
import os
import sys
from typing import Any, NoReturn

from sgemm_lab.cli.arguments import whole
from sgemm_lab.cli.printing import print_json, print_status, print_table
from sgemm_lab.cuda.launch import has_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size
from sgemm_lab.multi_gpu.layouts import LAYOUTS, make_plan
from sgemm_lab.multi_gpu.plan import Plan
from sgemm_lab.multi_gpu.run_plan import in_numpy, multiply
from sgemm_lab.multi_gpu.single_gpu import CUBLAS, LOCAL_PRODUCTS
from sgemm_lab.multi_gpu.topology import cuda_errors_as_messages, gpu_count
from sgemm_lab.text import bytes_moved_text, plural, size_text

_GPUS_ON_PAPER = 4
_NUMPY_SIZE: Size = (500, 600, 700)
_GPU_SIZE: Size = (8192, 8192, 8192)


def add_multi_gpu_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``multi-gpu``."""
    parser.add_argument("--layout", choices=LAYOUTS, default="rows", help="default: rows")
    parser.add_argument("--gpus", type=_count, help="how many; default: all, or 4 in NumPy")
    parser.add_argument(
        "--inside", choices=LOCAL_PRODUCTS, default=CUBLAS, help="a GPU's own product"
    )


def run_multi_gpu(options: argparse.Namespace) -> int:
    """Multiply and print; return the exit status."""
    if not has_gpu():
        print_status(
            "There is no GPU here: the plan runs in NumPy, one GPU after the other, without times."
        )
        return _in_numpy(options)
    try:
        with cuda_errors_as_messages():
            gpus = options.gpus or gpu_count()
            plan = make_plan(options.layout, options.size or _GPU_SIZE, gpus)
            found = multiply(plan, options.inside)
    except LabError as fault:
        print_status(f"sgemm-lab: {fault}")
        # A GPU may still be busy with the failed run, so exit without cleanup.
        _leave(2)
    if options.json:
        print_json(
            {"layout": plan.layout, "size": list(plan.size), "transport": "copy", **vars(found)}
        )
    else:
        print(
            f"{size_text(plan.size)} on {plural(found.gpus, 'GPU')}, {plan.layout}, "
            f"{options.inside} inside: {found.seconds * 1e3:.4g} ms, "
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


def _count(text: str) -> int:
    """Parse an integer of 1 or more."""
    found = whole(text, 1)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a whole number of 1 or more.")
    return found
