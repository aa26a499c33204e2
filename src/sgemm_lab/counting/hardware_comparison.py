"""Compare simulated counts with a GPU's hardware counters, kernel by kernel."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.counting.count_cache import LAUNCHES, cached_count
from sgemm_lab.counting.kernel_counts import COUNTS, multiply_whole_numbers
from sgemm_lab.cuda.shipped_ptx import archived_ptx
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.gpu_record import Record
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.text import size_text

REGULAR: Size = (256, 256, 256)
RAGGED: Size = (255, 257, 254)


@dataclass(frozen=True)
class Comparison:
    """One launch, counted twice. The GPU may lack some of the names in ``COUNTS``."""

    kernel: str
    size: Size
    here: dict[str, int]
    gpu: dict[str, int]

    @property
    def differing(self) -> list[str]:
        """The counts that differ, by name."""
        return [name for name, count in self.gpu.items() if self.here[name] != count]


def compare(sizes: Sequence[Size], records: Sequence[Record]) -> list[Comparison]:
    """Compare counts with recorded counters. Counts that are not cached are simulated on all cores.

    A launch without recorded counters is left out, and so is one that the simulator cannot run. The
    result is in the order of the sizes, then of the book's kernels and variants.
    """
    launches, recorded = [], []
    for size in sizes:
        for kernel in load_kernels(variants=True):
            found = next(filter(None, (record.counted(kernel, size) for record in records)), None)
            if found is not None:
                launches.append((kernel, size))
                recorded.append(found.values)
    here = counts_of_all(launches)
    return [
        Comparison(
            kernel.name, size, counts, {name: round(gpu[name]) for name in COUNTS if name in gpu}
        )
        for (kernel, size), counts, gpu in zip(launches, here, recorded, strict=True)
        if counts
    ]


def counts_of_all(launches: Sequence[tuple[Kernel, Size]]) -> list[dict[str, int]]:
    """Return the counts of several launches; those not cached are simulated on all cores.

    Those of a launch that the simulator cannot run are empty.
    """
    names = [launch_name(*launch) for launch in launches]
    texts = [archived_ptx(kernel) for kernel, _ in launches]
    found: dict[str, Any] = dict(
        zip(names, map(partial(cached_count, LAUNCHES), names, texts), strict=True)
    )
    missing = [
        (*launch, text)
        for name, launch, text in zip(names, launches, texts, strict=True)
        if found[name] is None
    ]
    if missing:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # each thread has a process of Node
            counted = pool.map(_counts_if_any, *zip(*missing, strict=True))
            found |= {
                launch_name(kernel, size): counts
                for (kernel, size, _), counts in zip(missing, counted, strict=True)
            }
    return [found[name] for name in names]


def simulated_counts(kernel: Kernel, size: Size, ptx: str) -> dict[str, int]:
    """Simulate one launch; return its counts by the names in ``COUNTS``.

    Raises:
        PtxError: the simulator lacks an instruction of the kernel.
    """
    shape = kernel.launch_shape(*size)
    made = multiply_whole_numbers(ptx, shape, size, check_hazards=False)
    total = made.result.counts.total
    counts: dict[str, int] = {name: getattr(total, name) for name in COUNTS}
    # A GPU's counters of global loads have the asynchronous copies of warps among them, and not
    # those of TMA, which pass no lanes.
    of_warps = (line for line in made.result.counts.lines.values() if line.async_copy_requests)
    counts["global_load_requests"] += total.async_copy_reads
    counts["global_load_sectors"] += sum(line.async_copy_sectors for line in of_warps)
    return counts


def _counts_if_any(kernel: Kernel, size: Size, ptx: str) -> dict[str, int]:
    try:
        return simulated_counts(kernel, size, ptx)
    except PtxError:  # an instruction that the simulator does not know
        return {}


def launch_name(kernel: Kernel, size: Size) -> str:
    """Return the name of a launch in the cache."""
    return f"{kernel.name} at {size_text(size)}"
