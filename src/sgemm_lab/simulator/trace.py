"""Every memory access and multiply-add of a small launch, for stepping through."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator.group import COPY_READ, LOAD, Access, BulkCopy, ThreadGroup
from sgemm_lab.simulator.memory import NamedArray
from sgemm_lab.simulator.ptx import Instruction

Array = npt.NDArray[Any]

LIMIT = 200_000
"""Most accesses a trace keeps, and most multiply-adds."""


@dataclass(frozen=True)
class Fault:
    """The first access of a block that a GPU would stop at: out of bounds, or misaligned.

    ``threads`` and ``elements`` are of equal length, one entry per thread and element of ``array``
    that it asks for; what lies outside every array is left out.
    """

    step: int
    block: int
    line: int
    window: int
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
    * ``window``: barriers the block had passed. Where warps synchronise in parts, the window of
      time that the thread's warp was in: see ``VectorClocks``.
    """

    arrays: list[dict[str, Any]]
    """Name, space and shape of each array; the shape of a shared array is its element count."""
    columns: dict[str, Array]
    complete: bool
    """False where the launch made more accesses than ``LIMIT`` and the rest was left out."""
    faults: list[Fault]
    """At most one for each block."""
    products: dict[str, Array]
    """Multiply-adds of single precision, if they were asked for: the columns ``step``, ``block``,
    ``thread``, ``line`` and ``window`` as above, the factors ``a`` and ``b``, and ``value``, the
    sum after it. Accesses and products are numbered as steps of one row."""

    def __len__(self) -> int:
        return len(self.columns["step"])

    def to_json(self) -> dict[str, Any]:
        """Plain lists, ready for ``json.dumps``; NaN becomes None."""
        return {
            "arrays": self.arrays,
            "complete": self.complete,
            "faults": [asdict(fault) for fault in self.faults],
            **_plain(self.columns),
            "products": _plain(self.products),
        }


