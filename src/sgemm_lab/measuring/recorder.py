"""Take a record: run the race and the microbenchmarks on this machine's GPU, and keep them."""

import subprocess
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from sgemm_lab import __version__
from sgemm_lab.cuda.compiler import load_nvrtc
from sgemm_lab.cuda.counters import take_counters
from sgemm_lab.cuda.launch import fits, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.methods import effects as measure_effects
from sgemm_lab.measuring.microbench import microbenchmarks
from sgemm_lab.measuring.race import (
    CUBLAS_CALL,
    Budget,
    CardReadings,
    RaceInterrupted,
    WatchCard,
    contenders,
    race,
)
from sgemm_lab.records.data import (
    Counters,
    Device,
    KernelSamples,
    Measurement,
    Reading,
    Run,
    Spread,
)
from sgemm_lab.records.store import add_run, fingerprint, load_record, record_path

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
"""Multiples of 4 but of no tile, odd, one off a power of two, tall, flat, deep, one row."""


COUNTER_SIZES: tuple[Size, ...] = ((256, 256, 256), (255, 257, 254), (4096, 4096, 4096))
"""A size that fits every tile and one that fits none, small enough to simulate; and a large one."""


def take_record(
    kernels: Sequence[Kernel],
    folder: Path,
    *,
    sizes: Iterable[Size] = (*SQUARE_SIZES, *RAGGED_SIZES),
    micro: bool = True,
    budget: Budget | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Path, Run]:
    """Measure kernels and cuBLAS at all sizes, add the run to the GPU's file, return both.

    Raises:
        LabError: as ``measure_run`` does, or a record file that cannot be read.
    """
    device = current_device()
    _look_first(folder, device)
    run = measure_run(
        kernels, sizes=sizes, micro=micro, effects=micro, budget=budget, progress=progress
    )
    return add_run(folder, device, run), run


def measure_run(
    kernels: Sequence[Kernel],
    *,
    sizes: Iterable[Size],
    micro: bool,
    effects: bool = False,
    budget: Budget | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Run:
    """Measure kernels and cuBLAS at all sizes; on request the GPU's card, and what moves a number.

    Ctrl-C ends the run early. What was measured until then is kept, marked as not complete.

    Raises:
        LabError: no GPU, a kernel that cannot be loaded, or nothing measured before Ctrl-C.
    """
    sizes = list(sizes)
    measurements: list[Measurement] = []
    readings: list[Reading] = []
    complete = True
    with WatchCard() as card:
        try:
            products = contenders(kernels) if sizes else {}
            for number, size in enumerate(sizes, 1):
                progress(f"size {number} of {len(sizes)}: M, N, K = {', '.join(map(str, size))}")
                measurements += race(products, size, budget, progress)
            if micro:
                for reading in microbenchmarks(progress):
                    readings.append(reading)
            if effects:
                for reading in measure_effects(progress):
                    readings.append(reading)
        except RaceInterrupted as stop:
            measurements += stop.measurements
            complete = False
        except KeyboardInterrupt:
            complete = False
    if not measurements and not readings:
        raise LabError("The run was stopped before anything was measured. Nothing was written.")
    return new_run(kernels, measurements, readings, card, complete=complete)


def record_counters(
    kernels: Sequence[Kernel],
    folder: Path,
    sizes: Iterable[Size] = COUNTER_SIZES,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Path, Run]:
    """Take the GPU's own counters of each kernel, add them to the GPU's file, return both.

    Kernels that refuse a size are left out at that size.

    Raises:
        LabError: no GPU, or no counters to be had.
    """
    device = current_device()
    _look_first(folder, device)
    taken: list[Counters] = []
    with WatchCard() as card:
        for size in sizes:
            fitting = [kernel for kernel in kernels if fits(kernel, size)]
            progress(f"counters at M, N, K = {', '.join(map(str, size))}")
            for kernel, values in zip(fitting, take_counters(fitting, size), strict=True):
                taken.append(Counters(kernel.name, fingerprint(kernel), *size, values))
    run = new_run(kernels, [], [], card, complete=True, counters=taken)
    return add_run(folder, device, run), run


def _look_first(folder: Path, device: Device) -> None:
    """Find out whether the GPU's file can be added to, before minutes of measuring depend on it."""
    path = record_path(folder, device.name)
    if path.exists():
        load_record(path)


def current_device() -> Device:
    """Describe the GPU in this machine.

    Raises:
        LabError: no GPU.
    """
    cupy = require_gpu()
    attributes = cupy.cuda.Device().attributes
    capability = str(cupy.cuda.Device().compute_capability)
    return Device(
        name=cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode(),
        compute_capability=f"{capability[:-1]}.{capability[-1]}",
        sms=int(attributes["MultiProcessorCount"]),
        max_clock_mhz=attributes["ClockRate"] / 1e3,
        memory_clock_mhz=attributes["MemoryClockRate"] / 1e3,
        memory_bus_bits=int(attributes["GlobalMemoryBusWidth"]),
        l2_bytes=int(attributes["L2CacheSize"]),
        shared_per_sm=int(attributes["MaxSharedMemoryPerMultiprocessor"]),
        shared_per_block=int(attributes["MaxSharedMemoryPerBlockOptin"]),
        registers_per_sm=int(attributes["MaxRegistersPerMultiprocessor"]),
    )


def new_run(
    kernels: Iterable[Kernel],
    measurements: Iterable[Measurement],
    readings: Iterable[Reading],
    card: CardReadings,
    *,
    complete: bool,
    counters: Iterable[Counters] = (),
) -> Run:
    """Put a run together from what was measured here and now.

    Raises:
        LabError: no GPU.
    """
    cupy = require_gpu()
    prints = {kernel.name: fingerprint(kernel) for kernel in kernels}
    return Run(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        driver=driver_version(),
        cuda=_version(cupy.cuda.runtime.runtimeGetVersion()),
        nvrtc=".".join(str(part) for part in load_nvrtc().getVersion()),
        cupy=cupy.__version__,
        package=__version__,
        cublas_call=CUBLAS_CALL,
        complete=complete,
        measurements=tuple(
            KernelSamples(
                m.kernel, prints.get(m.kernel, ""), m.m, m.n, m.k, m.launches,
                tuple(float(f"{s:.5g}") for s in m.seconds),
            )
            for m in measurements
        ),
        readings=tuple(
            Reading(r.benchmark, r.parameter, r.unit, tuple(float(f"{s:.5g}") for s in r.samples))
            for r in readings
        ),
        counters=tuple(counters),
        clock_mhz=Spread.of(card.clock_mhz),
        power_w=Spread.of(card.power_w),
        temperature_c=Spread.of(card.temperature_c),
    )  # fmt: skip


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
    """Return 13000 as "13.0", the way CUDA counts its versions."""
    return f"{number // 1000}.{number % 1000 // 10}"
