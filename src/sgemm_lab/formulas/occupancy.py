"""How many blocks an SM holds at once: the rule of CUDA's occupancy API, in whole numbers.

An SM hands out four things to blocks: block slots, warp slots, registers and shared memory. A block
comes whole or not at all, so the scarcest of the four decides.

The rule is that of NVIDIA's ``cuda_occupancy.h`` (CUDA 13.0); the limits are those of the CUDA C++
Programming Guide, "Compute Capabilities". ``tests/data/occupancy_h200.json`` holds what
``cuOccupancyMaxActiveBlocksPerMultiprocessor`` said on an H200, ``occupancy_header.json`` what the
header says of every compute capability here. :func:`occupancy` gives every number of both.

Shared memory is cut from the same SRAM as L1. Unless a program asks otherwise, the API counts on
the largest cut. Not looked at: clusters, and more than one barrier in a block.

``occupancy.js`` says the same; a test holds the two equal.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.hardware import MAX_REGISTERS, WARP

Resource = Literal["blocks", "warps", "registers", "shared"]

QUARTERS = 4
"""Parts of an SM. Each has its own registers and its own share of the warps."""
REGISTER_UNIT = 256
"""Registers are handed out to warps in multiples of this."""
THREADS_PER_BLOCK = 1024
REGISTERS_PER_SM = 65536


@dataclass(frozen=True)
class Limits:
    """What an SM of one compute capability has. Shared memory in bytes."""

    compute_capability: str
    blocks_per_sm: int
    threads_per_sm: int
    shared_cuts: tuple[int, ...]
    """The sizes that the shared memory of an SM can be set to, smallest first."""
    shared_reserved: int
    """What the system keeps for itself in every block."""
    shared_unit: int
    """Shared memory is handed out to blocks in multiples of this."""

    @property
    def warps_per_sm(self) -> int:
        """Warp slots of an SM."""
        return self.threads_per_sm // WARP

    @property
    def shared_per_sm(self) -> int:
        """The most shared memory that an SM can be set to."""
        return self.shared_cuts[-1]

    @property
    def shared_per_block(self) -> int:
        """The most that a block may have, once a program has asked for more than 48 KB."""
        return self.shared_per_sm - self.shared_reserved


def _kb(*sizes: int) -> tuple[int, ...]:
    return tuple(size * 1024 for size in sizes)


_CUTS_100 = _kb(8, 16, 32, 64, 100)
_CUTS_164 = _kb(8, 16, 32, 64, 100, 132, 164)
_CUTS_228 = _kb(8, 16, 32, 64, 100, 132, 164, 196, 228)

LIMITS = {
    limits.compute_capability: limits
    for limits in (
        Limits("7.5", 16, 1024, _kb(32, 64), 0, 256),
        Limits("8.0", 32, 2048, _CUTS_164, 1024, 128),
        Limits("8.6", 16, 1536, _CUTS_100, 1024, 128),
        Limits("8.9", 24, 1536, _CUTS_100, 1024, 128),
        Limits("9.0", 32, 2048, _CUTS_228, 1024, 128),
        Limits("10.0", 32, 2048, _CUTS_228, 1024, 128),
        Limits("12.0", 24, 1536, _CUTS_100, 1024, 128),
    )
}


def limits_of(compute_capability: str) -> Limits:
    """Return what an SM of a compute capability has.

    Raises:
        LabError: the book does not know this capability.
    """
    if compute_capability not in LIMITS:
        raise LabError(
            f"The book does not know what an SM of compute capability {compute_capability} has, "
            f"only those of {', '.join(LIMITS)}. Add it to LIMITS in formulas/occupancy.py."
        )
    return LIMITS[compute_capability]


@dataclass(frozen=True)
class Launch:
    """What a block of a launch takes."""

    threads: int
    """Threads per block."""
    registers: int
    """Registers per thread, as the compiler reports them."""
    shared: int
    """Bytes of shared memory per block, static and dynamic together."""

    @property
    def warps(self) -> int:
        """Warps of a block; the last one may be partly empty."""
        return ceil(self.threads / WARP)

    @property
    def warp_registers(self) -> int:
        """Registers that the SM hands out to one warp."""
        return _round_up(self.registers * WARP, REGISTER_UNIT)

    def shared_taken(self, limits: Limits) -> int:
        """Bytes of shared memory that the SM hands out to one block."""
        return _round_up(self.shared + limits.shared_reserved, limits.shared_unit)


@dataclass(frozen=True)
class Fit:
    """What fits on an SM at once."""

    blocks: int
    warps: int
    share: float
    """Warps at once, of the warps that the SM has slots for."""
    room: dict[Resource, int | None]
    """Blocks that each resource has room for; None where the launch takes nothing of it."""

    @property
    def binding(self) -> list[Resource]:
        """The resources that have room for no block more."""
        return [name for name, blocks in self.room.items() if blocks == self.blocks]


def occupancy(limits: Limits, launch: Launch, shared_percent: int = 100) -> Fit:
    """Return how many blocks of a launch an SM holds at once, and what decides it.

    ``shared_percent`` is the share of an SM's shared memory that the kernel asks for
    (CUDA's ``cudaFuncAttributePreferredSharedMemoryCarveout``). The SM takes the next larger cut,
    and one that holds a block at least.

    Raises:
        LabError: the launch cannot run at all; the message says which limit it breaks.
    """
    refused = refusal(limits, launch)
    if refused:
        raise LabError(refused)
    taken = launch.shared_taken(limits)
    wanted = max(taken, limits.shared_per_sm * shared_percent // 100)
    cut = next(size for size in limits.shared_cuts if size >= wanted)
    room: dict[Resource, int | None] = {
        "blocks": limits.blocks_per_sm,
        "warps": limits.warps_per_sm // launch.warps,
        "registers": warps_by_registers(launch) // launch.warps,
        "shared": cut // taken if taken else None,
    }
    blocks = min(count for count in room.values() if count is not None)
    warps = blocks * launch.warps
    return Fit(blocks, warps, warps / limits.warps_per_sm, room)


def warps_by_registers(launch: Launch) -> int:
    """Return the warps of an SM that the registers suffice for, quarter by quarter."""
    return QUARTERS * (REGISTERS_PER_SM // QUARTERS // launch.warp_registers)


def refusal(limits: Limits, launch: Launch) -> str:
    """Return a plain sentence if no block of the launch can run, and "" if one can."""
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


def fit_words(limits: Limits, launch: Launch) -> list[str]:
    """Return the conclusion, a sentence each: what fits, what decides, whether lanes idle."""
    refused = refusal(limits, launch)
    if refused:
        return [sentence("launch.none"), refused]
    fit = occupancy(limits, launch)
    words = [
        sentence(
            "fit.conclusion",
            blocks=fit.blocks,
            threads=fit.blocks * launch.threads,
            warps=fit.warps,
            slots=limits.warps_per_sm,
            share=fit.share,
        )
    ]
    words += [
        _reason(name, " too" if i else "", limits, launch) for i, name in enumerate(fit.binding)
    ]
    rest = launch.threads % WARP
    return [*words, sentence("fit.lanes", rest=rest, warp=WARP)] if rest else words


def _reason(name: Resource, too: str, limits: Limits, launch: Launch) -> str:
    """Return why a resource has room for no block more."""
    if name == "blocks":
        return sentence("fit.blocks", too=too, slots=limits.blocks_per_sm)
    if name == "warps":
        return sentence("fit.warps", too=too, slots=limits.warps_per_sm, warps=launch.warps)
    if name == "registers":
        most = warps_by_registers(launch)
        return sentence("fit.registers", too=too, most=most, warps=launch.warps)
    reserved = limits.shared_reserved
    return sentence(
        "fit.shared",
        too=too,
        has=_kilobytes(limits.shared_per_sm),
        takes=_kilobytes(launch.shared_taken(limits)),
        kept=sentence("fit.kept", kept=_kilobytes(reserved)) if reserved else "",
    )


def _kilobytes(count: int) -> str:
    return f"{count / 1024:.15g}"


def _round_up(value: int, unit: int) -> int:
    return ceil(value / unit) * unit
