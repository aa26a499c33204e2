"""Sentences on a warp's memory request. ``requests.ts`` is the same; a test compares the two.

Addresses are in bytes for the 32 lanes, None for inactive lanes. A place is the accessed array: its
first byte ``start``, its dimensions ``shape``, its name ``array``.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sgemm_lab.formulas.memory import global_request, shared_wavefronts
from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.hardware import BANKS, SECTOR_BYTES, WARP, WORD_BYTES

Lanes = Sequence[int | None]


def element_name(place: Mapping[str, Any], address: int) -> str:
    """Return "As[3][5]" for the element of an array that starts at a byte."""
    index = (address - place["start"]) // WORD_BYTES
    indices: list[int] = []
    for side in reversed(place["shape"][1:]):
        index, rest = divmod(index, side)
        indices.insert(0, rest)
    return "".join([str(place["array"]), *(f"[{i}]" for i in [index, *indices])])


def asked(place: Mapping[str, Any] | None, address: int, lane_bytes: int) -> str:
    """Return "A[1][0] to A[1][3], bytes 256 to 271"; without a place just the bytes."""
    last = address + lane_bytes
    span = sentence("request.bytes", first=address, last=last - 1)
    if place is None or not place["shape"]:
        return span
    names = [element_name(place, byte) for byte in (address, last - WORD_BYTES)]
    return f"{' to '.join(dict.fromkeys(names))}, {span}"


def sector_words(addresses: Lanes, lane_bytes: int) -> list[str]:
    """Return two sentences: the sectors of a global request, compared with the minimum."""
    lanes = sum(address is not None for address in addresses)
    if not lanes:
        return [sentence("request.none"), ""]
    sectors, moved, used = global_request(addresses, lane_bytes)
    asked = lanes * lane_bytes
    what = sentence("sectors.cost", sectors=sectors, moved=moved, asked=asked, lanes=lanes)
    fewest = math.ceil(used / SECTOR_BYTES)
    if sectors > fewest:
        times, share = sectors / fewest, used / moved
        return [what, sentence("sectors.fewer", fewest=fewest, times=times, share=share)]
    if used == moved:
        return [what, sentence("sectors.whole")]
    if lanes > 1 and used == lane_bytes:
        return [what, sentence("sectors.same", lanes=lanes, used=used)]
    return [what, sentence("sectors.best")]


def bank_words(addresses: Lanes, lane_bytes: int, *, is_load: bool) -> list[str]:
    """Return two sentences: the wavefronts of a shared memory request, and their cause."""
    waves = shared_wavefronts(addresses, lane_bytes, is_load=is_load)
    if not waves:
        return [sentence("request.none"), ""]
    phases = list(dict.fromkeys(wave.phase for wave in waves))
    sizes = list(dict.fromkeys(len(phase) for phase in phases))
    lanes = f"{sizes[0] if len(sizes) == 1 else '8 or 16'} lanes"
    many = len(phases)
    words = [(wave.phase, word) for wave in waves for word in wave.words]
    again = len({word for _, word in words}) < len(set(words))
    more = " " + sentence("banks.again") if again else ""
    wide = lane_bytes > WORD_BYTES
    parts = sentence("banks.phases", phases=many, lanes=lanes) if wide else ""
    what = sentence("banks.cost", wavefronts=len(waves), phases=parts)
    if len(waves) > many:
        turns = [[wave for wave in waves if wave.phase == phase] for phase in phases]
        worst = max(turns, key=len)
        bank = next(iter(worst[-1].words)) % BANKS
        why = sentence("banks.conflict", bank=bank, words=len(worst), phases=many)
        return [what, why + more]
    merged = wide and max(sizes) > WARP * WORD_BYTES // lane_bytes
    return [what, sentence("banks.merged" if merged else "banks.free") + more]
