"""One load of a warp, by the rules of memory: addresses that the reader chooses."""

from collections.abc import Sequence
from dataclasses import dataclass

from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.formulas import global_sectors, shared_wavefronts

_WIDTHS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Request:
    """What a load of a warp costs, by where its addresses lie."""

    sectors: int
    """32-byte sectors, if the addresses lie in global memory."""
    wavefronts: int
    """Wavefronts, if they lie in shared memory."""


def request(addresses: Sequence[int], width: int = 4) -> Request:
    """Return the cost of a load of a warp: ``sectors`` in global, ``wavefronts`` in shared memory.

    ``addresses`` are bytes, one for each lane, up to 32; ``width`` is the bytes of each.

    Raises:
        LabError: there are no lanes or more than 32, or no GPU loads from such addresses.
    """
    if not 1 <= len(addresses) <= WARP:
        raise LabError(f"A warp has 1 to {WARP} lanes that load. Here are {len(addresses)}.")
    if width not in _WIDTHS:
        raise LabError(f"A lane loads {', '.join(map(str, _WIDTHS))} bytes at once, not {width}.")
    if any(address < 0 or address % width for address in addresses):
        raise LabError(f"Each address must be a multiple of {width} bytes, and not below 0.")
    lanes = [*addresses, *[None] * (WARP - len(addresses))]
    waves = shared_wavefronts(lanes, width, is_load=True)
    return Request(global_sectors(lanes, width), len(waves))
