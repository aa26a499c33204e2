"""Take a record: run the race and the microbenchmarks on this machine's GPU, and keep them.

A run that was measured is never lost. Where it will be written is tried before anything is
measured; what stops the measuring leaves what was measured until then; and where the file cannot
be written after all, the run is kept in another place, which the message names.
"""

import math
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from sgemm_lab import __version__
from sgemm_lab.checking.sandbox import try_out
from sgemm_lab.cuda.compiler import load_nvrtc
from sgemm_lab.cuda.counters import take_counters
from sgemm_lab.cuda.launch import fits, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import check_writable
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.accuracy import accuracies, product_errors
from sgemm_lab.measuring.interleaved import (
    CUBLAS_CALL,
    Budget,
    Product,
    TimingInterrupted,
    WatchCard,
    contenders,
    is_graphed,
    race,
)
from sgemm_lab.measuring.methods import effects as measure_effects
from sgemm_lab.measuring.microbench import microbenchmarks
from sgemm_lab.measuring.sizes import Pace, has_room, measured_before
from sgemm_lab.records.gpu_record import (
    CUBLAS,
    CUBLAS_MODES,
    MATMUL,
    Accuracy,
    Counters,
    Device,
    Measurement,
    Reading,
    Record,
    Run,
    Spread,
)
from sgemm_lab.records.store import RECORDS, add_run, runs_in_file
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
"""Multiples of 4 but of no tile, odd, one off a power of two, tall, flat, deep, one row."""


COUNTER_SIZES: tuple[Size, ...] = ((256, 256, 256), (255, 257, 254), (4096, 4096, 4096))
"""A size that fits every tile and one that fits none, small enough to simulate; and a large one."""


_ROOM = 2**20
"""Bytes that a run may take in a file: several times what the longest takes."""

Progress = Callable[[str], None]


