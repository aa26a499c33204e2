"""How long the simulator takes: prints a table. Run with ``python benchmarks/simulator.py``."""

import argparse
import time
from collections.abc import Callable

import numpy as np

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.counting.kernel_counts import book_arguments
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel
from sgemm_lab.simulator import Result, simulate

TOY = 8


def run(kernel: Kernel, ptx: str, size: int, *, hazards: bool, trace: bool = False) -> Result:
    random = np.random.default_rng(0)
    a, b = (random.uniform(-0.5, 0.5, (size, size)).astype(np.float32) for _ in range(2))
    shape = kernel.launch_shape(size, size, size)
    return simulate(
        ptx,
        "sgemm",
        shape.grid,
        shape.block,
        book_arguments(shape, a, b),
        shape.shared_bytes,
        unwritten=["C"],
        check_hazards=hazards,
        trace=trace,
        cooperative=shape.workspace_bytes > 0,
    )


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also 512 × 512 × 512")
    arguments = parser.parse_args()
    sizes = [256, 512] if arguments.large else [256]
    columns = [f"trace {TOY}³ ms", *(f"{n}³ counts s" for n in sizes), "256³ hazards s"]
    print(f"{'kernel':24}" + "".join(f"{column:>16}" for column in columns))
    for kernel in load_kernels():
        ptx = compile_kernel(kernel).ptx
        try:
            toy = seconds(lambda: run(kernel, ptx, TOY, hazards=True, trace=True), 3)  # noqa: B023
        except LabError as fault:
            print(f"{kernel.name:24}  {fault}")
            continue
        row = [1000 * toy]
        for size in sizes:
            row.append(seconds(lambda: run(kernel, ptx, size, hazards=False), 1))  # noqa: B023
        row.append(seconds(lambda: run(kernel, ptx, 256, hazards=True), 1))  # noqa: B023
        print(f"{kernel.name:24}" + "".join(f"{value:16.2f}" for value in row))


if __name__ == "__main__":
    main()
