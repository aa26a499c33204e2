"""Which lane of a warp holds which element of the matrices of ``mma.sync`` and ``wgmma``.

Where the elements sit is fixed by the PTX manual ("Matrix Fragments for mma.m16n8k8 / m16n8k16",
"Asynchronous Warpgroup Level Matrix Instructions").
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP

Array = npt.NDArray[Any]

PACKED = {"tf32": 1, "f16": 2, "bf16": 2}
"""How many elements a register holds, by the type: neighbours along k."""

Place = Callable[[int, int, int], tuple[Array, Array]]
"""Row and column of what each lane holds, by register, place in it, and elements of a register."""

_ROWS, _COLUMNS = 16, 8
_GROUP = np.arange(WARP) // 4
_INSIDE = np.arange(WARP) % 4
_PLACES = [(_GROUP + 8 * (number // 2), 2 * _INSIDE + number % 2) for number in range(4)]
"""Row and column of C of each lane's four registers."""


def _place_in_a(register: int, one: int, packed: int) -> tuple[Array, Array]:
    """Row and k of what each lane holds of A: rows g and g + 8, first for the lower half of k."""
    k = packed * _INSIDE + one + 4 * packed * (register // 2)
    return _GROUP + 8 * (register % 2), k


def _place_in_b(register: int, one: int, packed: int) -> tuple[Array, Array]:
    """K and column of what each lane holds of B."""
    return packed * _INSIDE + one + 4 * packed * register, _GROUP


def _place_in_c(register: int, one: int, packed: int) -> tuple[Array, Array]:
    """Row and column of what each lane holds of C."""
    return _PLACES[register]


class Holders(NamedTuple):
    """Who holds the elements of a matrix: per element its lane, register, and place in that."""

    lane: Array
    register: Array
    one: Array


def holders(type_: str, depth: int) -> tuple[Holders, Holders, Holders]:
    """Return who holds the elements of A (16×depth), B (depth×8) and C (16×8).

    ``type_`` is one of ``PACKED``; ``depth`` is 8, or 16 where a register holds two elements.
    """
    packed = PACKED[type_]
    registers = depth // (4 * packed)
    a = _held(_place_in_a, (_ROWS, depth), 2 * registers, packed)
    b = _held(_place_in_b, (depth, _COLUMNS), registers, packed)
    c = _held(_place_in_c, (_ROWS, _COLUMNS), len(_PLACES), 1)
    return a, b, c


def _held(
    place: Place,
    shape: tuple[int, int],
    registers: int,
    packed: int,
) -> Holders:
    """Who holds each element, by where the registers of all lanes go."""
    found = Holders(*(np.full(shape, -1) for _ in Holders._fields))
    for register in range(registers):
        for one in range(packed):
            at = place(register, one, packed)
            for matrix, value in zip(found, (np.arange(WARP), register, one), strict=True):
                matrix[at] = value
    return found


def places_of_sums(columns: int) -> tuple[Array, Array]:
    """Return row and column of D of each lane's registers in a ``wgmma``, (32, registers)."""
    lane, register = np.arange(WARP)[:, None], np.arange(columns // 2)
    row = lane // 4 + register // 2 % 2 * 8
    return row, register // 4 * 8 + lane % 4 * 2 + register % 2
