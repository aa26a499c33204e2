"""Copies of boxes of a matrix, ``cp.async.bulk.tensor``, by tensor maps; addresses in a cluster.

Source: PTX ISA, "cp.async.bulk.tensor", "mapa", "Swizzling modes". The engine (TMA) reads a box of
rows and columns, zeros outside of the matrix, and writes row after row; the swizzle permutes pieces
of 16 bytes by their addresses.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import SECTOR_BYTES
from sgemm_lab.simulator.arithmetic import rounded_to_tf32
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.group import (
    CLUSTER_SHIFT,
    COPY_READ,
    COPY_WRITE,
    PIECE_BYTES,
    Site,
)
from sgemm_lab.simulator.mbarrier_operations import barrier_at, barrier_places, start_bulk_copy
from sgemm_lab.simulator.memory import GLOBAL_BASE, OUTSIDE, WRITTEN
from sgemm_lab.simulator.memory_operations import address_of, begin
from sgemm_lab.simulator.operations import (
    Match,
    Operations,
    Step,
    assignment,
    destination,
    nothing,
    value,
)
from sgemm_lab.simulator.ptx import Instruction, Vector
from sgemm_lab.simulator.registers import Mask, source
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.wgmma_operations import swizzled
from sgemm_lab.tensor_map import TensorMap

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

_ALIGNMENT = 128
"""Of a box in shared memory."""


def _copy_box(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """Copy a box into shared memory of the block, or of all blocks of a mask."""
    where = instruction.operands[1]
    assert isinstance(where, Vector)
    handle, corner = where.items
    assert isinstance(corner, Vector)
    to = address_of(group, instruction, 0)
    places = barrier_places(group, instruction, 2)
    maps = source(group.registers, group.symbols, handle, np.dtype(np.uint64))
    x, y = (source(group.registers, group.symbols, one, np.dtype(np.int32)) for one in corner.items)
    chosen = value(group, instruction, 3, "u16") if match["multicast"] else None
    write_site = Site(instruction, "shared", COPY_WRITE, PIECE_BYTES, 8, False)
    read_site = Site(instruction, "global", COPY_READ, 1, 1, False)

    def step(mask: Mask | None) -> None:
        rows = [np.broadcast_to(one, (group.lanes,)) for one in (maps, x, y)]
        blocks = None if chosen is None else np.broadcast_to(chosen, (group.lanes,))
        for lane, place in places(mask):
            found = group.launch.tensor_maps.get(int(rows[0][lane]))
            if found is None:
                raise PtxError(sentence("run.tensor_map", place=instruction.location))
            brought = _box(group, read_site, lane, found, int(rows[1][lane]), int(rows[2][lane]))
            alone = np.zeros(group.lanes, dtype=bool)
            alone[lane] = True
            write = begin(group, write_site, to(), alone, notify=False)
            if brought is None or not len(write.positions):
                continue
            data, sectors = brought
            first = int(write.positions[0])
            pieces = first + np.arange(len(data)) * PIECE_BYTES
            if pieces[-1] % write.memory.stride > write.memory.size - PIECE_BYTES or (
                pieces[-1] // write.memory.stride != first // write.memory.stride
            ):
                begin(group, write_site, to() + pieces[-1] - first, alone, notify=False)
                continue
            # Slots start at multiples of 128 bytes only: the swizzle goes by the address.
            base = first - int(write.addresses[lane])
            positions = base + swizzled(pieces - base, found[0].swizzle)
            stride, own = write.memory.stride, int(group.slot[lane])
            rank = own % group.launch.cluster
            ranks = [rank] if blocks is None else [
                one for one in range(group.launch.cluster) if int(blocks[lane]) >> one & 1
            ]  # fmt: skip
            for one in ranks:
                away = (one - rank) * stride
                barrier_at(group, instruction, place + away)
                start_bulk_copy(group, write, lane, positions + away, data, place + away, sectors)
                sectors = 0

    return step


def _box(
    group: "ThreadGroup", site: Site, lane: int, found: tuple[TensorMap, int], x: int, y: int
) -> tuple[npt.NDArray[np.uint32], int] | None:
    """What a copy brings, in pieces of 16 bytes, and the sectors that it reads.

    None where the matrix lies in no array.
    """
    tensor, start = found
    size = tensor.element_bytes
    memory = group.launch.global_memory
    row = y + np.arange(tensor.box_rows)[:, None]
    column = x + np.arange(tensor.box_columns)
    inside = (row >= 0) & (row < tensor.rows) & (column >= 0) & (column < tensor.columns)
    positions = start - GLOBAL_BASE + row * tensor.pitch_bytes + column * size
    read = positions[inside]
    wrong = (read < 0) | (read > memory.size - size)
    wrong |= memory.state.take(read, mode="clip") == OUTSIDE
    if wrong.any():
        alone = np.arange(group.lanes) == lane
        first = np.full(group.lanes, GLOBAL_BASE + read[wrong][0])
        begin(group, site, first, alone, notify=False)
        return None
    box = np.zeros(inside.shape, f"u{size}")
    box[inside] = memory.words(size)[read // size]
    if tensor.dtype == "tf32":
        box = rounded_to_tf32(box, to_even=True)
    pieces = np.ascontiguousarray(box).view(np.uint32).reshape(-1, PIECE_BYTES // 4)
    return pieces, len(np.unique(read // SECTOR_BYTES))


def _store_box(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """Store a box from the block's shared memory; nothing outside of the matrix.

    It is carried out at once, so a box that is overwritten before it was read is not found.
    """
    where = instruction.operands[0]
    assert isinstance(where, Vector)
    handle, corner = where.items
    assert isinstance(corner, Vector)
    origin = address_of(group, instruction, 1)
    maps = source(group.registers, group.symbols, handle, np.dtype(np.uint64))
    x, y = (source(group.registers, group.symbols, one, np.dtype(np.int32)) for one in corner.items)
    site = Site(instruction, "shared", COPY_READ, PIECE_BYTES, 8, False)

    def step(mask: Mask | None) -> None:
        rows = [np.broadcast_to(one, (group.lanes,)) for one in (maps, x, y)]
        for lane in range(group.lanes) if mask is None else np.flatnonzero(mask):
            found = group.launch.tensor_maps.get(int(rows[0][lane]))
            if found is None:
                raise PtxError(sentence("run.tensor_map", place=instruction.location))
            tensor, start = found
            read = begin(group, site, origin(), np.arange(group.lanes) == lane, notify=False)
            if not len(read.positions):
                continue
            size, first = tensor.element_bytes, int(read.positions[0])
            row_bytes = tensor.box_columns * size
            pieces = first + np.arange(tensor.box_rows * row_bytes // PIECE_BYTES) * PIECE_BYTES
            base = first - int(read.addresses[lane])
            words = (base + swizzled(pieces - base, tensor.swizzle))[:, None] // size
            box = read.memory.words(size)[words + np.arange(PIECE_BYTES // size)]
            row = int(rows[2][lane]) + np.arange(tensor.box_rows)[:, None]
            column = int(rows[1][lane]) + np.arange(tensor.box_columns)
            inside = (row >= 0) & (row < tensor.rows) & (column >= 0) & (column < tensor.columns)
            to = start - GLOBAL_BASE + row * tensor.pitch_bytes + column * size
            memory = group.launch.global_memory
            memory.words(size)[to[inside] // size] = box.reshape(inside.shape)[inside]
            for byte in range(size):
                memory.state[to[inside] + byte] = WRITTEN

    return step


def _map_address(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``mapa``: where an address of this block would be in another block of the cluster."""
    type_ = match["type"]
    address = value(group, instruction, 1, type_)
    rank = value(group, instruction, 2, "u32")
    target = destination(group, instruction, type_)
    bits = target.dtype.type(0xFF << CLUSTER_SHIFT)

    def compute() -> npt.NDArray[np.uint64]:
        if group.launch.cluster == 1:
            return np.asarray(address)
        block = (np.asarray(rank).astype(target.dtype) + target.dtype.type(1)) << CLUSTER_SHIFT
        return np.asarray((address & ~bits) | (block & bits))

    return assignment(target, compute)


OPERATIONS: Operations = [
    (
        r"cp\.async\.bulk\.tensor\.2d\.shared::(?:cluster|cta)\.global(?:\.tile)?"
        r"\.mbarrier::complete_tx::bytes(?P<multicast>\.multicast::cluster)?(?:\.L2::cache_hint)?",
        _copy_box,
    ),
    (
        r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta(?:\.tile)?\.bulk_group"
        r"(?:\.L2::cache_hint)?",
        _store_box,
    ),
    (r"cp\.async\.bulk\.(?:commit_group|wait_group(?:\.read)?)", nothing),
    (r"mapa(?:\.shared::cluster)?\.(?P<type>u32|u64)", _map_address),
]