class TraceRecorder:
    """Records every global and shared access, and every multiply-add. An observer."""

    _NAMES = ("step", "block", "thread", "line", "array", "element", "value", "store", "window")
    _OF_PRODUCTS = ("step", "block", "thread", "line", "window", "a", "b", "value")

    def __init__(self) -> None:
        # One value for all entries of an instruction, or one for each.
        self._chunks: dict[str, list[Any]] = {name: [] for name in self._NAMES}
        self._counts: list[int] = []
        self._products: dict[str, list[Any]] = {name: [] for name in self._OF_PRODUCTS}
        self._products_kept = 0
        self._arrays: dict[tuple[str, str], int] = {}
        self._described: list[dict[str, Any]] = []
        self._step = 0
        self._kept = 0
        self._complete = True
        self._faults: dict[int, Fault] = {}

    def on_fault(self, access: Access, lanes: Array, say: Callable[[int], str]) -> None:
        """Record the first fault of each block; ``say`` gives the sentence for a lane."""
        group, site, memory = access.group, access.site, access.memory
        blocks = group.batch.blocks[group.slot[lanes]]
        if memory.space == "local":
            return
        for block in np.unique(blocks).tolist():
            if block in self._faults:
                continue
            mine = lanes[blocks == block]
            start = access.addresses[mine] - memory.base
            positions = start[:, None] + np.arange(site.words) * site.word_bytes
            array, element = self._locate(access, positions.reshape(-1))
            inside = array >= 0
            nearest = memory.array_at(int(start[0]))
            self._faults[block] = Fault(
                step=self._step,
                block=block,
                line=site.instruction.location.line,
                window=int(group.windows(mine[:1])[0]),
                array=self._number_of(memory.space, nearest, site.word_bytes) if nearest else -1,
                store=site.kind not in (LOAD, COPY_READ),
                threads=np.repeat(group.thread[mine], site.words)[inside].tolist(),
                elements=element[inside].tolist(),
                message=say(int(mine[0])),
            )

    def on_access(self, access: Access) -> None:
        """Entries need values: see ``on_values``."""

    def on_copies_landed(self, group: ThreadGroup, lanes: Array, positions: Array) -> None:
        """A copy is recorded when it is issued."""

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """A bulk copy is no request of a warp."""

    def on_bulk_landed(self, copy: BulkCopy) -> None:
        """A bulk copy is no request of a warp."""

    def on_values(self, access: Access, values: list[Array]) -> None:
        """Record the elements one instruction moved."""
        site, group, memory = access.site, access.group, access.memory
        if memory.space == "local":
            return
        if not len(access.positions):
            # All its threads are at fault: a step, though nothing moves.
            self._step += any(fault.step == self._step for fault in self._faults.values())
            return
        if self._kept >= LIMIT:
            self._complete = False
            return
        lanes = np.arange(group.lanes) if access.lanes is None else access.lanes
        count = len(values)
        start = access.positions - group.slot[lanes] * (
            memory.stride if memory.space == "shared" else 0
        )
        positions = (start[:, None] + np.arange(count) * site.word_bytes).reshape(-1)
        lanes = np.repeat(lanes, count)
        array, element = self._locate(access, positions)
        stores = site.kind not in (LOAD, COPY_READ)
        entry: dict[str, Any] = {
            "step": self._step,
            "block": group.batch.blocks[group.slot[lanes]],
            "thread": group.thread[lanes],
            "line": site.instruction.location.line,
            "array": array,
            "element": element,
            "value": _as_numbers(np.stack(values, axis=1).reshape(-1), site.word_bytes),
            "store": int(stores),
            "window": group.windows(lanes),
        }
        for name, column in entry.items():
            self._chunks[name].append(column)
        self._counts.append(len(lanes))
        self._kept += len(lanes)
        # The two ends of an asynchronous copy are one step.
        if site.kind != COPY_READ:
            self._step += 1

    def on_product(
        self,
        group: ThreadGroup,
        instruction: Instruction,
        lanes: npt.NDArray[np.intp],
        factors: tuple[Array, Array],
        result: Array,
    ) -> None:
        """Record what one instruction multiplied and added."""
        if self._products_kept >= LIMIT:
            self._complete = False
            return
        slots = group.slot[lanes]
        every = np.ones(len(lanes), dtype=np.int64)
        entry: dict[str, Array] = {
            "step": self._step * every,
            "block": group.batch.blocks[slots],
            "thread": group.thread[lanes],
            "line": instruction.location.line * every,
            "window": group.windows(lanes),
            "a": factors[0].astype(np.float64),
            "b": factors[1].astype(np.float64),
            "value": result.astype(np.float64),
        }
        for name, column in entry.items():
            self._products[name].append(column)
        self._products_kept += len(lanes)
        self._step += 1

    def _locate(self, access: Access, positions: Array) -> tuple[Array, Array]:
        """For each byte position the number of its array and the element there, or -1."""
        memory = access.memory
        number = np.full(len(positions), -1, dtype=np.int64)
        element = np.full(len(positions), -1, dtype=np.int64)
        for array in memory.arrays:
            inside = (positions >= array.start) & (positions < array.start + array.bytes)
            if inside.any():
                number[inside] = self._number_of(memory.space, array, access.site.word_bytes)
                item = access.site.word_bytes if array.dtype is None else array.dtype.itemsize
                element[inside] = (positions[inside] - array.start) // item
        return number, element

    def _number_of(self, space: str, array: NamedArray, word_bytes: int) -> int:
        key = (space, array.name)
        if key not in self._arrays:
            self._arrays[key] = len(self._described)
            shape = list(array.shape) or [array.bytes // word_bytes]
            self._described.append({"name": array.name, "space": space, "shape": shape})
        return self._arrays[key]

    def finish(self) -> Trace:
        """The trace of everything recorded."""
        types = {"value": np.float64, "store": np.int8}
        columns = {}
        for name, chunks in self._chunks.items():
            per_instruction = not chunks or isinstance(chunks[0], int)
            column = np.repeat(chunks, self._counts) if per_instruction else np.concatenate(chunks)
            columns[name] = column.astype(types.get(name, np.int32))
        products = {
            name: np.concatenate(chunks) if chunks else np.zeros(0)
            for name, chunks in self._products.items()
        }
        faults = list(self._faults.values())
        return Trace(self._described, columns, self._complete, faults, products)


def _plain(columns: dict[str, Array]) -> dict[str, list[Any]]:
    return {
        name: [value if value == value else None for value in column.tolist()]
        for name, column in columns.items()
    }


def _as_numbers(values: Array, word_bytes: int) -> Array:
    """Raw 32-bit words are taken as float32, which is what the book's kernels hold."""
    if values.dtype.kind == "u" and word_bytes == 4:
        return values.astype(np.uint32).view(np.float32)
    return values
