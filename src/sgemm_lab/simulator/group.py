"""Threads that run together, the launch they belong to, and the accesses they make.

These types know each other both ways, so they stand in one module.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.images import Image
from sgemm_lab.simulator.memory import Memory, NamedArray, lay_out, shared_base, source_name
from sgemm_lab.simulator.ptx import Instruction, PtxKernel, Register
from sgemm_lab.simulator.registers import Mask, RegisterFile
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.vector_clocks import VectorClocks, synchronises_in_parts
from sgemm_lab.tensor_map import TensorMap
from sgemm_lab.text import place_name

LOAD, STORE, ATOMIC, COPY_READ, COPY_WRITE = "load", "store", "atomic", "copy read", "copy write"
"""Kinds of access; the copies are the two ends of a ``cp.async``."""

PIECE_BYTES = 16
"""Bytes of shared memory that copies and products of tensor cores move together."""

CLUSTER_BARRIER = 16
"""Number that stands for the barrier of a cluster, behind those of a block."""

CLUSTER_SHIFT = 24
"""From this bit on an address of a cluster's shared memory has the number of its block plus 1;
0 is the thread's own block."""

SURFACE = "surface"
"""The space of surfaces. A GPU counts their requests apart from those of global memory."""


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
    elsewhere: Mask | None = None
    """Lanes of the group that ask another block of the cluster; None for none."""


@dataclass(frozen=True, eq=False)
class BulkCopy:
    """A ``cp.async.bulk`` from global to shared memory that one thread started."""

    access: Access
    """Of the first word in shared memory, by one lane."""
    positions: npt.NDArray[np.int64]
    """Index in ``memory.bytes`` of each piece of 16 bytes in shared memory."""
    data: npt.NDArray[np.uint32]
    """(pieces, 4)."""
    sectors: int
    """Sectors of global memory that it reads: those of a multicast once."""
    barrier: int
    """Where its mbarrier lies: index of the first byte in shared memory."""
    time: int
    """Of the copy engine."""
    known: npt.NDArray[np.int64]
    """The clock that threads acquire that wait for the mbarrier: see ``VectorClocks``."""


@dataclass(frozen=True, eq=False)
class TensorRead:
    """What a product of a warp group, ``wgmma``, reads of shared memory for one of its warps."""

    access: Access
    """Of a first piece, by one lane."""
    lane: int
    positions: npt.NDArray[np.int64]
    """Index in ``memory.bytes`` of each piece of 16 bytes."""


class TensorWatch(Protocol):
    """Hears of what such products read."""

    def on_tensor_read(self, read: TensorRead) -> None:
        """Called when the product starts."""

    def on_tensor_done(self, done: list[TensorRead], running: list[TensorRead]) -> None:
        """Called when some products were waited for; ``running`` are the others of the group."""


