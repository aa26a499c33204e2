"""Occupancy: the number of resident blocks of an SM, by the rules of CUDA's occupancy API.

Blocks need block slots, warp slots, registers and shared memory. The scarcest of the four limits
the number of blocks.

The rule is that of NVIDIA's ``cuda_occupancy.h`` (CUDA 13.0); the limits are those of the CUDA C++
Programming Guide, "Compute Capabilities". ``tests/data/occupancy_h200.json`` has results of
``cuOccupancyMaxActiveBlocksPerMultiprocessor`` on an H200, ``occupancy_header.json`` results of the
header for every compute capability here. :func:`occupancy` reproduces all of them.

Shared memory and L1 share one SRAM. The largest carveout is assumed, as by default. Clusters, and
more than one barrier per block, are not considered.

``occupancy.ts`` is the same; a test compares the two.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from sgemm_lab.errors import LabError
from sgemm_lab.formulas import sentence
from sgemm_lab.hardware import MAX_REGISTERS, WARP

Resource = Literal["blocks", "warps", "registers", "shared"]

QUARTERS = 4
"""Partitions of an SM, each with its own registers and warps."""
REGISTER_UNIT = 256
"""Allocation granularity of registers per warp."""
THREADS_PER_BLOCK = 1024
REGISTERS_PER_SM = 65536


@dataclass(frozen=True)
class Limits:
    """Limits of an SM of one compute capability. Shared memory in bytes."""

    compute_capability: str
    blocks_per_sm: int
    threads_per_sm: int
    shared_per_sm: int
    """Maximum shared memory of an SM."""
    shared_reserved: int
    """Reserved by the system per block."""
    shared_unit: int
    """Allocation granularity of shared memory."""

    @property
    def warps_per_sm(self) -> int:
        """Warp slots of an SM."""
        return self.threads_per_sm // WARP

    @property
    def shared_per_block(self) -> int:
        """Maximum shared memory of a block, with opt-in above 48 KB."""
        return self.shared_per_sm - self.shared_reserved


_KB = 1024

LIMITS = {
    limits.compute_capability: limits
    for limits in (
        Limits("7.5", 16, 1024, 64 * _KB, 0, 256),
        Limits("8.0", 32, 2048, 164 * _KB, 1024, 128),
        Limits("8.6", 16, 1536, 100 * _KB, 1024, 128),
        Limits("8.9", 24, 1536, 100 * _KB, 1024, 128),
        Limits("9.0", 32, 2048, 228 * _KB, 1024, 128),
        Limits("10.0", 32, 2048, 228 * _KB, 1024, 128),
        Limits("12.0", 24, 1536, 100 * _KB, 1024, 128),
    )
}


def limits_of(compute_capability: str) -> Limits:
    """Return the limits of an SM of a compute capability.

    Raises:
        LabError: the compute capability is unknown.
    """
    if compute_capability not in LIMITS:
        raise LabError(
            f"The book has no limits of an SM of compute capability {compute_capability}, only of "
            f"{', '.join(LIMITS)}. Add it to LIMITS in formulas/occupancy.py."
        )
    return LIMITS[compute_capability]


@dataclass(frozen=True)
class Launch:
    """Resources of a block of a launch."""

    threads: int
    """Threads per block."""
    registers: int
    """Registers per thread, from the compiler."""
    shared: int
    """Bytes of static and dynamic shared memory per block."""

    @property
    def warps(self) -> int:
        """Warps of a block; the last one may be partly empty."""
        return ceil(self.threads / WARP)

    @property
    def warp_registers(self) -> int:
        """Registers allocated to one warp."""
        return _round_up(self.registers * WARP, REGISTER_UNIT)

    def shared_taken(self, limits: Limits) -> int:
        """Return the bytes of shared memory allocated to one block."""
        return _round_up(self.shared + limits.shared_reserved, limits.shared_unit)


@dataclass(frozen=True)
class Fit:
    """Occupancy of an SM."""

    blocks: int
    warps: int
    share: float
    """Resident warps over warp slots."""
    room: dict[Resource, int | None]
    """Maximum number of blocks by resource; None if the launch does not use it."""


def occupancy(limits: Limits, launch: Launch) -> Fit:
    """Return the number of resident blocks of a launch, and the limiting resources.

    Raises:
        LabError: the launch cannot run; the message names the exceeded limit.
    """
    refused = refusal(limits, launch)
    if refused:
        raise LabError(refused)
    taken = launch.shared_taken(limits)
    room: dict[Resource, int | None] = {
        "blocks": limits.blocks_per_sm,
        "warps": limits.warps_per_sm // launch.warps,
        "registers": warps_by_registers(launch) // launch.warps,
        "shared": limits.shared_per_sm // taken if taken else None,
    }
    blocks = min(count for count in room.values() if count is not None)
    warps = blocks * launch.warps
    return Fit(blocks, warps, warps / limits.warps_per_sm, room)


def warps_by_registers(launch: Launch) -> int:
    """Return the warps of an SM that fit into its registers, by partition."""
    return QUARTERS * (REGISTERS_PER_SM // QUARTERS // launch.warp_registers)


def refusal(limits: Limits, launch: Launch) -> str:
    """Return why no block of the launch can run, or "" if one can."""
    threads, registers, shared = launch.threads, launch.registers, launch.shared
    if not 1 <= threads <= THREADS_PER_BLOCK:
        return sentence("launch.threads", most=THREADS_PER_BLOCK, threads=threads)
    if not 1 <= registers <= MAX_REGISTERS:
        return sentence("launch.registers", most=MAX_REGISTERS, registers=registers)
    if not 0 <= shared <= limits.shared_per_block:
        return sentence("launch.shared", most=limits.shared_per_block, shared=shared)
    most, warps = warps_by_registers(launch), launch.warps
    if warps > most:
        return sentence(
            "launch.warps", registers=registers, most=most, threads=threads, warps=warps
        )
    return ""


def _round_up(value: int, unit: int) -> int:
    return ceil(value / unit) * unit
