"""The command ``kernels``: the kernels of the book, with registers and memory."""

import argparse

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.cli.printing import print_json, print_status, print_table
from sgemm_lab.cuda.compiler import TARGETS, compile_kernel, suits


def add_kernels_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``kernels``."""
    parser.add_argument("--target", choices=TARGETS, default="sm_90", help="GPU to compile for")


def run_kernels(options: argparse.Namespace) -> int:
    """Compile the kernels and print a table."""
    rows = []
    for kernel in load_kernels(variants=True):
        if not suits(kernel, options.target):
            print_status(f"{kernel.name} is left out: it needs {kernel.needs}.")
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
