"""Index overflow: the size at which a kernel's indices overflow their type, or its grid a limit.

Matrices of 46,341 rows are too large to simulate, but an index such as row · N + col is quadratic
in the size. The kernel runs at three small sizes, in the blocks at the corners of its grid; three
values of each narrow number in an address determine its quadratic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.analysis import arrays_at
from sgemm_lab.external_cuda.launch import Prepared, Settings, raw_shape, run
from sgemm_lab.simulator import Location, Result
from sgemm_lab.simulator.limits import MOST_BLOCKS_YZ

SIZES = (128, 256, 384)
"""Square sizes, evenly apart, that the tiles in use divide."""

LARGEST = 131_072
"""The largest size looked at: its three square matrices of floats take 206 GB."""

TIME_LIMIT = 5.0
"""Seconds that one of the small runs may take; a kernel that needs more is not looked at."""

INDEX, GRID = "index", "grid"
"""Kinds of overflow."""


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
        watch=("widest_indices",), time_limit=min(TIME_LIMIT, settings.time_limit),
    )  # fmt: skip
    widest = []
    for side in SIZES:
        size = (side, side, side)
        try:
            _, result = run(prepared, size, arrays_at(prepared, size), quiet)
        except LabError:
            return
        widest.append(_largest(result))
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


def _largest(result: Result) -> dict[_Narrow, int]:
    """The largest value of every narrow number in an address."""
    found = {}
    for one in result.watched["widest_indices"]:
        place = Location(**one["location"])
        found[_Narrow(place, one["bits"], one["most"], one["readAs"])] = one["largest"]
    return found


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
