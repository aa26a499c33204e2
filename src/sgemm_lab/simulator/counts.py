"""Count memory requests, arithmetic and barriers while a kernel runs, per source line."""

import math
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.formulas.memory import global_sectors, shared_cost
from sgemm_lab.hardware import SECTOR_BYTES, WARP, WORD_BYTES
from sgemm_lab.simulator.access_merging import Merged, WideAccess
from sgemm_lab.simulator.control_flow import BasicBlock
from sgemm_lab.simulator.execution_counts import Tally
from sgemm_lab.simulator.group import (
    ATOMIC,
    COPY_READ,
    COPY_WRITE,
    LOAD,
    STORE,
    Access,
    BulkCopy,
    ThreadGroup,
)
from sgemm_lab.simulator.ptx import Instruction
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.source_locations import Location

Array = npt.NDArray[Any]


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
    def active_lanes(self) -> float:
        """Mean number of lanes active in an instruction, at most 32."""
        if not self.warp_instructions:
            return 0.0
        return self.thread_instructions / self.warp_instructions

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
        levels = {
            "global": self.total.global_bytes_moved,
            "shared": self.total.shared_bytes_asked,
        }
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


class _PatternCosts:
    """Costs of one kind of request, remembered by the pattern of its addresses.

    Sectors and wavefronts do not change when all lanes move by whole sectors or words. So each
    warp's addresses are taken relative to its first active lane and hashed; the model runs only
    on patterns that are new. The hash is a random 64-bit linear form, and two different patterns
    share one with a probability near 2**-60. Where addresses are no multiples of the width, which
    a GPU would stop at, their place within a sector matters too: the model runs on each.
    """

    _FACTORS = np.random.default_rng(0x5C0FFEE).integers(1, 2**63, (2, WARP), dtype=np.int64) | 1

    def __init__(self, unit: int, width: int, cost: Callable[[Array, Mask], Array]) -> None:
        self._unit_shift = unit.bit_length() - 1
        self._width = width
        self._cost = cost
        self._known: dict[int, tuple[int, ...]] = {}

    def of(self, addresses: Array, mask: Mask | None) -> tuple[int, Array]:
        """Number of requests, and the sum of what each costs.

        Args:
            addresses: of all lanes, (32 · warps), in bytes.
            mask: active lanes, None for all.
        """
        if (addresses & (self._width - 1)).any() and (mask is None or mask.any()):
            return self._one_by_one(addresses.reshape(-1, WARP), mask)
        units = (addresses >> self._unit_shift).reshape(-1, WARP)
        factors, presence = self._FACTORS
        # Sums wrap around 64 bits, as they may in a hash.
        if mask is None:
            active = None
            hashes = units @ factors - units[:, 0] * factors.sum()
        else:
            active = mask.reshape(-1, WARP)
            used = active.any(axis=1)
            units, active, addresses = units[used], active[used], addresses.reshape(-1, WARP)[used]
            first = units[np.arange(len(units)), active.argmax(axis=1)]
            hashes = np.where(active, units - first[:, None], 0) @ factors + active @ presence
        if len(hashes) == 0:
            return 0, np.zeros(1, dtype=np.int64)
        if (hashes == hashes[0]).all():
            cost = self._look_up(hashes[:1], np.zeros(1, dtype=np.intp), addresses, active)
            return len(hashes), cost[0] * len(hashes)
        distinct, where, times = np.unique(hashes, return_index=True, return_counts=True)
        return len(hashes), times @ self._look_up(distinct, where, addresses, active)

    def _one_by_one(self, addresses: Array, mask: Mask | None) -> tuple[int, Array]:
        active = np.ones(addresses.shape, bool) if mask is None else mask.reshape(-1, WARP)
        used = active.any(axis=1)
        return int(used.sum()), self._cost(addresses[used], active[used]).sum(axis=0)

    def _look_up(self, hashes: Array, rows: Array, addresses: Array, active: Mask | None) -> Array:
        keys = hashes.tolist()
        new = [number for number, key in enumerate(keys) if key not in self._known]
        if new:
            fresh = addresses.reshape(-1, WARP)[rows[new]]
            asked = np.ones(fresh.shape, dtype=bool) if active is None else active[rows[new]]
            for number, cost in zip(new, self._cost(fresh, asked).tolist(), strict=True):
                self._known[keys[number]] = tuple(cost)
        return np.array([self._known[key] for key in keys], dtype=np.int64)


def _sectors(width: int) -> Callable[[Array, Mask], Array]:
    return lambda addresses, active: global_sectors(addresses, active, width)[:, None]


