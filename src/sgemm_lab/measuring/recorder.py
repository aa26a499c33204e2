"""Take a record: run timings and microbenchmarks on this machine's GPU, and write them.

The file is checked before the first measurement, and an interruption keeps the results so far.
"""

import math
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from sgemm_lab import __version__
from sgemm_lab.catalogue import is_builtin
from sgemm_lab.checking.sandbox import try_out
from sgemm_lab.cuda.compiler import load_nvrtc
from sgemm_lab.cuda.counters import cublas_counters, take_counters
from sgemm_lab.cuda.launch import current_device, fits, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import check_writable
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.ablation import ablation
from sgemm_lab.measuring.accuracy import accuracies, product_errors
from sgemm_lab.measuring.interleaved import (
    CUBLAS_CALL,
    Budget,
    Product,
    Progress,
    TimingInterrupted,
    contenders,
    is_graphed,
    time_interleaved,
    watch_card,
)
from sgemm_lab.measuring.methods import effects as measure_effects
from sgemm_lab.measuring.microbench import microbenchmarks
from sgemm_lab.measuring.power import power as measure_power
from sgemm_lab.measuring.sizes import Pace, fits_memory
from sgemm_lab.records.gpu_record import (
    CUBLAS,
    CUBLAS_MODES,
    MATMUL,
    Accuracy,
    Counters,
    Device,
    Measurement,
    Reading,
    Run,
    five_digits,
)
from sgemm_lab.records.store import RECORDS
from sgemm_lab.text import bytes_text

SQUARE_SIZES: tuple[Size, ...] = tuple((n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192))

RAGGED_SIZES: tuple[Size, ...] = (
    (1000, 1000, 1000),
    (1023, 1025, 1021),
    (4095, 4097, 4093),
    (16384, 64, 512),
    (64, 16384, 512),
    (300, 500, 7000),
    (129, 129, 65537),
    (1, 4096, 4096),
)
"""Multiples of 4 but of no tile, odd, near a power of two, tall, flat, deep, one row."""


COUNTER_SIZES: tuple[Size, ...] = ((256, 256, 256), (255, 257, 254), (4096, 4096, 4096))
"""A size that all tiles divide, one that none divides, both small enough to simulate; a large
one."""


COUNTER_BATCH = 8
"""Kernels that one process of Nsight Compute launches. Starting one takes about three seconds."""