class Observer(Protocol):
    """Is notified of every access while the kernel runs. A subclass overrides what it needs."""

    def on_access(self, access: Access) -> None:
        """Called when the addresses are known, before anything moves."""
        return None

    def on_values(self, access: Access, values: list[npt.NDArray[Any]]) -> None:
        """Called with the elements moved: one array per element, one entry per legal lane."""
        return None

    def on_copies_landed(
        self, group: "ThreadGroup", lanes: npt.NDArray[np.intp], positions: npt.NDArray[np.int64]
    ) -> None:
        """Called when asynchronous copies of some lanes become visible in shared memory.

        ``positions`` are the indices in shared memory of every 4-byte word written.
        """
        return None

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Called when a bulk copy starts."""
        return None

    def on_bulk_landed(self, copy: BulkCopy) -> None:
        """Called when the words of a bulk copy are in shared memory."""
        return None


class ProductListener(Protocol):
    """Is notified of every fused multiply-add of single precision."""

    def on_product(
        self,
        group: "ThreadGroup",
        instruction: Instruction,
        lanes: npt.NDArray[np.intp],
        factors: tuple[npt.NDArray[Any], npt.NDArray[Any]],
        result: npt.NDArray[Any],
    ) -> None:
        """Called after the instruction, with one entry per lane that ran it."""


class Suspect(Protocol):
    """What is wrong only if it does harm."""

    def same(self, other: Any) -> bool:
        """Whether both have the same message."""


class HazardSink(Protocol):
    """Collects what is wrong with a kernel."""

    def out_of_bounds(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes address memory that belongs to no array."""

    def misaligned(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes address a vector that does not start at a multiple of its size."""

    def out_of_image(
        self, group: "ThreadGroup", site: Site, image: Image, lane: int, place: tuple[int, ...]
    ) -> None:
        """A lane uses a place beyond the edges of a surface: along x in bytes, y and z."""

    def unwritten(self, access: Access, lanes: npt.NDArray[np.intp]) -> Suspect:
        """Some lanes read memory that nothing wrote; kept where it is confirmed."""

    def confirm(self, suspect: Any) -> None:
        """Such a read does harm."""

    def unset(self, group: "ThreadGroup", lane: int, site: Instruction) -> None:
        """A lane uses a register that nothing has written."""

    def early_use(self, group: "ThreadGroup", lane: int, site: Instruction, key: str) -> None:
        """A lane uses a register of a product that may still run; ``key`` says how."""

    def barrier_missed(self, group: "ThreadGroup", site: Instruction, missing: Mask) -> None:
        """Some live lanes did not reach a barrier that others of their block did."""

    def barrier_overflows(
        self, group: "ThreadGroup", lane: int, site: Instruction, expected: int
    ) -> None:
        """More lanes of a warp arrive at an mbarrier than complete its phase."""

    def exchange_missed(
        self, group: "ThreadGroup", lane: int, site: Instruction, named: int, absent: int
    ) -> None:
        """A shuffle, vote or match names a lane that does not run it, or not the lane itself."""

    def barrier_starved(
        self, group: "ThreadGroup", lane: int, site: Instruction, came: int, expected: int
    ) -> None:
        """A barrier waits for more threads than come to it."""

    def barrier_skipped(self, group: "ThreadGroup", lane: int, site: Instruction) -> None:
        """Warps returned while others of their block waited at a barrier."""

    def barrier_split(
        self, group: "ThreadGroup", lane: int, site: Instruction, other: Instruction
    ) -> None:
        """Warps of one block wait at two barriers of the source."""


class UninitializedTracker(Protocol):
    """Tracks uninitialized values: see ``UninitializedValues``."""

    active: bool

    def start(self) -> None:
        """Begin other blocks."""

    def on_read(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes read memory that nothing wrote."""

    def on_move(self, access: Access) -> None:
        """An access is about to move values."""

    def wrap_branch(
        self, group: "ThreadGroup", names: Iterable[str], choose: Callable[[Mask | None], Mask]
    ) -> Callable[[Mask | None], Mask]:
        """Wrap the condition of a branch."""

    def wrap_step(
        self,
        group: "ThreadGroup",
        instructions: Sequence[Instruction],
        steps: tuple[Callable[[Mask | None], None], Callable[[Mask | None], None]],
        guard: Callable[[Mask | None], Mask] | None,
    ) -> Callable[[Mask | None], None]:
        """Return the step that also tracks values."""


VOTE_TURNS = 3
"""Barriers that count whose votes are kept at a time."""

CLOCKS = frozenset({"%clock", "%clock64", "%globaltimer", "%globaltimer_lo"})
"""Special registers that hold the time."""
_TICK = 1000
"""By how much they go on each time that one is read: no time passes here between two looks."""

Dim3 = tuple[int, int, int]
Warp = tuple[int, int]
"""Slot and number of a warp."""


@dataclass(eq=False)
class Launch:
    """One kernel launch: everything that all its blocks share."""

    kernel: PtxKernel
    grid: Dim3
    block: Dim3
    parameters: dict[str, Any]
    """Value of each kernel parameter that is an address or a number."""
    global_memory: Memory
    shared_bytes: int
    """Dynamic shared memory of one block, in bytes."""
    hazards: HazardSink
    uninitialized: UninitializedTracker
    """Tracks uninitialized values."""
    observers: list[Observer]
    tensor_maps: Mapping[int, tuple[TensorMap, int]] = field(default_factory=dict)
    """By where the parameter lies: a tensor map and the address of its matrix."""
    tensor_watches: Sequence[TensorWatch] = ()
    early_uses: Mapping[int, str] = field(default_factory=dict)
    """Instructions that use a register too early: see ``wgmma_operations.early_uses``."""
    products: ProductListener | None = None
    """Listener of multiply-adds; with one they run one by one, in their own order."""
    shared_parts: Sequence[tuple[str, int, int]] = ()
    """The arrays inside dynamic shared memory, where they are known: name, first byte, bytes."""
    variables: Mapping[str, int] = field(default_factory=dict)
    """Addresses of the module's variables, and of parameters that are structs."""
    images: Mapping[int, Image] = field(default_factory=dict)
    """Textures and surfaces, by the number that stands for each: where it lies."""
    workspace: int = 0
    """Where the barrier of the whole grid lies, if the kernel has one."""
    chosen: Sequence[int] | None = None
    """Numbers of the blocks that run; None for all."""
    cooperative: bool = False
    """Whether all blocks run side by side, because they may wait for each other."""
    max_basic_blocks: int | None = None
    """Basic blocks that a group of threads may run before its loop is called endless."""
    time_limit: float = math.inf
    """Seconds that the simulation may take."""
    unset: Mapping[int, tuple[Register, ...]] = field(default_factory=dict)
    """Registers that may be read before they are written: see ``unset_reads``."""
    blocks_done: int = 0
    deadline: float = field(init=False)
    """When the time is up, on the clock of ``time.monotonic``."""
    shared_arrays: list[NamedArray] = field(init=False)
    local_arrays: list[NamedArray] = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.time_limit
        self.shared_arrays = lay_out(self.kernel.shared, self.shared_bytes)
        self.local_arrays = lay_out(self.kernel.local, 0)

    @property
    def threads(self) -> int:
        """Threads of one block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        """Warps of one block."""
        return -(-self.threads // WARP)

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return self.kernel.cluster

    @property
    def numbers(self) -> Sequence[int]:
        """Numbers of the blocks that run: whole clusters."""
        if self.chosen is None or self.cluster == 1:
            return range(self.blocks) if self.chosen is None else self.chosen
        clusters = sorted({number // self.cluster for number in self.chosen})
        return [one * self.cluster + rank for one in clusters for rank in range(self.cluster)]

    def block_index(self, number: int) -> Dim3:
        """``blockIdx`` (x, y, z) of a block; blocks are numbered with x fastest."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def thread_index(self, number: int) -> Dim3:
        """``threadIdx`` (x, y, z) of a thread; threads are numbered with x fastest."""
        x, y, _ = self.block
        return number % x, number // x % y, number // (x * y)

    def block_name(self, block: Dim3) -> str:
        """A block as sentences name it."""
        return place_name(block, self.grid)

    def thread_name(self, thread: Dim3) -> str:
        """A thread of a block as sentences name it."""
        return place_name(thread, self.block)


def _parts(launch: Launch, array: NamedArray) -> list[NamedArray]:
    """A shared array under its name in the source; the dynamic one as the arrays inside it."""
    declared = {one.name: one.bytes for one in launch.kernel.shared}
    inside = [
        NamedArray(name, array.start + start, size)
        for name, start, size in launch.shared_parts
        if start + size <= array.bytes
    ]
    if declared[array.name] or not inside:
        return [NamedArray(source_name(array.name), array.start, array.bytes)]
    return inside


class BlockBatch:
    """Blocks that run side by side, each in a slot with shared memory of its own."""

    def __init__(self, launch: Launch, slots: int) -> None:
        self.launch = launch
        self.slots = slots
        used = max((array.start + array.bytes for array in launch.shared_arrays), default=0)
        self.shared = Memory("shared", shared_base(launch.kernel.target), used, slots)
        self.shared.arrays = [
            part for array in launch.shared_arrays for part in _parts(launch, array)
        ]
        self.blocks = np.zeros(slots, dtype=np.int64)
        """Number of the block in each slot."""
        self.epoch = np.zeros(slots, dtype=np.int64)
        """Barriers each block has passed with all its threads. Never changed in place."""
        self.fenced = np.zeros(slots, dtype=bool)
        """Blocks with a fence that the race detector has not seen yet."""
        self.progress_count = 0
        """Counts events that a waiting thread may wait for."""
        self.arrived: dict[int, npt.NDArray[np.int64]] = defaultdict(
            lambda: np.zeros(slots, dtype=np.int64)
        )
        """By number of a barrier and slot: threads that came to it without waiting."""
        self.clocks: VectorClocks | None = None
        """Only where warps synchronise in parts."""
        if synchronises_in_parts(launch.kernel):
            self.clocks = VectorClocks(slots, launch.warps, launch.cluster)
        self.released_clocks: dict[tuple[int, int], npt.NDArray[np.int64]] = {}
        """By number of a barrier and slot: merged clocks of ``bar.arrive``."""
        self.mbarriers: dict[int, MemoryBarrier] = {}
        """By index of their first byte in shared memory."""
        self.bulk_copies: list[BulkCopy] = []
        """Bulk copies that have not landed."""
        self._votes = np.zeros((VOTE_TURNS, 2, slots, launch.warps * WARP), dtype=bool)

    def start(self, blocks: Sequence[int]) -> None:
        """Put fresh blocks into the slots."""
        self.launch.uninitialized.start()
        self.blocks[:] = blocks
        self.epoch = np.zeros(self.slots, dtype=np.int64)
        self.fenced[:] = False
        self.arrived.clear()
        self.released_clocks.clear()
        self.mbarriers.clear()
        self.bulk_copies.clear()
        self._votes[:] = False
        if self.clocks is not None:
            self.clocks.start()
        self.shared.reset()

    def vote(
        self,
        turn: int,
        slots: npt.NDArray[np.int64],
        threads: npt.NDArray[np.int64],
        holds: Mask,
    ) -> None:
        """Keep what threads bring to a barrier that counts; ``turn`` is 0, 1 and 2 by turns."""
        self._votes[turn, 0, slots, threads] = holds
        self._votes[turn, 1, slots, threads] = True
        # Whoever comes here has passed the barrier before: nobody needs the last votes but one.
        self._votes[(turn + 1) % VOTE_TURNS, :, slots] = False

    def votes_of(self, turn: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """For each slot how many threads brought a true predicate, and how many came."""
        holds, came = self._votes[turn].sum(axis=2)
        return holds, came

    def arrive(self, group: "ThreadGroup", lanes: Mask, number: int) -> None:
        """Count threads at a barrier that do not wait there."""
        self.arrived[number] += np.bincount(group.slot[lanes], minlength=self.slots)
        if self.clocks is not None:
            for slot, warp in warps_among(group, lanes):
                known = self.clocks.release(slot, warp)
                before = self.released_clocks.get((number, slot), known)
                self.released_clocks[number, slot] = np.maximum(before, known)

    def passed(self, number: int, slots: Mask, whole: Mask, warps: Iterable[Warp]) -> None:
        """A barrier opens in some slots; in those of ``whole`` with all threads of the block.

        ``warps`` are those that waited.
        """
        self.epoch = self.epoch + whole
        self.arrived[number][slots] = 0
        self.progress_count += 1
        if self.clocks is not None:
            size = self.launch.cluster if number == CLUSTER_BARRIER else 1
            by_slot: dict[int, set[Warp]] = defaultdict(set)
            for slot, warp in warps:
                by_slot[slot // size * size].add((slot, warp))
            for slot, together in by_slot.items():
                released = self.released_clocks.pop((number, slot), None)
                self.clocks.synchronize(sorted(together), released)


def warps_among(group: "ThreadGroup", lanes: Mask) -> list[Warp]:
    """The warps that have a lane in a mask."""
    keys = group.slot[lanes] * (group.thread.max() // WARP + 1) + group.thread[lanes] // WARP
    found = np.unique(keys)
    slot, warp = np.divmod(found, group.thread.max() // WARP + 1)
    return list(zip(slot.tolist(), warp.tolist(), strict=True))


@dataclass(eq=False)
class MemoryBarrier:
    """An mbarrier: counts arrivals and the bytes of copies, phase after phase."""

    expected: int
    """Arrivals that complete a phase."""
    pending: int
    """Arrivals that the present phase still waits for."""
    phase: int = 0
    bytes: int = 0
    """Bytes that the present phase still waits for."""
    released: npt.NDArray[np.int64] | None = None
    """Merged clocks of the arrivals: see ``VectorClocks``."""
    acquired: npt.NDArray[np.int64] | None = None
    """The clock that threads acquire that wait for the last complete phase."""


@dataclass(eq=False)
class PendingCopy:
    """Asynchronous copies issued together and not yet visible in shared memory."""

    lanes: npt.NDArray[np.intp]
    ticket: npt.NDArray[np.int64]
    """For each lane, how many groups it had committed when it issued the copy."""
    positions: npt.NDArray[np.int64]
    """(lanes, words): index of each 4-byte word in shared memory, in bytes."""
    words: npt.NDArray[np.uint32]
    """(lanes, words): what will be written."""


class ThreadGroup:
    """Threads that run in lockstep: some warps of every block in a batch.

    A lane is one thread. Lanes are ordered by block, then by thread; every warp has 32, and those
    past the end of a block whose size is no multiple of 32 never run.
    """

    def __init__(self, batch: BlockBatch, warps: Sequence[int]) -> None:
        launch = batch.launch
        self.batch = batch
        self.launch = launch
        self.lanes = batch.slots * len(warps) * WARP
        self.warps = batch.slots * len(warps)
        in_block = (np.asarray(warps)[:, None] * WARP + np.arange(WARP)).reshape(-1)
        self.thread = np.tile(in_block, batch.slots)
        """Number of each lane's thread within its block."""
        self.slot = np.repeat(np.arange(batch.slots), len(in_block))
        """Slot of each lane's block."""
        self.exists = self.thread < launch.threads
        self.alive: Mask = self.exists.copy()
        """Lanes that have not returned."""
        self.registers = RegisterFile(launch.kernel, self.lanes)
        self.parameters = launch.parameters
        base = batch.shared.base
        self.symbols = {array.name: base + array.start for array in launch.shared_arrays}
        self.symbols |= {array.name: array.start for array in launch.local_arrays}
        self.symbols |= launch.variables
        self.shared_offset = self.slot * batch.shared.stride
        used = max((array.start + array.bytes for array in launch.local_arrays), default=0)
        self.local = Memory("local", 0, used, self.lanes if used else 1)
        self.local_offset = np.arange(self.lanes) * (self.local.stride if used else 0)
        self.warp_epoch = np.zeros(self.lanes, dtype=np.int64)
        """Warp-level barriers each lane has passed. Never changed in place."""
        self.whole_epoch = np.zeros(self.lanes, dtype=np.int64)
        """The same at the last barrier of all lanes of its warp that were running."""
        self.syncwarp_mask = np.full(self.lanes, 0xFFFFFFFF, dtype=np.uint32)
        """Lanes of each lane's last ``__syncwarp``, a bit for each."""
        self.partial_syncwarp = False
        """Whether a barrier was for some lanes of a warp alone."""
        self.votes = np.zeros(self.lanes, dtype=np.int64)
        """Barriers that count, such as ``__syncthreads_count()``, which each lane has come to."""
        self.carry: Mask = np.zeros(self.lanes, dtype=bool)
        """What sums over several words carry from one to the next."""
        self.committed = np.zeros(self.lanes, dtype=np.int64)
        """Asynchronous-copy groups each lane has committed."""
        self.pending: list[PendingCopy] = []
        self.committed_products = np.zeros(self.lanes, dtype=np.int64)
        """Groups of ``wgmma`` products each lane has committed."""
        self.products: list[tuple[int, TensorRead]] = []
        """Those that may run, with the groups that their lane had committed before."""
        self.test_failed = False
        """Whether a test of an mbarrier failed in the block that runs now."""
        self.may_end = False
        """Whether it was an atomic that changed nothing: its loop may have an end of its own."""
        self._time = 0
        self._block_index = [np.zeros(self.lanes, dtype=np.uint32) for _ in range(3)]

    def start(self) -> None:
        """Begin the blocks that are now in the batch's slots."""
        self.alive[:] = self.exists
        self.warp_epoch = np.zeros(self.lanes, dtype=np.int64)
        self.whole_epoch = np.zeros(self.lanes, dtype=np.int64)
        self.syncwarp_mask = np.full(self.lanes, 0xFFFFFFFF, dtype=np.uint32)
        self.votes = np.zeros(self.lanes, dtype=np.int64)
        self.committed[:] = 0
        self.pending.clear()
        self.committed_products[:] = 0
        self.products.clear()
        self.local.reset()
        numbers = self.batch.blocks[self.slot]
        x, y, _ = self.launch.grid
        for row, index in zip(
            self._block_index, (numbers % x, numbers // x % y, numbers // (x * y)), strict=True
        ):
            row[:] = index

    def in_same_epoch(
        self, lanes: npt.NDArray[np.intp], others: npt.NDArray[Any], epochs: npt.NDArray[Any]
    ) -> Mask:
        """Where no barrier of a warp stands between now and what another of its threads did.

        Args:
            lanes: who is asked about.
            others: for each the number of the other thread, of the same warp.
            epochs: and the warp-level barriers that it had passed then.
        """
        same = np.asarray(epochs == self.warp_epoch[lanes])
        if self.partial_syncwarp:
            bit = np.uint32(1) << (others % WARP).astype(np.uint32)
            same |= ((self.syncwarp_mask[lanes] & bit) == 0) & (epochs >= self.whole_epoch[lanes])
        return same

    def windows(self, lanes: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """The barriers that the block of each of some lanes has passed.

        Where warps synchronise in parts: the window of time that its warp is in.
        """
        slots, clocks = self.slot[lanes], self.batch.clocks
        if clocks is None:
            return np.asarray(self.batch.epoch[slots])
        return clocks.windows(slots, self.thread[lanes] // WARP)

    def memory(self, space: str) -> tuple[Memory, Any]:
        """A memory space, and where each lane's slot of it starts (bytes)."""
        if space == "shared":
            return self.batch.shared, self.shared_offset
        if space == "local":
            return self.local, self.local_offset
        return self.launch.global_memory, 0

    def in_cluster(self, addresses: npt.NDArray[np.int64]) -> tuple[Any, Any]:
        """Addresses of shared memory without the block that they name, and where its slot starts.

        An address of a block that the cluster has not is -1.
        """
        size = self.launch.cluster
        block = addresses >> CLUSTER_SHIFT
        slot = np.where(block == 0, self.slot, self.slot // size * size + block - 1)
        known = (block >= 0) & (block <= size)
        low = np.where(known, addresses & ((1 << CLUSTER_SHIFT) - 1), -1)
        return low, np.where(known, slot, 0) * self.batch.shared.stride

    def read_clock(self) -> np.int64:
        """Return a time that is later than at any look before."""
        self._time += _TICK
        return np.int64(self._time)

    def special(self, name: str) -> Any:
        """The values of a special register such as ``%tid.x``: an array or a number.

        Raises:
            PtxError: the simulator has no such register.
        """
        base, _, axis_name = name.partition(".")
        axis = "xyz".find(axis_name) if axis_name else -1
        launch = self.launch
        if axis >= 0 and base == "%ctaid":
            return self._block_index[axis]
        if axis >= 0 and base == "%tid":
            x, y, _ = launch.block
            parts = (self.thread % x, self.thread // x % y, self.thread // (x * y))
            return parts[axis].astype(np.uint32)
        if axis >= 0 and base == "%ntid":
            return np.uint32(launch.block[axis])
        if axis >= 0 and base == "%nctaid":
            return np.uint32(launch.grid[axis])
        if name in ("%cluster_ctarank", "%cluster_ctaid.x"):
            return (self.slot % launch.cluster).astype(np.uint32)
        if name in ("%cluster_nctarank", "%cluster_nctaid.x"):
            return np.uint32(launch.cluster)
        lane = (np.arange(self.lanes) % WARP).astype(np.uint32)
        one = np.uint32(1)
        match name:
            case "%laneid":
                return lane
            case "%warpid":
                return (self.thread // WARP).astype(np.uint32)
            case "%lanemask_eq":
                return one << lane
            case "%lanemask_lt":
                return (one << lane) - one
            case "%lanemask_le":
                return ((one << lane) - one) | (one << lane)
            case "%lanemask_gt":
                return ~(((one << lane) - one) | (one << lane))
            case "%lanemask_ge":
                return ~((one << lane) - one)
            case "%smid":
                return np.zeros(self.lanes, np.uint32)
            case "%nsmid":
                return np.uint32(1)
            case "%nwarpid":
                return np.uint32(launch.warps)
            case "%gridid":
                return np.uint64(0)
            case "%envreg1":
                return np.uint32(launch.workspace >> 32)
            case "%envreg2":
                return np.uint32(launch.workspace & 0xFFFFFFFF)
            case "%dynamic_smem_size":
                return np.uint32(launch.shared_bytes)
            case "%total_smem_size":
                return np.uint32(self.batch.shared.size)
            case "WARP_SZ":
                return np.uint32(WARP)
        raise PtxError(sentence("run.special", name=name))
