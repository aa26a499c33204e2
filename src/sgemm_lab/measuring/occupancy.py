"""Record the driver's occupancies: ``python -m sgemm_lab.measuring.occupancy FILE.json``.

It needs a GPU with NumPy and CuPy, and takes less than a minute. A row of the file has threads per
block, registers per thread, static and dynamic bytes of shared memory per block, the preferred
shared memory carveout in percent (-1: default), and the blocks per SM from
``cuOccupancyMaxActiveBlocksPerMultiprocessor`` (0: the launch cannot run).
"""

import json
import random
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.cuda.compiler import compile_kernel, compile_source
from sgemm_lab.cuda.launch import current_device, device_target, load_function, require_gpu
from sgemm_lab.files import write_whole
from sgemm_lab.kernel import ENTRY
from sgemm_lab.measuring.recorder import driver_version

COLUMNS = ("threads", "registers", "static", "dynamic", "preference", "blocks")

THREADS = (
    1, 32, 33, 64, 65, 96, 97, 128, 129, 160, 192, 193, 224, 256, 257, 288, 320, 384, 385, 448,
    512, 513, 640, 768, 896, 1024,
)  # fmt: skip
LIVE_VALUES = tuple(sorted({8 * k + i for k in range(31) for i in (1, 2, 3)} | {247, 248, 255}))
"""Live floats of a kernel, which give register counts around each multiple of 8."""
CAPS = (25, 31, 33, 39, 41, 63, 65, 95, 97, 127, 129, 169, 171, 253)
"""Register limits: odd numbers, which the compiler rarely chooses."""
STATIC_FLOATS = (1, 25, 255, 256, 1000, 4096, 8191, 12288)

Row = tuple[int, int, int, int, int, int]


class Probe:
    """A loaded kernel for occupancy queries."""

    def __init__(self, function: Any, most_shared: int) -> None:
        """Allow the kernel ``most_shared`` bytes of shared memory per block."""
        self._function = function
        self.registers = int(function.num_regs)
        self.static = int(function.shared_size_bytes)
        self.most_dynamic = most_shared - self.static
        function.max_dynamic_shared_size_bytes = self.most_dynamic

    def query(self, threads: int, dynamic: int, preference: int = -1) -> Row:
        """Return the row of one launch."""
        driver = require_gpu().cuda.driver
        self._function.preferred_shared_memory_carveout = preference
        pointer = self._function.kernel.ptr
        blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(pointer, threads, dynamic)
        return threads, self.registers, self.static, dynamic, preference, blocks


def source(live: int, static_floats: int, cap: int) -> str:
    """Return a kernel with given numbers of floats in registers and in shared memory.

    ``cap`` limits its registers; 0: no limit.
    """
    limit = f"__maxnreg__({cap}) " if cap else ""
    shared = f"""
    __shared__ float held[{static_floats}];
    held[threadIdx.x % {static_floats}] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = held[rounds % {static_floats}];"""
    return f"""extern "C" __global__ void {limit}hold(float* data, int rounds)
{{
    float live[{live}];
    #pragma unroll
    for (int i = 0; i < {live}; ++i) live[i] = data[i * 32];
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {{
        #pragma unroll
        for (int i = 0; i < {live}; ++i) live[i] = live[i] * live[(i + 1) % {live}] + 1.0f;
    }}
    #pragma unroll
    for (int i = 0; i < {live}; ++i) data[i * 32] = live[i];{shared if static_floats else ""}
}}
"""


def dynamic_sizes(per_sm: int, most: int, static: int) -> list[int]:
    """Return sizes at and around the steps in the number of blocks, and multiples of 8 KB."""
    borders = (per_sm // blocks // 128 * 128 - 1024 - static for blocks in range(1, 33))
    near = {border + step for border in borders for step in (-1, 0, 1)}
    return sorted(size for size in near | set(range(0, most, 8192)) if 0 <= size <= most + 1)


def rows() -> Iterator[Row]:
    """Query every case.

    Raises:
        LabError: no GPU, or no compiler.
    """
    device, target = current_device(), device_target()

    def probe(live: int, static_floats: int = 0, cap: int = 0) -> Probe:
        compiled = compile_source(source(live, static_floats, cap), "hold.cu", target, "hold")
        return Probe(load_function(compiled, "hold"), device.shared_per_block)

    by_live = {live: probe(live) for live in LIVE_VALUES}
    capped = [probe(255, cap=cap) for cap in CAPS]
    small = by_live[1]
    with_static = [probe(1, floats) for floats in STATIC_FLOATS]
    for one in (*by_live.values(), *capped):
        yield from (one.query(threads, 0) for threads in THREADS)
    for one in (small, by_live[57], *with_static):
        for dynamic in dynamic_sizes(device.shared_per_sm, one.most_dynamic, one.static):
            yield from (one.query(threads, dynamic) for threads in (32, 256))
    yield from (small.query(threads, 0) for threads in (*range(1, 1025, 9), 1025, 2048))
    dice = random.Random(1)
    probes = [*by_live.values(), *capped, *with_static]
    for _ in range(800):
        one = dice.choice(probes)
        yield one.query(dice.randint(1, 1024), dice.randint(0, one.most_dynamic))
    for preference in (0, 25, 50, 75, 100):
        for dynamic in range(0, small.most_dynamic, 4096):
            yield small.query(128, dynamic, preference)


def book_kernels() -> Iterator[tuple[str, Row]]:
    """Query every kernel and variant of the book as launched at 4096×4096 and K = 64."""
    most = current_device().shared_per_block
    for kernel in load_kernels(variants=True):
        shape = kernel.launch_shape(4096, 4096, 64)
        function = load_function(compile_kernel(kernel, device_target()), ENTRY)
        yield kernel.name, Probe(function, most).query(shape.threads, shape.shared_bytes)


def record(path: Path) -> int:
    """Query all cases, write the file, and return the number of cases."""
    device = current_device()
    cases, kernels = list(dict.fromkeys(rows())), list(book_kernels())
    head = {
        "device": device.name,
        "compute_capability": device.compute_capability,
        "driver": driver_version(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "columns": COLUMNS,
    }
    text = json.dumps(head)[:-1] + f',\n"kernels": {_lines(kernels)},\n"cases": {_lines(cases)}}}\n'
    write_whole(path, text)
    return len(cases) + len(kernels)


def _lines(entries: Iterable[Any]) -> str:
    """Return a JSON list with one entry per line."""
    return "[\n" + ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries) + "]"


def main() -> None:
    """Write the file named on the command line."""
    if len(sys.argv) != 2:
        sys.exit("Say where to write: python -m sgemm_lab.measuring.occupancy FILE.json")
    path = Path(sys.argv[1])
    print(f"Wrote {record(path):,} cases to {path}.")


if __name__ == "__main__":
    main()
