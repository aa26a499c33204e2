"""What one memory instruction does, and who wants to hear of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator.memory import Memory
from sgemm_lab.simulator.ptx import Instruction
from sgemm_lab.simulator.registers import Mask

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

LOAD, STORE, ATOMIC, COPY_READ, COPY_WRITE = "load", "store", "atomic", "copy read", "copy write"
"""Kinds of access; the copies are the two ends of a ``cp.async``."""


@dataclass(frozen=True, eq=False)
class Site:
    """One place in the kernel that accesses one memory space."""

    instruction: Instruction
    space: str
    kind: str
    word_bytes: int
    """Bytes of one element moved."""
    words: int
    """Elements per lane: 4 for ``ld.global.v4.f32``."""
    is_float: bool

    @property
    def width(self) -> int:
        """Bytes each lane asks for."""
        return self.word_bytes * self.words


@dataclass(frozen=True, eq=False)
class Access:
    """One execution of a site by a group of threads."""

    group: "ThreadGroup"
    site: Site
    memory: Memory
    mask: Mask | None
    """Lanes that run the instruction; None for all."""
    addresses: npt.NDArray[np.int64]
    """Byte address of every lane within the space; meaningless in inactive lanes."""
    lanes: npt.NDArray[np.intp] | None
    """Lanes whose address is legal; None for all."""
    positions: npt.NDArray[np.int64]
    """For those lanes: index of the first byte in ``memory.bytes``."""


class Observer(Protocol):
    """Hears of every access while the kernel runs."""

    def on_access(self, access: Access) -> None:
        """Called when the addresses are known, before anything moves."""

    def on_values(self, access: Access, values: list[npt.NDArray[Any]]) -> None:
        """Called with the elements moved: one array per element, one entry per legal lane."""

    def on_copies_landed(
        self, group: "ThreadGroup", lanes: npt.NDArray[np.intp], positions: npt.NDArray[np.int64]
    ) -> None:
        """Called when asynchronous copies of some lanes become visible in shared memory.

        ``positions`` are the indices in shared memory of every 4-byte word written.
        """


class HazardSink(Protocol):
    """Collects what is wrong with a kernel."""

    def out_of_bounds(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes address memory that belongs to no array."""

    def misaligned(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes address a vector that does not start at a multiple of its size."""

    def unwritten(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes read memory that nothing wrote."""

    def barrier_missed(self, group: "ThreadGroup", site: Instruction, missing: Mask) -> None:
        """Some live lanes did not reach a barrier that others of their block did."""
