"""The memory requests of one warp, address by address, as the machine code makes them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.access_merging import Merged
from sgemm_lab.simulator.group import COPY_READ, LOAD, Access, BulkCopy, ThreadGroup
from sgemm_lab.simulator.memory import NamedArray


@dataclass(frozen=True)
class WarpRequest:
    """One memory instruction of one warp."""

    line: int
    """Source line."""
    space: str
    """"global" or "shared"."""
    array: NamedArray
    """The array that the first active lane addresses."""
    is_load: bool
    width: int
    """Bytes each lane asks for."""
    addresses: tuple[int | None, ...]
    """First byte that each of the 32 lanes asks for, None where the lane is inactive: counted
    from the start of the array in global memory, of the block's memory in shared memory."""
    window: int
    """Barriers the block had passed."""


class WarpRecorder:
    """Records the global and shared requests of one warp of one block. An observer.

    Shared accesses are recorded as compiled, with neighbours merged as ptxas merges them.
    """

    def __init__(self, merged: Merged, block: int, warp: int) -> None:
        self._merged = merged
        self._block = block
        self._warp = warp
        self.requests: list[WarpRequest] = []

    def on_access(self, access: Access) -> None:
        """Record what the warp's lanes ask for."""
        group, site = access.group, access.site
        in_block = group.batch.blocks[group.slot] == self._block
        lanes = np.flatnonzero(in_block & (group.thread // WARP == self._warp))
        if site.space == "local" or not len(lanes):
            return
        active = group.alive[lanes] if access.mask is None else access.mask[lanes]
        if not active.any():
            return
        merged = self._merged.get(site.instruction.index)
        loads = [(0, site.width)]
        if site.space == "shared" and merged is not None:
            loads = [(load.offset, load.width) for load in merged]
        for offset, width in loads:
            self._record(access, width, access.addresses[lanes] + offset, active, lanes)

    def _record(self, access: Access, width: int, addresses: Any, active: Any, lanes: Any) -> None:
        memory, site = access.memory, access.site
        places = addresses - memory.base
        array = memory.array_at(int(places[active][0]))
        if array is None:
            return
        start = array.start if site.space == "global" else 0
        self.requests.append(
            WarpRequest(
                line=site.instruction.location.line,
                space=site.space,
                array=array,
                is_load=site.kind in (LOAD, COPY_READ),
                width=width,
                addresses=tuple(
                    int(place) - start if on else None
                    for place, on in zip(places, active, strict=True)
                ),
                window=int(access.group.batch.epoch[access.group.slot[lanes[0]]]),
            )
        )

    def on_values(self, access: Access, values: list[npt.NDArray[Any]]) -> None:
        """Values do not change a request."""

    def on_copies_landed(
        self, group: ThreadGroup, lanes: npt.NDArray[np.intp], positions: npt.NDArray[np.int64]
    ) -> None:
        """A copy is recorded when it is issued."""

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """A bulk copy is no request of a warp."""

    def on_bulk_landed(self, copy: BulkCopy) -> None:
        """A bulk copy is no request of a warp."""