class Dispatcher(Protocol):
    """A product that takes one of several kernels, by the size."""

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute c = a·b for float32 matrices on the GPU, row-major."""

    def kernel_for(self, size: Size) -> Kernel:
        """Return the kernel that it takes for M, N, K."""


def take_record(
    kernels: Sequence[Kernel],
    folder: Path,
    *,
    sizes: Iterable[Size] = (*SQUARE_SIZES, *RAGGED_SIZES),
    micro: bool = True,
    budget: Budget | None = None,
    matmul: Dispatcher | None = None,
    time_limit: float = math.inf,
    go_on: bool = False,
    progress: Progress = lambda _: None,
) -> tuple[Path, Run]:
    """Measure kernels and cuBLAS at all sizes, add the run to the GPU's file, return both.

    ``matmul`` is measured beside the kernels; its measurements say which kernel it took. With
    ``go_on`` the sizes are left out that a run of the last day measured before it was stopped.

    Raises:
        LabError: as ``measure_run`` does; the file cannot be added to, which is found out before
            anything is measured; or it could not be written in the end, and the message says where
            the run is kept instead.
    """
    device = current_device()
    runs = _look_first(folder, device)
    sizes = list(sizes)
    if go_on:
        others = [CUBLAS, *([MATMUL] if matmul is not None else [])]
        sizes = _left(sizes, measured_before(runs, new_run(), kernels, others), progress)
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
    return keep_run(folder, device, run), run


def _left(sizes: list[Size], done: set[Size], progress: Progress) -> list[Size]:
    left = [size for size in sizes if size not in done] or sizes
    if len(left) < len(sizes):
        progress(
            f"{len(sizes) - len(left)} of {len(sizes)} sizes stand in the file already, of a run "
            "that was stopped: going on with the others. --anew measures all."
        )
    return left


@dataclass
class _Taken:
    """What was measured so far, and whether all of it was."""

    measurements: list[Measurement] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    counters: list[Counters] = field(default_factory=list)
    accuracies: list[Accuracy] = field(default_factory=list)
    complete: bool = True

    def __bool__(self) -> bool:
        return bool(self.measurements or self.readings or self.counters or self.accuracies)


@contextmanager
def _keeping(taken: _Taken, progress: Progress) -> Iterator[None]:
    """Let whatever ends the measuring, Ctrl-C or an error, leave what was taken until then.

    Raises:
        LabError: nothing was taken; the sentence says why.
    """
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
    """Measure kernels and cuBLAS at all sizes; on request the GPU's card, and what moves a number.

    Small products are measured as CUDA graphs (``race.is_graphed``), kernels and cuBLAS alike.
    What the races would take longer for than ``time_limit`` seconds in all is left out, and so is
    a size that the GPU's memory has no room for; ``progress`` is told.

    A kernel that is not the book's is first tried out in a process of its own, where a time limit
    ends a loop that never would. Ctrl-C or an error ends the run early. What was measured until
    then is kept, marked as not complete.

    Raises:
        LabError: no GPU, a kernel that cannot be loaded or does not end, or nothing was measured.
    """
    sizes = list(sizes)
    base = new_run()
    for kernel in kernels:
        if not kernel.is_builtin:
            progress(f"{kernel.name} is tried out")
            try_out(kernel, sizes)
    taken, pace, began = _Taken(), Pace(budget or Budget()), time.monotonic()
    with WatchCard() as card, _keeping(taken, progress):
        products = contenders(kernels) if sizes else {}
        if matmul is not None:
            products[MATMUL] = matmul
        for number, size in enumerate(sizes, 1):
            progress(f"size {number} of {len(sizes)}: M, N, K = {', '.join(map(str, size))}")
            graphs = is_graphed(size)
            racing = {
                name: product
                for name, product in products.items()
                if not (graphs and name == CUBLAS_MODES["fp16"])
            }
            racing = _measurable(racing, size, pace, began + time_limit, progress)
            if not racing:
                continue
            try:
                found = race(racing, size, budget, progress, graphs)
                pace.learn(found)
                errors = product_errors({one.kernel: racing[one.kernel] for one in found}, size)
                taken.measurements += [replace(one, error=errors[one.kernel]) for one in found]
            except TimingInterrupted as stop:
                taken.measurements += stop.measurements
                raise
        if sizes and not taken.measurements:
            raise LabError("No size could be measured here: choose smaller ones, or more time.")
        for reading in microbenchmarks(progress) if micro else ():
            taken.readings.append(reading)
        for reading in measure_effects(progress) if effects else ():
            taken.readings.append(reading)
    prints = {kernel.name: kernel.fingerprint for kernel in kernels}

    def told(found: Measurement) -> Measurement:
        seconds = _five_digits(found.seconds)
        if matmul is not None and found.kernel == MATMUL:
            took = matmul.kernel_for(found.size)
            return replace(found, fingerprint=took.fingerprint, seconds=seconds, picked=took.name)
        return replace(found, fingerprint=prints.get(found.kernel, ""), seconds=seconds)

    return replace(
        base,
        complete=taken.complete,
        measurements=tuple(told(found) for found in taken.measurements),
        readings=tuple(replace(r, samples=_five_digits(r.samples)) for r in taken.readings),
        clock_mhz=Spread.of(card.clock_mhz),
        power_w=Spread.of(card.power_w),
        temperature_c=Spread.of(card.temperature_c),
    )


def _measurable(
    racing: dict[str, Any], size: Size, pace: Pace, end: float, progress: Progress
) -> dict[str, Any]:
    """Return the products that this GPU has memory and time for at a size; say what is left out."""
    free = _free_bytes()
    if not has_room(size, free):
        progress(f"left out: the GPU has {bytes_text(free)} of memory free, too few for this size")
        return {}
    kept = pace.in_time(list(racing), size, end - time.monotonic())
    late = [name for name in racing if name not in kept]
    if late:
        minutes = sum(pace.predicted(name, size) for name in late) / 60
        who = ", ".join(late) if kept else "this size"
        progress(f"left out: {who} would take {minutes:.0f} minutes; --time-limit gives more time")
    return {name: racing[name] for name in kept}


def _free_bytes() -> int:
    """Return how much of the GPU's memory nothing uses, what CuPy keeps for later included."""
    cupy = require_gpu()
    cupy.get_default_memory_pool().free_all_blocks()
    return int(cupy.cuda.runtime.memGetInfo()[0])


