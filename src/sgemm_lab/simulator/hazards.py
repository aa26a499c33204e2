"""Hazards of a run as sentences: data races, accesses out of bounds, uninitialized values.

The race detectors are in ``shared_races``, ``vector_clock_races`` and ``global_races``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.group import (
    Access,
    Dim3,
    Site,
    ThreadGroup,
)
from sgemm_lab.simulator.images import Image
from sgemm_lab.simulator.memory import NamedArray
from sgemm_lab.simulator.ptx import Instruction
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.source_locations import Location

Array = npt.NDArray[Any]

OUT_OF_BOUNDS = "out of bounds"
MISALIGNED = "misaligned"
UNWRITTEN = "unwritten"
RACE = "race"
IN_FLIGHT = "in flight"
BARRIER = "barrier"
EXCHANGE = "exchange"
"""Kinds of hazard."""
SPLIT_BARRIER = "split barrier"
UNSET = "unset"
"""Kinds of warning: odd, and right on a GPU all the same, or not seen in what is written."""


@dataclass(frozen=True)
class Hazard:
    """Something wrong at one source line. ``str()`` gives the sentence for the reader."""

    kind: str
    location: Location
    message: str
    block: Dim3
    """``blockIdx`` (x, y, z) where it was first found."""
    thread: Dim3
    """``threadIdx`` (x, y, z)."""
    array: str | None = None
    element: tuple[int, ...] | None = None
    """Index in the array, in elements; a shared array counts as one-dimensional."""
    other_thread: Dim3 | None = None
    """The other thread of a race."""
    other_location: Location | None = None
    """Where the other thread of a race accessed the element."""
    across_warps: bool = False
    """Whether the two threads of a race are of different warps."""

    def __str__(self) -> str:
        return self.message


def most_relevant(hazards: Sequence[Hazard]) -> Hazard:
    """Return the first of some hazards; of races rather one between two warps.

    Threads of one warp mostly run side by side, but which warp is first is chance.
    """
    races = (hazard for hazard in hazards if hazard.across_warps)
    return next(races, hazards[0]) if hazards[0].kind == RACE else hazards[0]


@dataclass(frozen=True, eq=False)
class Suspect:
    """A hazard if it does harm."""

    hazard: Hazard
    time: int
    """Its number among hazards and suspects."""

    def same(self, other: "Suspect") -> bool:
        """Whether both have the same message."""
        return _message_key(self.hazard) == _message_key(other.hazard)


def _message_key(hazard: Hazard) -> tuple[Any, ...]:
    """One source line may be many instructions: the same thing is said once."""
    return hazard.kind, hazard.location, hazard.array


FaultListener = Callable[[Access, npt.NDArray[np.intp], Callable[[int], str]], None]
"""Called for every access that faults, with the lanes that fault and the message of a lane."""


class HazardLog:
    """Keeps the first hazard of each kind at each instruction.

    ``on_fault`` is called for every access that a GPU would stop at, not only the first.
    """

    def __init__(self, on_fault: FaultListener | None = None) -> None:
        self._on_fault = on_fault
        self._kept: dict[int, Hazard] = {}
        """By number."""
        self._time = 0
        self.warnings: list[Hazard] = []
        self._seen: set[tuple[str, int | Location]] = set()

    @property
    def found(self) -> list[Hazard]:
        """Hazards in the order in which they were found."""
        return [self._kept[time] for time in sorted(self._kept)]

    def out_of_bounds(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes address memory that belongs to no array."""
        self._fault(OUT_OF_BOUNDS, access, lanes, _outside)

    def misaligned(self, access: Access, lanes: npt.NDArray[np.intp]) -> None:
        """Some lanes address a vector that does not start at a multiple of its size."""
        self._fault(MISALIGNED, access, lanes, _misaligned)

    def out_of_image(
        self, group: ThreadGroup, site: Site, image: Image, lane: int, place: tuple[int, ...]
    ) -> None:
        """A lane uses a place beyond the edges of a surface: along x in bytes, y and z."""
        instruction = site.instruction
        if not self._is_new(OUT_OF_BOUNDS, instruction.index):
            return
        block, thread = _who(group, lane)
        block_name, thread_name = _names(group, block, thread)
        x, y, z = (*place, 0, 0)[:3]
        width, height, depth = image.sides
        what = sentence(
            "hazard.image",
            verb=sentence(f"verb.{site.kind}"),
            x=x,
            row=y + height * z,
            array=image.array.name,
            rows=height * depth,
            bytes=width * image.element_bytes,
        )
        said = sentence(
            "hazard.who",
            place=instruction.location,
            thread=thread_name,
            block=block_name,
            what=what,
        )
        self._append(
            Hazard(OUT_OF_BOUNDS, instruction.location, said, block, thread, image.array.name)
        )

    def unwritten(self, access: Access, lanes: npt.NDArray[np.intp]) -> Suspect:
        """Some lanes read memory that nothing wrote: a hazard where it is confirmed."""
        place = _Place(access, int(lanes[0]))
        self._time += 1
        return Suspect(place.hazard(UNWRITTEN, place.says("hazard.unwritten")), self._time)

    def confirm(self, suspect: Suspect) -> None:
        """Such a read does harm."""
        self._once(suspect.hazard, suspect.time)

    def unset(self, group: ThreadGroup, lane: int, site: Instruction) -> None:
        """A lane uses a variable that nothing has written."""
        if self._is_new(UNSET, site.location):
            block, thread = _who(group, lane)
            block_name, thread_name = _names(group, block, thread)
            what = sentence("hazard.unset")
            said = sentence(
                "hazard.who", place=site.location, thread=thread_name, block=block_name, what=what
            )
            self.warnings.append(Hazard(UNSET, site.location, said, block, thread))

    def early_use(self, group: ThreadGroup, lane: int, site: Instruction, key: str) -> None:
        """A lane uses a register of a product that may still run."""
        if self._is_new(IN_FLIGHT, site.location):
            block, thread = _who(group, lane)
            block_name, thread_name = _names(group, block, thread)
            said = sentence(
                "hazard.who",
                place=site.location,
                thread=thread_name,
                block=block_name,
                what=sentence(key),
            )
            self._append(Hazard(IN_FLIGHT, site.location, said, block, thread))

    def barrier_missed(self, group: ThreadGroup, site: Instruction, missing: Mask) -> None:
        """Some live lanes did not reach a barrier that others of their block did."""
        if self._is_new(BARRIER, site.location):
            lane = int(np.flatnonzero(missing)[0])
            block, thread = _who(group, lane)
            block_name, thread_name = _names(group, block, thread)
            count = int(missing[group.slot == group.slot[lane]].sum())
            self._append(
                Hazard(
                    BARRIER,
                    site.location,
                    sentence(
                        "barrier.missed",
                        place=site.location,
                        count=count,
                        block=block_name,
                        thread=thread_name,
                    ),
                    block,
                    thread,
                )
            )

    def barrier_overflows(
        self, group: ThreadGroup, lane: int, site: Instruction, expected: int
    ) -> None:
        """More lanes of a warp arrive at an mbarrier than complete its phase."""
        if self._is_new(BARRIER, site.location):
            block, thread = _who(group, lane)
            block_name, thread_name = _names(group, block, thread)
            what = sentence("mbarrier.overflow", expected=expected)
            said = sentence(
                "hazard.who", place=site.location, thread=thread_name, block=block_name, what=what
            )
            self._append(Hazard(BARRIER, site.location, said, block, thread))

    def exchange_missed(
        self, group: ThreadGroup, lane: int, site: Instruction, named: int, absent: int
    ) -> None:
        """A shuffle, vote or match names a lane that does not run it, or not the lane itself."""
        if self._is_new(EXCHANGE, site.location):
            block, thread = _who(group, lane)
            block_name, thread_name = _names(group, block, thread)
            key = "exchange.absent" if absent != lane % WARP else "exchange.unnamed"
            what = sentence(key, mask=f"0x{named:08x}", lane=absent)
            said = sentence(
                "hazard.who", place=site.location, thread=thread_name, block=block_name, what=what
            )
            self._append(Hazard(EXCHANGE, site.location, said, block, thread))

    def barrier_starved(
        self, group: ThreadGroup, lane: int, site: Instruction, came: int, expected: int
    ) -> None:
        """A barrier waits for more threads than come to it."""
        if self._is_new(BARRIER, site.location):
            block, thread = _who(group, lane)
            self._append(
                Hazard(
                    BARRIER,
                    site.location,
                    sentence(
                        "barrier.starved",
                        place=site.location,
                        expected=expected,
                        block=group.launch.block_name(block),
                        came=came,
                    ),
                    block,
                    thread,
                )
            )

    def barrier_skipped(self, group: ThreadGroup, lane: int, site: Instruction) -> None:
        """Warps returned while others of their block waited at a barrier: it opens without them."""
        if self._is_new(SPLIT_BARRIER, site.location):
            block, thread = _who(group, lane)
            block_name, thread_name = _names(group, block, thread)
            self.warnings.append(
                Hazard(
                    SPLIT_BARRIER,
                    site.location,
                    sentence(
                        "barrier.skipped",
                        place=site.location,
                        block=block_name,
                        thread=thread_name,
                    ),
                    block,
                    thread,
                )
            )

    def barrier_split(
        self, group: ThreadGroup, lane: int, site: Instruction, other: Instruction
    ) -> None:
        """Warps of one block wait at two barriers of the source: the hardware counts them alike."""
        if self._is_new(SPLIT_BARRIER, site.location):
            block, thread = _who(group, lane)
            self.warnings.append(
                Hazard(
                    SPLIT_BARRIER,
                    site.location,
                    sentence(
                        "barrier.split",
                        place=site.location,
                        block=group.launch.block_name(block),
                        line=other.location.line,
                    ),
                    block,
                    thread,
                    other_location=other.location,
                )
            )

    def race(
        self,
        access: Access,
        lane: int,
        position: int,
        other_thread: int,
        other: Instruction,
        *,
        same_store: bool = False,
    ) -> None:
        """Two threads access one shared element with no barrier between.

        ``same_store``: they are lanes of one warp that store different values with one instruction.
        """
        across_warps = int(access.group.thread[lane]) // WARP != other_thread // WARP
        kind = f"{RACE} across warps" if across_warps else RACE
        if self._is_new(kind, access.site.instruction.index):
            place = _Place(access, lane, position)
            launch = access.group.launch
            # Threads of the cluster's next block are numbered behind those of this one.
            if launch.cluster > 1:
                other_thread %= launch.warps * WARP
            second = launch.thread_index(other_thread)
            name = launch.thread_name(second)
            self._keep(
                place,
                RACE,
                place.says(
                    "hazard.together" if same_store else _advice(access, lane, across_warps, other),
                    other=name,
                    line=other.location.line,
                ),
                other_thread=second,
                other_location=other.location,
                across_warps=across_warps,
            )

    def race_in_global(
        self,
        access: Access,
        lane: int,
        position: int,
        other_block: Dim3,
        other_thread: int,
        other: Instruction,
    ) -> None:
        """Two threads access one element of global memory, and nothing orders them."""
        launch = access.group.launch
        block, _ = _who(access.group, lane)
        apart = block != other_block
        across_warps = apart or int(access.group.thread[lane]) // WARP != other_thread // WARP
        kind = f"{RACE} across blocks" if apart else RACE
        if self._is_new(kind, access.site.instruction.index):
            place = _Place(access, lane, position)
            second = launch.thread_index(other_thread)
            self._keep(
                place,
                RACE,
                place.says(
                    "hazard.blocks" if apart else _advice(access, lane, across_warps, other),
                    other=launch.thread_name(second),
                    block=launch.block_name(other_block),
                    line=other.location.line,
                ),
                other_thread=second,
                other_location=other.location,
                across_warps=across_warps,
            )

    def in_flight(self, access: Access, lane: int, position: int) -> None:
        """A read of shared memory that an asynchronous copy has not filled yet."""
        if self._is_new(IN_FLIGHT, access.site.instruction.index):
            place = _Place(access, lane, position)
            self._keep(place, IN_FLIGHT, place.says("hazard.in flight"))

    def _fault(
        self,
        kind: str,
        access: Access,
        lanes: npt.NDArray[np.intp],
        say: Callable[["_Place"], str],
    ) -> None:
        if self._is_new(kind, access.site.instruction.index):
            place = _Place(access, int(lanes[0]))
            self._keep(place, kind, say(place))
        if self._on_fault is not None:

            def message(lane: int) -> str:
                place = _Place(access, lane)
                return place.message(say(place))

            self._on_fault(access, lanes, message)

    def _is_new(self, kind: str, where: int | Location) -> bool:
        key = (kind, where)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _keep(
        self,
        place: "_Place",
        kind: str,
        what: str,
        other_thread: Dim3 | None = None,
        other_location: Location | None = None,
        *,
        across_warps: bool = False,
    ) -> None:
        hazard = place.hazard(kind, what, other_thread, other_location, across_warps=across_warps)
        self._time += 1
        self._once(hazard, self._time)

    def _append(self, hazard: Hazard) -> None:
        self._time += 1
        self._kept[self._time] = hazard

    def _once(self, hazard: Hazard, time: int) -> None:
        """Keep a hazard; of two with the same message, the first one."""
        for number, old in self._kept.items():
            if _message_key(old) == _message_key(hazard):
                # Between two warps a race is plain.
                if hazard.across_warps and not old.across_warps:
                    self._kept[number] = hazard
                elif time < number:
                    del self._kept[number]
                    self._kept[time] = hazard
                return
        self._kept[time] = hazard


