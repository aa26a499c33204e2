"""The command ``other-libraries``: FP32 products of other libraries, cuBLAS and ``matmul``."""

import argparse
from statistics import median

from sgemm_lab.cli.arguments import natural
from sgemm_lab.cli.printing import ProgressBar, print_json, print_status, print_table
from sgemm_lab.cuda.launch import current_device
from sgemm_lab.files import own_records
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.gemm.dispatch.shapes import FORTY_SHAPES, SQUARES, drawn
from sgemm_lab.kernel import Size
from sgemm_lab.measuring.interleaved import Budget, Product, cublas, is_graphed, time_interleaved
from sgemm_lab.measuring.other_libraries import (
    JAX,
    LEAST_FLOP,
    LIBRARIES,
    jax_seconds,
    other_products,
)
from sgemm_lab.measuring.recorder import new_run
from sgemm_lab.records.gpu_record import CUBLAS, MATMUL, five_digits
from sgemm_lab.records.other_libraries import COMPARISONS, ComparedShape, Comparison
from sgemm_lab.text import number, size_text

_BUDGET = Budget(seconds=0.03, max_samples=20, warm_up_seconds=0.01, sample_seconds=0.002)
_LARGEST_SQUARE = 8192
"""One of 16,384 takes each library as long as twenty other shapes."""


def add_other_libraries_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``other-libraries``."""
    parser.add_argument(
        "--drawn", type=natural, default=30, metavar="COUNT",
        help="shapes drawn at random, in addition to squares and forty others (default: 30)",
    )  # fmt: skip
    parser.add_argument(
        "libraries", nargs="*", metavar="LIBRARY", help=f"of {', '.join(LIBRARIES)}; default: all"
    )


def run_other_libraries(options: argparse.Namespace) -> int:
    """Measure, and write the record of this GPU."""
    device, run = current_device(), new_run()
    wanted = options.libraries or LIBRARIES
    products, versions = other_products(wanted, print_status)
    products = {MATMUL: dispatcher(0), CUBLAS: cublas(), **products}
    squares = [size for size in SQUARES if size[0] <= _LARGEST_SQUARE]
    sizes = [*squares, *FORTY_SHAPES, *drawn(options.drawn, options.seed)]
    fixed = len(sizes) - options.drawn
    bar, found = ProgressBar(len(sizes), None, "shapes"), list[ComparedShape]()
    status = 0
    try:
        for done, size in enumerate(sizes):
            bar.show(done)
            found.append(_compared(size, products))
            if JAX in wanted and found[-1].flop >= LEAST_FLOP:
                found[-1].seconds[JAX], versions[JAX] = jax_seconds(size)
    except KeyboardInterrupt:
        status = 130
    bar.end()
    path = COMPARISONS.path(options.out or own_records(), device.name)
    comparison = Comparison(
        **run.environment(), gpu=device, seed=options.seed, versions=versions,
        squares=tuple(found[: len(squares)]), forty=tuple(found[len(squares) : fixed]),
        drawn=tuple(found[fixed:]),
    )  # fmt: skip
    COMPARISONS.save(path, comparison)
    if options.json:
        print_json([{"m": s.m, "n": s.n, "k": s.k, "seconds": s.seconds} for s in found])
        return status
    names = [*products, *({JAX} & versions.keys())]
    print_table(
        ["M×N×K", *names],
        [
            (size_text(s.size), *(number(s.gflops(n)) if n in s.seconds else "" for n in names))
            for s in found
        ],
        range(1, len(names) + 1),
    )
    print(f"GFLOP/s on {device.name}. The record is in {path}.")
    return status


def _compared(size: Size, products: dict[str, Product]) -> ComparedShape:
    measured = time_interleaved(products, size, _BUDGET, print_status, graphs=is_graphed(size))
    seconds = {one.kernel: five_digits(median(one.seconds)) for one in measured}
    return ComparedShape(*size, seconds)
