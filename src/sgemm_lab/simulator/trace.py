"""Every memory access and multiply-add of a small launch, for stepping through."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Fault:
    """The first access of a block that a GPU would stop at: out of bounds, or misaligned.

    ``threads`` and ``elements`` are of equal length, one entry per thread and element of ``array``
    that it asks for; what lies outside every array is left out.
    """

    step: int
    block: int
    line: int
    epoch: int
    array: int
    store: bool
    threads: list[int]
    elements: list[int]
    message: str


@dataclass(frozen=True)
class Trace:
    """Accesses in the order they happened, one entry per thread and element.

    After a fault the simulator goes on without the threads at fault, and so does the trace.

    Columns of equal length:

    * ``step``: number of the memory instruction; entries of one step happen at once.
    * ``block``, ``thread``: numbers, with x fastest.
    * ``line``: source line.
    * ``array``: index into ``arrays``.
    * ``element``: flat index within the array, in elements.
    * ``value``: what was read or written. NaN stands for memory nothing wrote.
    * ``store``: 1 for a write, 0 for a read.
    * ``epoch``: barriers the block had passed. Where warps synchronise in parts, the epoch of
      time that the thread's warp was in: see ``vector_clocks.ts``.
    """

    arrays: list[dict[str, Any]]
    """Name, space and shape of each array; the shape of a shared array is its element count."""
    columns: dict[str, Array]
    complete: bool
    """False where the launch made more accesses than ``trace.ts`` records."""
    faults: list[Fault]
    """At most one for each block."""
    products: dict[str, Array]
    """Multiply-adds of single precision, if they were asked for: the columns ``step``, ``block``,
    ``thread``, ``line`` and ``epoch`` as above, the factors ``a`` and ``b``, and ``value``, the
    sum after it. Accesses and products are numbered as steps of one row."""

    def __len__(self) -> int:
        return len(self.columns["step"])