class _Place:
    """Who accesses what, in the words of the source."""

    def __init__(self, access: Access, lane: int, position: int | None = None) -> None:
        group, memory, site = access.group, access.memory, access.site
        self.location = site.instruction.location
        self.verb = sentence(f"verb.{site.kind}")
        self.space, self.width = memory.space, site.width
        self.block, self.thread = _who(group, lane)
        self.names = _names(group, self.block, self.thread)
        if position is None:
            position = int(access.addresses[lane]) - memory.base
        elif memory.space != "global":
            position -= int(group.slot[lane]) * memory.stride
        self.array: NamedArray | None = memory.array_at(position)
        self.item_bytes = site.word_bytes
        self.flat = 0
        self.element: tuple[int, ...] | None = None
        if self.array is not None:
            if self.array.dtype is not None:
                self.item_bytes = self.array.dtype.itemsize
            self.flat = (position - self.array.start) // self.item_bytes
            self.element = element_index(self.array, self.flat)

    def hazard(
        self,
        kind: str,
        what: str,
        other_thread: Dim3 | None = None,
        other_location: Location | None = None,
        *,
        across_warps: bool = False,
    ) -> Hazard:
        """What is wrong here, with the other thread of a race."""
        return Hazard(
            kind,
            self.location,
            self.message(what),
            self.block,
            self.thread,
            None if self.array is None else self.array.name,
            self.element,
            other_thread,
            other_location,
            across_warps,
        )

    def message(self, what: str) -> str:
        """A sentence that says of line, thread and block what the thread does."""
        block, thread = self.names
        return sentence("hazard.who", place=self.location, thread=thread, block=block, what=what)

    def says(self, key: str, **values: Any) -> str:
        """The rest of such a sentence: what the thread does with which element."""
        return sentence(key, verb=self.verb, name=self.name, **values)

    @property
    def name(self) -> str:
        """Array and element as the source would write it."""
        if self.array is None or self.element is None:
            return sentence("hazard.memory")
        return self.array.name + "".join(f"[{index}]" for index in self.element)


