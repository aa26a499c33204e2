"""A small record, for the tests of what is made of records."""

from typing import Any

from sgemm_lab.catalogue import book_kernel
from sgemm_lab.records.gpu_record import Device, Measurement, Reading, Record, Run, Spread

DEVICE = Device(
    name="NVIDIA H200",
    compute_capability="9.0",
    sms=132,
    max_clock_mhz=1980.0,
    memory_clock_mhz=3201.0,
    memory_bus_bits=6144,
    l2_bytes=60 * 2**20,
    shared_per_sm=233472,
    shared_per_block=232448,
    registers_per_sm=65536,
)


def samples(
    kernel: str, *seconds: float, size: int = 100, fingerprint: str | None = None
) -> Measurement:
    """Of today's kernel of this name, unless a fingerprint says of what."""
    if fingerprint is None:
        known = book_kernel(kernel)
        fingerprint = known.fingerprint if known else ""
    return Measurement(kernel, fingerprint, size, size, size, 4, seconds)


def reading(benchmark: str, parameter: int, *values: float, unit: str = "GB/s") -> Reading:
    return Reading(benchmark, parameter, unit, values)


def run(*measurements: Measurement, date: str = "2026-01-02T03:04:05Z", **fields: Any) -> Run:
    known: dict[str, Any] = {
        "driver": "580.1", "cuda": "13.0", "nvrtc": "12.9", "cupy": "14.2.0", "package": "0.1.0",
        "cublas_call": "cublasSgemm", "complete": True, "measurements": measurements,
        "readings": (), "clock_mhz": Spread(1900.0, 1950.0, 1980.0),
    }  # fmt: skip
    return Run(date=date, **{**known, **fields})


def record(*runs: Run) -> Record:
    return Record(DEVICE, runs)
