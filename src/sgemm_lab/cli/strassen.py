"""The command ``strassen``: a product by Strassen's algorithm, and its records."""

import argparse
import math
from collections.abc import Sequence

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cli.arguments import add_part, add_shared, natural, size
from sgemm_lab.cli.printing import print_json, print_status, print_table
from sgemm_lab.cuda.launch import current_device, has_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import own_records
from sgemm_lab.gemm.dispatch.recorded import predicted_from_record
from sgemm_lab.gemm.strassen.engine import GPU_SIZE, NUMPY_SIZE, random_product_error
from sgemm_lab.gemm.strassen.measure import SIZES, take_strassen_record
from sgemm_lab.gemm.strassen.model import best_plan, book_machine, predict, with_leaf_kernel
from sgemm_lab.gemm.strassen.plan import Plan, make_plan
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.store import load_records
from sgemm_lab.records.strassen import SizeTimes
from sgemm_lab.text import bytes_moved_text, plural, size_text

_MOST_IN_NUMPY = 2**33
"""Multiply-adds that NumPy computes within seconds."""


def add_strassen_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``strassen`` and of its command ``record``."""
    parser.add_argument(
        "--levels", type=natural, help="default: the number that is predicted to be fastest"
    )
    parser.add_argument(
        "--inside", metavar="KERNEL", help="kernel of the leaves; default: the fastest in FP32"
    )
    parser.add_argument(
        "--workspace", type=natural, metavar="BYTES",
        help="limit of the workspace; default: 1.5 times A, B and C",
    )  # fmt: skip
    commands = parser.add_subparsers(metavar="COMMAND")
    recording = add_part(commands, "record", "measure on this machine's GPU")
    recording.set_defaults(run=_record)
    add_shared(recording, "out")
    recording.add_argument(
        "--measure", type=size, action="append", metavar="M,N,K",
        help="measure this size of the record's; may be given again; default: all",
    )  # fmt: skip
    recording.add_argument(
        "--only-inside", action="store_true",
        help="measure only with the kernel on tensor cores for all leaves",
    )  # fmt: skip


def run_strassen(options: argparse.Namespace) -> int:
    """Multiply and print; return the exit status."""
    live = has_gpu()
    chosen = options.size or (GPU_SIZE if live else NUMPY_SIZE)
    m, n, k = chosen
    if not live and m * n * k > _MOST_IN_NUMPY:
        raise LabError(
            f"{size_text(chosen)} takes NumPy too long. Choose a smaller size, such as --size 1000."
        )
    kernel = load_kernel(options.inside) if options.inside else None
    if kernel and not live:
        raise LabError(f"There is no GPU here for {kernel.name}. Omit --inside.")
    plan = _plan(chosen, options.levels, options.workspace, kernel)
    if not live:
        print_status("There is no GPU here: the plan runs in NumPy.")
    error = random_product_error(plan, live=live, kernel=kernel)
    if not math.isfinite(error):
        raise LabError("C is wrong: it has an element that was not written.")
    found = {
        "size": list(chosen), "levels": plan.levels, "schedules": list(plan.schedules),
        "products": plan.products, "leaf": list(plan.leaf), "workspace": plan.workspace_bytes,
        "moved": plan.moved_bytes, "error": error,
    }  # fmt: skip
    if options.json:
        print_json(found)
    else:
        print(
            f"{size_text(chosen)} with {plural(plan.levels, 'level')}: "
            f"{plural(plan.products, 'product')} of {size_text(plan.leaf)}, "
            f"{bytes_moved_text(plan.workspace_bytes)} of workspace, additions of "
            f"{bytes_moved_text(plan.moved_bytes)}. The norm-wise error is {error:.2g}."
        )
    return 0


def _plan(chosen: Size, levels: int | None, limit: int | None, kernel: Kernel | None) -> Plan:
    if levels is not None:
        return make_plan(chosen, levels, limit)
    machine = book_machine(current_device() if has_gpu() else None)
    if kernel:
        record = next((one for one in load_records() if one.gpu.name == machine.gpu), None)
        if not record or predicted_from_record(kernel, chosen, record, record.gpu.sms) is None:
            raise LabError(
                f"{kernel.name} has no record on this GPU from which levels could be predicted. "
                "Give the number, such as --levels 1."
            )
        machine = with_leaf_kernel(machine, kernel, record)
    plan = best_plan(chosen, machine, limit)
    print_status(
        f"{plural(plan.levels, 'level')} predicted as the fastest on {machine.gpu}: "
        f"{predict(plan, machine).seconds * 1e3:.4g} ms."
    )
    return plan


def _record(options: argparse.Namespace) -> int:
    sizes = options.measure or tuple(SIZES)
    for chosen in sizes:
        if chosen not in SIZES:
            raise LabError(
                f"The record has no size {size_text(chosen)}. It has "
                f"{', '.join(map(size_text, SIZES))}."
            )
    path, run = take_strassen_record(
        options.out or own_records(), sizes, progress=print_status, only_inside=options.only_inside
    )
    if options.json:
        print_json({"file": str(path), "date": run.date, "complete": run.complete})
    else:
        if run.times:
            print(f"Wrote {plural(len(run.times), 'size')} to {path}.")
            _print_times(run.times)
        for inside in run.inside:
            print(f"With {inside.kernel} inside:")
            _print_times(inside.times)
    return 0 if run.complete else 130


def _print_times(measured: Sequence[SizeTimes]) -> None:
    print_table(
        ["M×N×K", "levels", "schedules", "TFLOP/s", "of cuBLAS", "workspace"],
        [
            (
                size_text(times.size), way.levels, "+".join(way.schedules),
                f"{times.tflops(way.seconds):.2f}", f"{times.share(way):.3f}",
                bytes_moved_text(way.workspace_bytes),
            )
            for times in measured
            for way in times.ways
        ],
        range(3, 6),
    )  # fmt: skip