def _advice(access: Access, lane: int, across_warps: bool, other: Instruction) -> str:
    """Which sentence describes a race: ``__syncthreads()`` needs all warps."""
    if other.parts[0] == "wgmma":
        return "hazard.product"
    if _whole_block_comes(access, lane):
        return "hazard.race"
    return "hazard.race of parts" if across_warps else "hazard.race in warp"


def _whole_block_comes(access: Access, lane: int) -> bool:
    """Whether every warp of a lane's block takes part in an access, as far as is known."""
    group, mask = access.group, access.mask
    if group.batch.clocks is not None:
        return False
    if mask is None or group.warps < group.batch.slots * group.launch.warps:
        return True
    block = group.alive & (group.slot == group.slot[lane])
    here, all_ = ((block & one).reshape(-1, WARP).any(axis=1) for one in (mask, group.alive))
    return bool((here == all_).all())


def _outside(place: _Place) -> str:
    if place.array is None:
        return sentence("hazard.undeclared", verb=place.verb, space=place.space)
    count = place.array.bytes // place.item_bytes
    size = " × ".join(map(str, place.array.shape)) or count
    return place.says("hazard.outside", flat=place.flat, array=place.array.name, size=size)


def _misaligned(place: _Place) -> str:
    return place.says("hazard.misaligned", width=place.width)


def element_index(array: NamedArray, flat: int) -> tuple[int, ...]:
    """Index of an element in its array's shape; one-dimensional where the shape is not known."""
    if len(array.shape) < 2 or not 0 <= flat < int(np.prod(array.shape)):
        return (flat,)
    return tuple(int(index) for index in np.unravel_index(flat, array.shape))


def _who(group: ThreadGroup, lane: int) -> tuple[Dim3, Dim3]:
    launch = group.launch
    block = launch.block_index(int(group.batch.blocks[group.slot[lane]]))
    return block, launch.thread_index(int(group.thread[lane]))


def _names(group: ThreadGroup, block: Dim3, thread: Dim3) -> tuple[str, str]:
    """A block and a thread of it as sentences name them."""
    return group.launch.block_name(block), group.launch.thread_name(thread)