class Dispatcher(Protocol):
    """A product that chooses a kernel by size."""

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute c = a·b for row-major float32 matrices on the GPU."""

    def kernel_for(self, size: Size) -> Kernel:
        """Return the kernel for M, N, K."""


def take_record(
    kernels: Sequence[Kernel],
    folder: Path,
    *,
    sizes: Iterable[Size] = (*SQUARE_SIZES, *RAGGED_SIZES),
    micro: bool = True,
    budget: Budget | None = None,
    matmul: Dispatcher | None = None,
    time_limit: float = math.inf,
    progress: Progress = lambda _: None,
) -> tuple[Path, Run]:
    """Measure kernels and cuBLAS at all sizes, add the run to the GPU's file, return both.

    With ``micro`` the microbenchmarks run too, and a dispatcher is measured where one is given. The
    budget is per kernel and size; ``time_limit`` is of all timings, in seconds.
    """
    device = current_device()
    _check_file(folder, device)
    run = measure_run(
        kernels,
        sizes=sizes,
        micro=micro,
        effects=micro,
        budget=budget,
        matmul=matmul,
        time_limit=time_limit,
        progress=progress,
    )
    return RECORDS.add_run(folder, device, run), run


@dataclass
class _Taken:
    """The results so far."""

    measurements: list[Measurement] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    counters: list[Counters] = field(default_factory=list)
    accuracies: list[Accuracy] = field(default_factory=list)
    complete: bool = True

    def __bool__(self) -> bool:
        return bool(self.measurements or self.readings or self.counters or self.accuracies)


@contextmanager
def _keeping(taken: _Taken, progress: Progress) -> Iterator[None]:
    """Keep the results so far if Ctrl-C or an error ends the measurements."""
    try:
        yield
    except KeyboardInterrupt:
        taken.complete = False
        if not taken:
            raise LabError(
                "The run was stopped before anything was measured. Nothing was written."
            ) from None
    except Exception as fault:
        taken.complete = False
        if not taken and isinstance(fault, LabError):
            raise
        if not taken:
            raise LabError(f"Nothing was measured: {fault}") from fault
        progress(f"The run ends here: {fault}")


def measure_run(
    kernels: Sequence[Kernel],
    *,
    sizes: Iterable[Size],
    micro: bool,
    effects: bool = False,
    budget: Budget | None = None,
    matmul: Dispatcher | None = None,
    time_limit: float = math.inf,
    progress: Progress = lambda _: None,
) -> Run:
    """Measure kernels and cuBLAS; on request run the microbenchmarks, ``effects``,
    ``parts`` and ``power``.

    Small products are measured as CUDA graphs (``interleaved.is_graphed``). Products that would
    exceed the total ``time_limit`` in seconds, and sizes that do not fit into the GPU's memory, are
    skipped; ``progress`` is called with the reason.

    A reader's kernel first runs in a separate process with a time limit, because it may not
    terminate. Ctrl-C or an error ends the run; the results so far are returned as incomplete.
    """
    sizes = list(sizes)
    base = new_run()
    for kernel in kernels:
        if not is_builtin(kernel):
            progress(f"{kernel.name} is tried out")
            try_out(kernel, sizes)
    taken, pace, began = _Taken(), Pace(budget or Budget()), time.monotonic()
    with watch_card() as card, _keeping(taken, progress):
        products = contenders(kernels) if sizes else {}
        if matmul is not None:
            products[MATMUL] = matmul
        for number, size in enumerate(sizes, 1):
            progress(f"size {number} of {len(sizes)}: M, N, K = {', '.join(map(str, size))}")
            graphs = is_graphed(size)
            chosen = {
                name: product
                for name, product in products.items()
                if not (graphs and name == CUBLAS_MODES["fp16"])
            }
            chosen = _measurable(chosen, size, pace, began + time_limit, progress)
            if not chosen:
                continue
            try:
                found = time_interleaved(chosen, size, budget, progress, graphs)
                pace.update(found)
                errors = product_errors({one.kernel: chosen[one.kernel] for one in found}, size)
                taken.measurements += [replace(one, error=errors[one.kernel]) for one in found]
            except TimingInterrupted as stop:
                taken.measurements += stop.measurements
                raise
        if sizes and not taken.measurements:
            raise LabError("No size could be measured here: choose smaller ones, or more time.")
        for reading in microbenchmarks(progress) if micro else ():
            taken.readings.append(reading)
        for effect in (measure_effects, ablation, measure_power) if effects else ():
            taken.readings += effect(progress)
    prints = {kernel.name: kernel.fingerprint for kernel in kernels}

    def completed(found: Measurement) -> Measurement:
        seconds = tuple(map(five_digits, found.seconds))
        if matmul is not None and found.kernel == MATMUL:
            kernel = matmul.kernel_for(found.size)
            return replace(
                found, fingerprint=kernel.fingerprint, seconds=seconds, picked=kernel.name
            )
        return replace(found, fingerprint=prints.get(found.kernel, ""), seconds=seconds)

    return replace(
        base,
        complete=taken.complete,
        measurements=tuple(completed(found) for found in taken.measurements),
        readings=tuple(
            replace(r, samples=tuple(map(five_digits, r.samples))) for r in taken.readings
        ),
        **card.spreads(),
    )


def _measurable(
    products: dict[str, Any], size: Size, pace: Pace, end: float, progress: Progress
) -> dict[str, Any]:
    """Return the products that fit into memory and time; report the skipped ones."""
    free = _free_bytes()
    if not fits_memory(size, free):
        progress(f"skipped: {bytes_text(free)} of free GPU memory are too little for this size")
        return {}
    chosen = pace.in_time(list(products), size, end - time.monotonic())
    late = [name for name in products if name not in chosen]
    if late:
        minutes = sum(pace.predicted(name, size) for name in late) / 60
        skipped = ", ".join(late) if chosen else "this size"
        progress(f"skipped: {skipped} would take {minutes:.0f} minutes; raise --time-limit")
    return {name: products[name] for name in chosen}


def _free_bytes() -> int:
    """Return the free memory of the GPU in bytes, after freeing CuPy's cached blocks."""
    cupy = require_gpu()
    cupy.get_default_memory_pool().free_all_blocks()
    return int(cupy.cuda.runtime.memGetInfo()[0])


