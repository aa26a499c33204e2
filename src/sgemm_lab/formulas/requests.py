"""Sentences on a warp's memory request. ``requests.ts`` is the same; a test compares the two.

Addresses are in bytes for the 32 lanes, None for inactive lanes. A place is the accessed array: its
first byte ``start``, its dimensions ``shape``, its name ``array``.
"""

from collections.abc import Mapping
from typing import Any

from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.hardware import WORD_BYTES


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
