"""Index overflow: the size at which a kernel's indices overflow their type, or its grid a limit.

Matrices of 46,341 rows are too large to simulate, but an index such as row · N + col is quadratic
in the size. The kernel runs at three small sizes, in the blocks at the corners of its grid; three
values of each narrow number in an address determine its quadratic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.analysis import arrays_at
from sgemm_lab.external_cuda.launch import Prepared, Settings, raw_shape, run
from sgemm_lab.simulator.group import Access, BulkCopy, ThreadGroup
from sgemm_lab.simulator.limits import MOST_BLOCKS_YZ
from sgemm_lab.simulator.operands import registers_read, registers_written
from sgemm_lab.simulator.ptx import (
    TYPE_BYTES,
    Address,
    Immediate,
    Instruction,
    PtxKernel,
    Register,
)
from sgemm_lab.simulator.registers import numpy_type
from sgemm_lab.simulator.source_locations import Location

SIZES = (128, 256, 384)
"""Square sizes, evenly apart, that the tiles in use divide."""

LARGEST = 131_072
"""The largest size looked at: its three square matrices of floats take 206 GB."""

TIME_LIMIT = 5.0
"""Seconds that one of the small runs may take; a kernel that needs more is not looked at."""

INDEX, GRID = "index", "grid"
"""Kinds of overflow."""

_HALF = 2
"""Bytes of the narrowest number that is an index; a byte is a letter."""

_WIDEST_SHIFT = 5
"""An element has at most 2⁴ bytes."""

_PASSES_ON = (
    "add", "sub", "mul", "mad", "shl", "shr", "or", "and", "mov", "cvt", "cvta", "selp", "min",
    "max", "neg",
)  # fmt: skip
"""What leads from a part of an address to the address."""


@dataclass(frozen=True)
class IndexOverflow:
    """An index or a grid that overflows for large matrices."""

    kind: str
    side: int
    """The smallest M = N = K at which it overflows."""
    location: Location | None
    """The access whose address has the narrow index."""
    message: str

    def __str__(self) -> str:
        return self.message


def index_overflow(prepared: Prepared, settings: Settings) -> list[IndexOverflow]:
    """Return the overflows of a kernel at large sizes, the smallest size first.

    Empty for a kernel that is no matrix product or does not run at the small sizes.
    """
    if not prepared.multiplies:
        return []
    found = [*_grid(prepared), *_indices(prepared, settings)]
    return sorted(found, key=lambda one: one.side)


def _grid(prepared: Prepared) -> Iterator[IndexOverflow]:
    """Find the first size at which the grid has too many blocks along y or z."""

    def too_many(side: int) -> bool:
        try:
            return max(*raw_shape(prepared, (side, side, side)).grid[1:], 1, 1) > MOST_BLOCKS_YZ
        except LabError:
            return False

    if too_many(LARGEST):
        low, high = 1, LARGEST
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if too_many(middle) else (middle + 1, high)
        yield IndexOverflow(
            GRID, low, None,
            f"From M = N = K = {low:,} on the grid has more than {MOST_BLOCKS_YZ:,} blocks along "
            "y or z, which no GPU takes. Put the larger number of blocks along x.",
        )  # fmt: skip


def _indices(prepared: Prepared, settings: Settings) -> Iterator[IndexOverflow]:
    """Find the narrow numbers in addresses, and where each leaves what its type holds."""
    quiet = replace(
        settings, check_hazards=False, count_requests=False, corners=True, progress=None,
        time_limit=min(TIME_LIMIT, settings.time_limit),
    )  # fmt: skip
    widest = []
    for side in SIZES:
        watch = _WidestIndices()
        size = (side, side, side)
        try:
            run(prepared, size, arrays_at(prepared, size), replace(quiet, watching=(watch,)))
        except LabError:
            return
        widest.append(watch.most)
    first: dict[Location, tuple[int, int]] = {}
    for narrow in widest[0]:
        leaves = _leaves([most.get(narrow, 0) for most in widest], narrow.most)
        known = first.get(narrow.location)
        if leaves is not None and (known is None or leaves < known[0]):
            first[narrow.location] = (leaves, narrow.bits)
    if first:
        location, (leaves, bits) = min(first.items(), key=lambda one: one[1][0])
        others = sorted({other.line for other in first} - {location.line})
        yield IndexOverflow(INDEX, leaves, location, _said(location, leaves, bits, others))


def _said(location: Location, leaves: int, bits: int, others: Sequence[int]) -> str:
    text = (
        f"{location}: an index has {bits} bits here, which are too few from "
        f"M = N = K = {leaves:,} on. Count it in size_t"
    )
    return f"{text}, and look at {_listed(others)} too." if others else f"{text}."


def _listed(lines: Sequence[int]) -> str:
    """Write line numbers: "line 8", or "lines 8, 9 and 12"."""
    *before, last = map(str, lines)
    return f"lines {', '.join(before)} and {last}" if before else f"line {last}"


class _Narrow(NamedTuple):
    """A number in an address that an instruction narrows to its low bits."""

    location: Location
    bits: int
    most: int
    """The largest that passes unchanged."""
    read_as: str
    """Type of the register that it is in."""


class _WidestIndices:
    """Records the largest value of every narrow number in an address."""

    def __init__(self) -> None:
        self.most: dict[_Narrow, int] = {}
        self._sources: dict[int, list[tuple[_Narrow, Register]]] = {}
        self._writers: dict[str, list[Instruction]] | None = None

    def on_access(self, access: Access) -> None:
        """Look at what goes into the address, while the registers still hold it."""
        if access.memory.space != "global":
            return
        lanes = access.lanes
        if lanes is None:
            every = np.arange(access.group.lanes)
            lanes = every if access.mask is None else np.flatnonzero(access.mask)
        if not len(lanes):
            return
        for narrow, register in self._of(access.group.launch.kernel, access.site.instruction):
            row = access.group.registers.view(register, numpy_type(narrow.read_as))
            self.most[narrow] = max(self.most.get(narrow, 0), int(row[lanes].max()))

    def _of(self, kernel: PtxKernel, access: Instruction) -> list[tuple[_Narrow, Register]]:
        if self._writers is None:
            self._writers = {}
            for instruction in kernel.instructions:
                for register in registers_written(instruction):
                    self._writers.setdefault(register.name, []).append(instruction)
        if access.index not in self._sources:
            self._sources[access.index] = list(_narrow_sources(access, self._writers))
        return self._sources[access.index]

    def on_values(self, access: Access, values: list[npt.NDArray[np.generic]]) -> None:
        """Nothing to do: values are no indices."""

    def on_copies_landed(
        self, group: ThreadGroup, lanes: npt.NDArray[np.intp], positions: npt.NDArray[np.int64]
    ) -> None:
        """Nothing to do."""

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Nothing to do."""

    def on_bulk_landed(self, copy: BulkCopy) -> None:
        """Nothing to do."""