def record_counters(
    kernels: Sequence[Kernel],
    folder: Path,
    sizes: Iterable[Size] = COUNTER_SIZES,
    progress: Progress = lambda _: None,
) -> tuple[Path, Run]:
    """Take the GPU's own counters of each kernel, add them to the GPU's file, return both.

    Kernels that refuse a size are left out at that size.

    Raises:
        LabError: no GPU, no counters to be had, or as ``take_record`` where files are concerned.
    """
    device = current_device()
    _look_first(folder, device)
    base, taken = new_run(), _Taken()
    with WatchCard() as card, _keeping(taken, progress):
        for size in sizes:
            fitting = [kernel for kernel in kernels if fits(kernel, size)]
            progress(f"counters at M, N, K = {', '.join(map(str, size))}")
            for kernel, values in zip(fitting, take_counters(fitting, size), strict=True):
                taken.counters.append(Counters(kernel.name, kernel.fingerprint, *size, values))
    run = replace(
        base,
        complete=taken.complete,
        counters=tuple(taken.counters),
        clock_mhz=Spread.of(card.clock_mhz),
        power_w=Spread.of(card.power_w),
        temperature_c=Spread.of(card.temperature_c),
    )
    return keep_run(folder, device, run), run


def record_errors(
    kernels: Sequence[Kernel],
    folder: Path,
    progress: Progress = lambda _: None,
    others: Mapping[str, tuple[Product, str]] | None = None,
) -> tuple[Path, Run]:
    """Measure how far off kernels and cuBLAS are on every class of inputs; return file and run.

    Args:
        kernels: what multiplies.
        folder: of records.
        progress: is told what is done.
        others: further products by name, each with the fingerprint of what it is made of.

    Raises:
        LabError: as ``take_record`` does.
    """
    device = current_device()
    _look_first(folder, device)
    base, taken = new_run(), _Taken()
    others = others or {}
    prints = {kernel.name: kernel.fingerprint for kernel in kernels}
    prints |= {name: fingerprint for name, (_, fingerprint) in others.items()}
    products = contenders(kernels) | {name: product for name, (product, _) in others.items()}
    with _keeping(taken, progress):
        for found in accuracies(products, progress):
            taken.accuracies.append(replace(found, fingerprint=prints.get(found.kernel, "")))
    run = replace(base, complete=taken.complete, accuracies=tuple(taken.accuracies))
    return keep_run(folder, device, run), run


def keep_run(folder: Path, device: Device, run: Run) -> Path:
    """Add a run to the GPU's file, and return the file's path.

    Where that fails, the run is written to a file of its own, in the current folder or else in the
    one for temporary files.

    Raises:
        LabError: the run is not in the GPU's file; the message says why, and where it is.
    """
    try:
        return add_run(folder, device, run)
    except LabError as fault:
        reason = str(fault)
    when = run.date.replace("-", "").replace(":", "")
    name = f"{RECORDS.path(folder, device.name).stem}-{when}.json"
    for save in (RECORDS.save, RECORDS.save_unchecked):
        for place in (Path.cwd(), Path(tempfile.gettempdir())):
            try:
                save(place / name, Record(device, (run,)))
            except LabError:
                continue
            raise LabError(
                f"{reason} The run is not lost: it is kept in {place / name}. "
                f"When that is mended: sgemm-lab add {place / name}"
            )
    raise LabError(
        f"{reason} Nor could the run be kept in the current folder or in a temporary one."
    )


def _look_first(folder: Path, device: Device) -> tuple[Run, ...]:
    """Return the runs of the GPU's file, once it is sure that it can be added to.

    Minutes of measuring depend on that, so it is found out before.
    """
    path = RECORDS.path(folder, device.name)
    check_writable(folder, _ROOM + (path.stat().st_size if path.is_file() else 0))
    return runs_in_file(path, device)


def current_device() -> Device:
    """Describe the GPU in this machine.

    Raises:
        LabError: no GPU.
    """
    cupy = require_gpu()
    attributes = cupy.cuda.Device().attributes
    capability = str(cupy.cuda.Device().compute_capability)
    return Device(
        name=cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode(
            errors="replace"
        ),
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


def new_run() -> Run:
    """Return a run of nothing yet: its date, and the versions of what it runs with.

    It is made before anything is measured: a GPU that fails on the way answers no questions.

    Raises:
        LabError: no GPU.
    """
    cupy = require_gpu()
    return Run(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
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


def _five_digits(numbers: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(f"{number:.5g}") for number in numbers)


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
