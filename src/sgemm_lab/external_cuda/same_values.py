"""Races in shared memory in which every thread writes the same value: they do no harm.

A flag that several warps set to 1 is a race by the letter, and what it holds afterwards is known.
NVIDIA's racecheck calls it information, too.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator import Hazard
from sgemm_lab.simulator.group import LOAD, STORE, Access, BulkCopy, ThreadGroup
from sgemm_lab.simulator.hazards import RACE
from sgemm_lab.simulator.source_locations import Location
from sgemm_lab.simulator.write_conflicts import loses, words_of

Array = npt.NDArray[Any]


class SameValues:
    """Watches, byte by byte, whether stores to shared memory that race change anything."""

    def __init__(self) -> None:
        self._writer: Array = np.zeros(0, np.int64)
        self._epoch: Array = np.zeros(0, np.int64)
        self._blocks: Array = np.zeros(0, np.int64)
        self._stored: tuple[Access, Array, Array, Array] | None = None
        """The last store: the bytes of each lane, what they held, and which another thread wrote
        since the last barrier."""
        self._harmful: set[Location] = set()
        """Lines that read or change what another thread wrote, or do more than store."""

    def is_harmless(self, hazard: Hazard) -> bool:
        """Return whether a hazard is a race of stores to shared memory that wrote the same."""
        if hazard.kind != RACE or hazard.other_location is None:
            return False
        return not {hazard.location, hazard.other_location} & self._harmful

    def on_access(self, access: Access) -> None:
        """Note who writes which bytes."""
        site = access.site
        if site.space != "shared" or site.kind != STORE:
            # Races in global memory are judged by their values where they are found.
            if site.space == "shared" or site.kind != LOAD:
                self._harmful.add(site.instruction.location)
            return
        if not len(access.positions):
            return  # all lanes leave their array
        group = access.group
        lanes = np.arange(group.lanes) if access.lanes is None else access.lanes
        if len(self._writer) != len(access.memory.bytes) or not np.array_equal(
            self._blocks, group.batch.blocks
        ):
            self._writer = np.full(len(access.memory.bytes), -1, np.int64)
            self._epoch = np.zeros(len(access.memory.bytes), np.int64)
            self._blocks = group.batch.blocks.copy()
        bytes_ = access.positions[:, None] + np.arange(site.width)
        thread = group.thread[lanes][:, None]
        epoch = group.batch.epoch[group.slot[lanes]][:, None]
        other = (self._writer[bytes_] >= 0) & (self._writer[bytes_] != thread)
        other &= self._epoch[bytes_] == epoch
        self._stored = (access, bytes_, access.memory.bytes[bytes_].copy(), other)
        self._writer[bytes_] = thread
        self._epoch[bytes_] = epoch

    def on_values(self, access: Access, values: list[Array]) -> None:
        """Compare what lanes store with what was there, and with each other."""
        if self._stored is None or self._stored[0] is not access:
            return
        _, bytes_, before, other = self._stored
        own = words_of(values, 1)
        changes = (other & (own != before)).any()
        changes = changes or any(
            loses(bytes_[:, byte], own[:, byte]).any() for byte in range(own.shape[1])
        )
        if changes:
            self._harmful.add(access.site.instruction.location)

    def on_copies_landed(self, group: ThreadGroup, lanes: Array, positions: Array) -> None:
        """Lines with asynchronous copies count as harmful."""

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Lines with bulk copies count as harmful."""
        self._harmful.add(copy.access.site.instruction.location)

    def on_bulk_landed(self, copy: BulkCopy) -> None:
        """Lines with bulk copies count as harmful."""