def record_counters(
    kernels: Sequence[Kernel],
    folder: Path,
    sizes: Iterable[Size] = COUNTER_SIZES,
    progress: Progress = lambda _: None,
    *,
    with_cublas: bool = False,
) -> tuple[Path, Run]:
    """Read the hardware counters of each kernel, add them to the GPU's file, return file and run.

    Kernels are skipped at sizes that they refuse. The file is written after every ``COUNTER_BATCH``
    launches.
    """
    device = current_device()
    _check_file(folder, device)
    base, taken = new_run(), _Taken()
    with watch_card() as card, _keeping(taken, progress):
        for size in sizes:
            progress(f"counters at M, N, K = {', '.join(map(str, size))}")
            if with_cublas:
                taken.counters.append(Counters(CUBLAS, "", *size, cublas_counters(size)))
            fitting = [kernel for kernel in kernels if fits(kernel, size)]
            for start in range(0, len(fitting), COUNTER_BATCH):
                batch = fitting[start : start + COUNTER_BATCH]
                for kernel, values in zip(batch, take_counters(batch, size), strict=True):
                    found = Counters(kernel.name, kernel.fingerprint, *size, values)
                    taken.counters.append(found)
                RECORDS.add_run(folder, device, replace(base, counters=tuple(taken.counters)))
    run = replace(base, complete=taken.complete, counters=tuple(taken.counters), **card.spreads())
    return RECORDS.add_run(folder, device, run), run


def record_errors(
    kernels: Sequence[Kernel],
    folder: Path,
    progress: Progress = lambda _: None,
    others: Mapping[str, tuple[Product, str]] | None = None,
) -> tuple[Path, Run]:
    """Measure errors of kernels and cuBLAS for all input distributions; return file and run.

    ``others`` are further products by name, each with the fingerprint of its source.
    """
    device = current_device()
    _check_file(folder, device)
    base, taken = new_run(), _Taken()
    others = others or {}
    prints = {kernel.name: kernel.fingerprint for kernel in kernels}
    prints |= {name: fingerprint for name, (_, fingerprint) in others.items()}
    products = contenders(kernels) | {name: product for name, (product, _) in others.items()}
    with _keeping(taken, progress):
        for found in accuracies(products, progress):
            taken.accuracies.append(replace(found, fingerprint=prints.get(found.kernel, "")))
    run = replace(base, complete=taken.complete, accuracies=tuple(taken.accuracies))
    return RECORDS.add_run(folder, device, run), run


def _check_file(folder: Path, device: Device) -> None:
    """Check that the GPU's file is valid and writable, before minutes of measurements."""
    path = RECORDS.path(folder, device.name)
    check_writable(folder, 2**20 + (path.stat().st_size if path.is_file() else 0))
    RECORDS.runs(folder, device)


def new_run() -> Run:
    """Return a run without measurements, with its date and software versions.

    Call it before the measurements, because a GPU that has failed cannot be queried.
    """
    cupy = require_gpu()
    return Run(
        date=now(),
        driver=driver_version(),
        cuda=_version(cupy.cuda.runtime.runtimeGetVersion()),
        nvrtc=".".join(str(part) for part in load_nvrtc().getVersion()),
        cupy=cupy.__version__,
        package=__version__,
        cublas_call=CUBLAS_CALL,
        complete=False,
        measurements=(),
        readings=(),
    )


def now() -> str:
    """Return the time as the date of a run."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def driver_version() -> str:
    """Return the version of NVIDIA's driver, such as "580.65.06", or "unknown"."""
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return answer.stdout.strip()


def _version(number: int) -> str:
    """Convert a CUDA version number: 13000 to "13.0"."""
    return f"{number // 1000}.{number % 1000 // 10}"
