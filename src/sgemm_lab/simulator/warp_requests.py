"""The memory requests of one warp, address by address, as the machine code makes them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedArray:
    """Where an array lies in its memory. ``start`` and ``bytes`` count in bytes."""

    name: str
    start: int
    bytes: int
    shape: tuple[int, ...] = ()
    """Empty for shared arrays, whose type PTX does not have."""


@dataclass(frozen=True)
class WarpRequest:
    """One memory instruction of one warp."""

    line: int
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
    epoch: int
    """Barriers the block had passed."""
