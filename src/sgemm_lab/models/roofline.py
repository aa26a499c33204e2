"""Roofs of GPUs, and points of kernels under them, from data sheets and records.

A roof is a bandwidth of a memory level (GB/s) or a rate of arithmetic (GFLOP/s). A kernel's
intensity at a level is its FLOP over the bytes it moves there; the roof allows
intensity × bandwidth, and never more than the rate of arithmetic.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sgemm_lab.gpu import GPUS, Gpu, is_model
from sgemm_lab.hardware import FLOP_PER_WARP_FMA, WAVEFRONT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.gpu_record import Device, Record, Run, Spread


@dataclass(frozen=True)
class Roof:
    """One roof. ``level`` is "dram", "l2", "l1", "shared", or "peak" for arithmetic."""

    level: str
    value: float
    """GB/s, or GFLOP/s for the peak."""
    source: str
    measured: bool


@dataclass(frozen=True)
class RooflinePoint:
    """A kernel in a roofline plot: FLOP per byte moved at a level, and measured GFLOP/s."""

    kernel: str
    level: str
    intensity: float
    gflops: float
    note: str


def data_sheet_roofs(gpu: Gpu) -> list[Roof]:
    """Return the roofs that follow from a data sheet."""
    return [
        Roof("peak", gpu.peak_gflops, f"{gpu.source}: SMs × lanes × 2 × clock", False),
        Roof("dram", gpu.dram_gbs, gpu.source, False),
        Roof("shared", gpu.shared_gbs, "arithmetic: SMs × 128 B × clock", False),
    ]


def measured_roofs(record: Record) -> list[Roof]:
    """Return the roofs of DRAM and L2 from the microbenchmarks of a record; empty without them.

    The rates of an SM follow from its design. A microbenchmark may not reach them, so a kernel
    could exceed a measured roof.
    """
    roofs: list[Roof] = []
    read = record.readings("bandwidth.read")
    found = {
        "dram": read[max(read)] if read else None,
        # The largest footprint that takes at most half of L2.
        "l2": read.get(max((size for size in read if 2 * size <= record.gpu.l2_bytes), default=-1)),
    }
    for level, entry in found.items():
        if entry is not None:
            roofs.append(Roof(level, entry.median, origin(record.gpu, entry.run), True))
    return roofs


def origin(device: Device, run: Run) -> str:
    """Return the source of a measured number, as a label."""
    return f"measured, {device.name}, {run.date[:10]}"


def attainable(roofs: Iterable[Roof], level: str, intensity: float) -> float:
    """Return the GFLOP/s that the roofs allow at an intensity (FLOP/B) of a level.

    Raises:
        ValueError: there is no roof for the level.
    """
    bandwidths = [roof.value for roof in roofs if roof.level == level]
    peaks = [roof.value for roof in roofs if roof.level == "peak"]
    if not bandwidths:
        raise ValueError(f"no roof for {level}")
    return min([intensity * bandwidths[0], *peaks])


def measured_points(
    record: Record, kernel: Kernel, gflops: float, size: Size, wavefronts: float
) -> list[RooflinePoint]:
    """Return a kernel's point at each memory level, from the GPU's byte counters.

    They are empty if the counters of this kernel at this size were not recorded. ``wavefronts`` are
    those of shared memory and L1 per warp FMA. Both use one pipe, in which a wavefront takes a
    clock that could move 128 bytes.
    """
    counters = record.counted(kernel, size)
    if counters is None:
        return []
    m, n, k = size
    flop = 2 * m * n * k
    values = counters.values
    # A GPU without one of these counters has no point at that level.
    moved = {
        "dram": values.get("dram_read_bytes", 0) + values.get("dram_write_bytes", 0),
        "l2": values.get("l2_to_l1_bytes", 0),
    }
    counted = [
        RooflinePoint(
            kernel.name,
            level,
            flop / count,
            gflops,
            f"{count / 1e9:,.2f} GB moved, as the GPU counted",
        )
        for level, count in moved.items()
        if count > 0
    ]
    return [*counted, *simulated_points(kernel, gflops, wavefronts)]


def simulated_points(kernel: Kernel, gflops: float, wavefronts: float) -> list[RooflinePoint]:
    """Return a kernel's point at L1 and shared memory, which needs no counters of the GPU.

    ``wavefronts`` per warp FMA are simulated; the result is empty if they are not known.
    """
    if not wavefronts:
        return []
    note = f"{wavefronts:.4g} wavefronts of 128 bytes per multiply-add of a warp, simulated"
    intensity = FLOP_PER_WARP_FMA / (WAVEFRONT_BYTES * wavefronts)
    return [RooflinePoint(kernel.name, "shared", intensity, gflops, note)]


def records_of(records: Iterable[Record], gpu: Gpu) -> list[Record]:
    """Return the records of a GPU model, in order."""
    return [record for record in records if is_model(record.gpu.name, gpu)]


def all_gpus(records: Iterable[Record]) -> list[Gpu]:
    """Return the GPUs of the book, then those of records without a data sheet in the book.

    The latter use the driver's description, and lanes and threads of an SM from a GPU with the same
    compute capability. A GPU without such a relative, or without a memory clock, is omitted.
    """
    gpus = list(GPUS)
    for record in records:
        device = record.gpu
        alike = [gpu for gpu in GPUS if gpu.compute_capability == device.compute_capability]
        has_bandwidth = device.memory_clock_mhz * device.memory_bus_bits > 0
        if alike and has_bandwidth and not any(is_model(device.name, gpu) for gpu in gpus):
            gpus.append(_as_described(device, alike[0]))
    return gpus


def sheet_of(record: Record) -> Gpu | None:
    """Return the data sheet of a record's GPU, or its substitute (:func:`all_gpus`), or None."""
    return next((gpu for gpu in all_gpus([record]) if is_model(record.gpu.name, gpu)), None)


def _as_described(device: Device, alike: Gpu) -> Gpu:
    # Double data rate: two bits per line and clock.
    dram_gbs = 2 * device.memory_clock_mhz * device.memory_bus_bits / 8 / 1e3
    return replace(
        alike, id=re.sub(r"[^a-z0-9]+", "-", device.name.lower()).strip("-"), name=device.name,
        sms=device.sms, clock_mhz=round(device.max_clock_mhz), dram_gbs=dram_gbs,
        memory_bus_bits=device.memory_bus_bits, l2_bytes=device.l2_bytes,
        source="its driver",
    )  # fmt: skip


def clock_text(spread: Spread | None) -> str:
    """Return the SM clock of a run under load, as text."""
    if spread is None:
        return "SM clock not read"
    if spread.min == spread.max:
        return f"SM clock at most {spread.max:,.0f} MHz by nvidia-smi"
    return f"SM clock {spread.min:,.0f} to {spread.max:,.0f} MHz by nvidia-smi"