def _narrow_sources(
    access: Instruction, writers: dict[str, list[Instruction]]
) -> Iterator[tuple[_Narrow, Register]]:
    """Trace an address back to the narrow numbers that it is computed from."""
    bases = [operand.base for operand in access.operands if isinstance(operand, Address)]
    waiting = [base.name for base in bases if isinstance(base, Register)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for writer in writers.get(name, []):
            if writer.parts[0] not in _PASSES_ON:
                continue
            for operand in writer.operands[1:3]:
                narrow = _narrowed(writer) if isinstance(operand, Register) else None
                if narrow is not None and isinstance(operand, Register):
                    yield narrow, operand
            waiting += [register.name for register in registers_read(writer)]


def _narrowed(instruction: Instruction) -> _Narrow | None:
    """Say what an instruction leaves of its operands; None where it leaves all of them."""
    parts, where = instruction.parts, instruction.location
    last = instruction.operands[-1]
    match parts[0]:
        case "mul" | "mad" if "wide" in parts:
            return _of_type(where, parts[-1])
        case "cvt" if all(part[0] in "su" for part in parts[-2:]):
            to, from_ = parts[-2:]
            return _of_type(where, from_) if TYPE_BYTES[to] > TYPE_BYTES[from_] >= _HALF else None
        case "shl" if parts[-1] == "b64" and last == Immediate(32):
            # With the shift back that follows: (int) of a number of 64 bits.
            return _Narrow(where, 32, 2**31 - 1, "s64")
        case "and" if parts[-1] == "b64" and isinstance(last, Immediate):
            # (unsigned) of a number of 64 bits, which may stand for bytes already.
            for shift in range(_WIDEST_SHIFT):
                if last.bits == (2**32 - 1) << shift:
                    return _Narrow(where, 32, last.bits | (1 << shift) - 1, "s64")
    return None


def _of_type(where: Location, type_: str) -> _Narrow:
    return _Narrow(where, 8 * TYPE_BYTES[type_], int(np.iinfo(numpy_type(type_)).max), type_)


def _leaves(values: Sequence[int], most: int) -> int | None:
    """Return the size from which a square function through three values is above ``most``.

    None if it is not up to ``LARGEST``, or if the values do not grow like that.
    """
    (low, middle, high), step = values, SIZES[1] - SIZES[0]
    bend = high - 2 * middle + low
    if not low < middle < high or bend < 0:
        return None

    def at(side: int) -> Fraction:
        turns = Fraction(side - SIZES[0], step)
        return low + (middle - low) * turns + bend * turns * (turns - 1) / 2

    if at(LARGEST) <= most:
        return None
    below, above = SIZES[-1], LARGEST
    while below + 1 < above:
        half = (below + above) // 2
        below, above = (below, half) if at(half) > most else (half, above)
    return above
