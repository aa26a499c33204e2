"""What was counted by simulation beside what a GPU's own counters said, kernel by kernel."""

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from sgemm_lab.counting.of_kernel import COUNTS, count
from sgemm_lab.kernel import Kernel, Size, load_kernels
from sgemm_lab.records.data import Record

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


def compare(
    sizes: Sequence[Size], records: Sequence[Record], kernels: Sequence[Kernel] | None = None
) -> list[Comparison]:
    """Simulate kernels on all of the processor's cores, beside the recorded counters.

    ``kernels`` are by default all of the book, with their variants. A launch without recorded
    counters is left out. The result is in the order of the sizes, then of the kernels.

    Raises:
        LabError: a kernel cannot be compiled here.
    """
    launches, recorded = [], []
    for size in sizes:
        for kernel in load_kernels(variants=True) if kernels is None else kernels:
            found = next(filter(None, (record.counted(kernel, size) for record in records)), None)
            if found is not None:
                launches.append((kernel, size))
                recorded.append(found.values)
    # New processes rather than copies of this one, which may run threads, as a notebook does.
    workers = min(os.cpu_count() or 1, max(1, len(launches)))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        here = list(pool.map(counts_of, *zip(*launches, strict=True))) if launches else []
    return [
        Comparison(
            kernel.name, size, counts, {name: round(gpu[name]) for name in COUNTS if name in gpu}
        )
        for (kernel, size), counts, gpu in zip(launches, here, recorded, strict=True)
    ]


def counts_of(kernel: Kernel, size: Size) -> dict[str, int]:
    """Simulate one launch; return its counts by the names in ``COUNTS``."""
    total = count(kernel, size, check_hazards=False).result.counts.total
    return {name: getattr(total, name) for name in COUNTS}