def _atomic_sectors(addresses: Array, active: Mask) -> int:
    """Sectors of an atomic: lanes that meet at one address go one after the other.

    So each sector is asked for as often as the address in it at which most lanes meet. Where all
    meet at one address, ptxas lets one lane add for all. Both as an H200 counts.
    """
    total = 0
    for row, lanes in zip(addresses, active, strict=True):
        places, times = np.unique(row[lanes], return_counts=True)
        if len(places) == 1:
            total += 1
            continue
        sectors, which = np.unique(places // SECTOR_BYTES, return_inverse=True)
        most = np.zeros(len(sectors), np.int64)
        np.maximum.at(most, which, times)
        total += int(most.sum())
    return total


def _wavefronts(width: int, *, is_load: bool) -> Callable[[Array, Mask], Array]:
    def cost(addresses: Array, active: Mask) -> Array:
        return np.stack(shared_cost(addresses, active, width, is_load=is_load), axis=1)

    return cost


class RequestCounter:
    """Counts every access of a launch. An observer."""

    def __init__(self, merged: Merged) -> None:
        self._merged = merged
        self._costs: dict[tuple[str, bool, int], _PatternCosts] = {}
        self.by_instruction: dict[int, LineCounts] = defaultdict(LineCounts)
        """Requests by the index of their instruction."""

    def on_access(self, access: Access) -> None:
        """Count the requests of one memory instruction.

        A GPU's counters of shared memory leave out that of other blocks of the cluster.
        """
        if access.elsewhere is not None and access.elsewhere.any():
            own = ~access.elsewhere if access.mask is None else access.mask & ~access.elsewhere
            access = replace(access, mask=own, lanes=np.flatnonzero(own))
        site = access.site
        counts = self.by_instruction[site.instruction.index]
        lanes = access.group.lanes if access.lanes is None else len(access.lanes)
        mask = access.mask
        if site.space == "global":
            requests, (sectors,) = self._global_cost(access)
            self._add_global(counts, site.kind, requests, int(sectors), lanes * site.width)
        elif site.space == "shared" and site.kind == ATOMIC:
            requests, _ = self._cost("shared", False, site.width).of(access.addresses, mask)
            counts.shared_atomic_requests += requests
        elif site.space == "shared":
            cost = self._shared_cost(access, 0, site.width)
            if site.kind == COPY_WRITE:
                counts.async_copy_requests += cost[0]
                counts.async_copy_wavefronts += cost[1]
                counts.async_copy_bytes += lanes * site.width
                return
            operation = "load" if site.kind == LOAD else "store"
            self._add_shared(counts, operation, "_as_written", cost)
            _increase(counts, f"shared_{operation}_bytes", lanes * site.width)
            as_it_is = (WideAccess(0, site.width),)
            issued = self._merged.get(site.instruction.index, as_it_is)
            if issued == as_it_is:
                self._add_shared(counts, operation, "", cost)
            else:
                for wide in issued:
                    wide_cost = self._shared_cost(access, wide.offset, wide.width)
                    self._add_shared(counts, operation, "", wide_cost)

    def on_values(self, access: Access, values: list[Array]) -> None:
        """Values do not change what a request costs."""

    def on_copies_landed(self, group: ThreadGroup, lanes: Array, positions: Array) -> None:
        """A copy is counted when it is issued."""

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Count what a bulk copy moves. It is no request of a warp and passes no lanes."""
        counts = self.by_instruction[copy.access.site.instruction.index]
        counts.async_copy_bytes += copy.data.nbytes
        counts.async_copy_sectors += copy.sectors

    def on_bulk_landed(self, copy: BulkCopy) -> None:
        """A copy is counted when it is issued."""

    def _global_cost(self, access: Access) -> tuple[int, Array]:
        width = access.site.width
        if access.site.kind != ATOMIC:
            return self._cost("global", False, width).of(access.addresses, access.mask)
        addresses = access.addresses.reshape(-1, WARP)
        active = np.ones(addresses.shape, bool)
        if access.mask is not None:
            active = access.mask.reshape(-1, WARP)
        used = active.any(axis=1)
        sectors = _atomic_sectors(addresses[used], active[used])
        return int(used.sum()), np.array([sectors])

    def _cost(self, space: str, is_load: bool, width: int) -> _PatternCosts:
        key = (space, is_load, width)
        if key not in self._costs:
            self._costs[key] = (
                _PatternCosts(SECTOR_BYTES, width, _sectors(width))
                if space == "global"
                else _PatternCosts(WORD_BYTES, width, _wavefronts(width, is_load=is_load))
            )
        return self._costs[key]

    @staticmethod
    def _add_global(counts: LineCounts, kind: str, requests: int, sectors: int, asked: int) -> None:
        if kind == LOAD:
            counts.global_load_requests += requests
            counts.global_load_sectors += sectors
            counts.global_load_bytes += asked
        elif kind == STORE:
            counts.global_store_requests += requests
            counts.global_store_sectors += sectors
            counts.global_store_bytes += asked
        elif kind == ATOMIC:
            counts.atomic_requests += requests
            counts.atomic_sectors += sectors
        elif kind == COPY_READ:
            counts.async_copy_reads += requests
            counts.async_copy_sectors += sectors

    def _shared_cost(self, access: Access, offset: int, width: int) -> tuple[int, int, int]:
        """Requests, wavefronts and bank conflicts of an access that starts ``offset`` bytes on."""
        is_load = access.site.kind == LOAD
        addresses = access.addresses + offset if offset else access.addresses
        requests, (wavefronts, conflicts) = self._cost("shared", is_load, width).of(
            addresses, access.mask
        )
        return requests, int(wavefronts), int(conflicts)

    @staticmethod
    def _add_shared(
        counts: LineCounts, operation: str, column: str, cost: tuple[int, int, int]
    ) -> None:
        for what, number in zip(("requests", "wavefronts", "bank_conflicts"), cost, strict=True):
            _increase(counts, f"shared_{operation}_{what}{column}", number)


def _increase(counts: LineCounts, name: str, by: int) -> None:
    setattr(counts, name, getattr(counts, name) + by)


_ONE_FLOP = ("add", "sub", "mul", "div")
_FLOATS = {"f32": 1, "f64": 1, "f16": 1, "bf16": 1, "f16x2": 2, "bf16x2": 2}
"""Numbers that an operation on a type works on."""
_SHAPE = re.compile(r"m\d+n\d+k\d+")


def _flop(instruction: Instruction, lanes: int, warps: int) -> int:
    parts = instruction.parts
    shape = next((part for part in parts if _SHAPE.fullmatch(part)), None)
    if shape is not None and (parts[0] == "mma" or parts[1].startswith("mma")):
        # Four warps run a wgmma.
        flop = 2 * math.prod(map(int, re.findall(r"\d+", shape))) * warps
        return flop // 4 if parts[0] == "wgmma" else flop
    if parts[-1] not in _FLOATS or parts[0] in ("atom", "red"):
        return 0
    each = _FLOATS[parts[-1]]
    return each * lanes * (2 if parts[0] in ("fma", "fused") else 1 if parts[0] in _ONE_FLOP else 0)


def collect(
    counter: RequestCounter, instructions: list[Instruction], blocks: list[BasicBlock], tally: Tally
) -> Counts:
    """Bring everything counted together, by source line."""
    by_location: dict[Location, LineCounts] = defaultdict(LineCounts)
    for index, counts in counter.by_instruction.items():
        by_location[instructions[index].location].add(counts)
    for index, times in tally.barriers.items():
        by_location[instructions[index].location].barriers += times
    for block in blocks:
        runs = (tally.block_lanes[block.number], tally.block_warps[block.number])
        ending = () if block.terminator is None else (block.terminator,)
        for instruction in (*block.instructions, *ending):
            lanes, warps = runs
            if instruction.guard is not None and instruction is not block.terminator:
                lanes = tally.guarded_lanes[instruction.index]
                warps = tally.guarded_warps[instruction.index]
            if lanes:
                _count_execution(by_location[instruction.location], instruction, lanes, warps)
    total = LineCounts()
    for counts in by_location.values():
        total.add(counts)
    ordered = sorted(by_location.items(), key=lambda item: (item[0].file, item[0].line))
    return Counts(total, dict(ordered))


def _count_execution(counts: LineCounts, instruction: Instruction, lanes: int, warps: int) -> None:
    counts.thread_instructions += lanes
    counts.warp_instructions += warps
    counts.flop += _flop(instruction, lanes, warps)
    counts.ffma_thread_instructions += _ffma(instruction) * lanes


_FFMA_INSIDE = {"div.rn.f32": 5, "rcp.rn.f32": 2, "sqrt.rn.f32": 2}
"""FFMA that ptxas puts in the place of an instruction, as counted on an H200, where no number is so
large or small that it takes a longer way."""


def _ffma(instruction: Instruction) -> int:
    parts = instruction.parts
    if parts[0] in ("fma", "fused") and parts[-1] == "f32":
        return 1
    return _FFMA_INSIDE.get(instruction.opcode, 0)
