"""Counts of a launch: memory requests, arithmetic and barriers, per source line."""

from dataclasses import dataclass, fields
from typing import Any

from sgemm_lab.hardware import SECTOR_BYTES
from sgemm_lab.simulator.source_locations import Location


@dataclass
class LineCounts:
    """Counts of one source line, or of a whole launch.

    A request is one memory instruction of one warp with at least one active lane. "Bytes" are
    those the lanes ask for. Shared accesses come in two columns: as compiled, with neighbours
    merged as ptxas merges them (the plain names, comparable with hardware counters), and as
    written in the PTX.
    """

    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_bytes: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_bytes: int = 0
    atomic_requests: int = 0
    atomic_sectors: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_load_bank_conflicts: int = 0
    shared_load_requests_as_written: int = 0
    shared_load_wavefronts_as_written: int = 0
    shared_load_bank_conflicts_as_written: int = 0
    shared_load_bytes: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_store_bank_conflicts: int = 0
    shared_store_requests_as_written: int = 0
    shared_store_wavefronts_as_written: int = 0
    shared_store_bank_conflicts_as_written: int = 0
    shared_store_bytes: int = 0
    shared_atomic_requests: int = 0
    """Atomics on shared memory, which the counters of stores leave out."""
    async_copy_requests: int = 0
    """``cp.async`` instructions of one warp; they read global and write shared memory."""
    async_copy_reads: int = 0
    """Those of them in which some lane reads: one that only fills up with zeros does not."""
    async_copy_sectors: int = 0
    async_copy_wavefronts: int = 0
    async_copy_bytes: int = 0
    ffma_thread_instructions: int = 0
    """Fused multiply-adds of float32, one for each active lane: those of the kernel, those that
    ptxas makes of a product and a sum, and those inside divisions, reciprocals and roots."""
    flop: int = 0
    """Floating-point operations: 2 for a fused multiply-add, 1 for an add, subtract or multiply."""
    barriers: int = 0
    """Barriers passed, one for each block."""
    warp_instructions: int = 0
    """PTX instructions executed, one for each warp. Machine code has other totals."""
    thread_instructions: int = 0
    """PTX instructions executed, one for each active lane."""

    @property
    def global_bytes_moved(self) -> int:
        """Bytes of all sectors that global requests touch, before any cache."""
        sectors = self.global_load_sectors + self.global_store_sectors
        return SECTOR_BYTES * (sectors + self.atomic_sectors + self.async_copy_sectors)

    @property
    def shared_bytes_asked(self) -> int:
        """Bytes that lanes load from and store to shared memory."""
        return self.shared_load_bytes + self.shared_store_bytes + self.async_copy_bytes

    def add(self, other: "LineCounts") -> None:
        """Add another line's counts to these."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def to_json(self) -> dict[str, int]:
        """All counts by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass
class Counts:
    """What a launch cost."""

    total: LineCounts
    lines: dict[Location, LineCounts]
    """In order of file and line."""

    def intensity(self) -> dict[str, float]:
        """Arithmetic intensity in FLOP/B at each memory level, by level name.

        "global" divides by the bytes of all sectors touched (before caches), "shared" by the
        bytes that lanes ask of shared memory. A level that is not used is left out.
        """
        levels = {"global": self.total.global_bytes_moved, "shared": self.total.shared_bytes_asked}
        return {name: self.total.flop / moved for name, moved in levels.items() if moved}

    def to_json(self) -> dict[str, Any]:
        """The totals by name, and under "lines" one entry per source line."""
        return {
            **self.total.to_json(),
            "lines": [
                {"file": where.file, "line": where.line, **counts.to_json()}
                for where, counts in self.lines.items()
            ],
        }
