"""Cost of a warp's memory request: sectors, and wavefronts with their bank conflicts.

The rules were found on an H200 (sm_90) by comparing single-warp requests with its counters;
``tests/data/warp_requests_h200.json`` holds 276 of them, and the functions here give every one.

Shapes: ``addresses`` is (warps, 32) in bytes, ``active`` the same shape in bool. One row is one
warp instruction. All functions are pure and return one count per row. :func:`global_request` and
:func:`shared_wavefronts` return details of a single request; ``memory.ts`` has the same two
functions, and a test compares them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import BANKS, SECTOR_BYTES, WARP, WORD_BYTES

Addresses = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


class SharedCost(NamedTuple):
    """Cost of shared-memory requests, one value per warp."""

    wavefronts: Counts
    """Passes through the banks."""
    bank_conflicts: Counts
    """Wavefronts in excess of one per phase."""


class GlobalRequest(NamedTuple):
    """Memory touched by one warp's global request."""

    sectors: int
    moved: int
    """Bytes of the sectors."""
    used: int
    """Distinct bytes accessed by at least one lane."""


class Wavefront(NamedTuple):
    """One pass through the banks of shared memory."""

    phase: tuple[int, ...]
    """Lanes of the phase."""
    words: dict[int, list[int]]
    """Lanes by the first word that they access."""


def global_request(addresses: Sequence[int | None], width: int) -> GlobalRequest:
    """Return the memory touched by 32 addresses, multiples of ``width`` bytes or None."""
    sectors = int(global_sectors(*_as_rows(addresses), width)[0])
    asked = {address for address in addresses if address is not None}
    return GlobalRequest(sectors, sectors * SECTOR_BYTES, len(asked) * width)


def shared_wavefronts(
    addresses: Sequence[int | None], width: int, *, is_load: bool
) -> list[Wavefront]:
    """Return the wavefronts of one request to shared memory, in order.

    Their number equals :func:`shared_cost`. The hardware's order of words within a bank is unknown;
    here it is the order of the lowest lanes.

    Args:
        addresses: first byte of each of the 32 lanes, or None.
        width: bytes per lane, 1 to 16.
        is_load: whether it is a load.
    """
    lanes = tuple(range(WARP))
    each = WARP if width <= WORD_BYTES else WARP * WORD_BYTES // width
    phases = [lanes[start : start + each] for start in range(0, WARP, each)]
    if is_load and width > WORD_BYTES:
        pairs = _pairs_of_phases(*_as_rows(addresses), width)
        phases = [
            phase
            for i, merges in enumerate(pairs.merges)
            for phase in ([lanes[2 * i * each :][: 2 * each]] if merges else phases[2 * i :][:2])
        ]
    return [wave for phase in phases for wave in _wavefronts_of(phase, addresses, width)]


def _wavefronts_of(
    phase: tuple[int, ...], addresses: Sequence[int | None], width: int
) -> list[Wavefront]:
    """Return the wavefronts of a phase, in which each bank delivers one word per wavefront."""
    found: list[Wavefront] = []
    turns: dict[int, int] = {}
    given = [0] * BANKS
    for lane in phase:
        address = addresses[lane]
        if address is None:
            continue
        word = address // WORD_BYTES
        if word not in turns:
            turns[word] = given[word % BANKS]
            for i in range(max(1, width // WORD_BYTES)):
                given[(word + i) % BANKS] += 1
        if turns[word] == len(found):
            found.append(Wavefront(phase, {}))
        found[turns[word]].words.setdefault(word, []).append(lane)
    return found


def _as_rows(addresses: Sequence[int | None]) -> tuple[Addresses, Mask]:
    active = np.array([[address is not None for address in addresses]])
    return np.array([[address or 0 for address in addresses]], dtype=np.int64), active


def global_sectors(addresses: Addresses, active: Mask, width: int) -> Counts:
    """Return the number of distinct 32-byte sectors that a warp's active lanes touch.

    Loads and stores are counted alike. ``width``: bytes per lane.
    """
    sectors = _distinct(addresses // SECTOR_BYTES, active)
    if (
        width <= SECTOR_BYTES
        and not ((addresses % SECTOR_BYTES + width > SECTOR_BYTES) & active).any()
    ):
        return sectors
    last = (addresses + width - 1) // SECTOR_BYTES
    both = np.concatenate([addresses // SECTOR_BYTES, last], axis=1)
    return _distinct(both, np.concatenate([active, active], axis=1))


def shared_cost(addresses: Addresses, active: Mask, width: int, *, is_load: bool) -> SharedCost:
    """Wavefronts and bank conflicts of a shared-memory request of 1 to 16 bytes a lane.

    Up to 4 bytes: the largest number of different words asked of one bank. 8 and 16 bytes: the
    warp splits into phases of 16 or 8 lanes, each counted over all its words, and the phases add
    up. Two neighbouring phases of a load merge when every active lane's partner at lane XOR 1,
    or every one's at lane XOR 2, is inactive or has the same address, and merging costs no more.
    """
    if width <= WORD_BYTES:
        return _phases_cost(addresses, active, width, phase_lanes=WARP)
    if not is_load:
        return _phases_cost(addresses, active, width, phase_lanes=WARP * WORD_BYTES // width)
    merges, merged, apart = _pairs_of_phases(addresses, active, width)
    wavefronts = np.where(merges, merged.wavefronts, apart.wavefronts)
    conflicts = np.where(merges, merged.bank_conflicts, apart.bank_conflicts)
    rows = len(addresses)
    return SharedCost(
        wavefronts.reshape(rows, -1).sum(axis=1), conflicts.reshape(rows, -1).sum(axis=1)
    )


class _Pairs(NamedTuple):
    """The pairs of phases that may merge: all 32 lanes for 8 bytes, each half warp for 16."""

    merges: Mask
    merged: SharedCost
    apart: SharedCost


def _pairs_of_phases(addresses: Addresses, active: Mask, width: int) -> _Pairs:
    """Return which pairs of a load's phases merge, and what they cost merged and apart."""
    phase_lanes = WARP * WORD_BYTES // width
    pair_lanes = 2 * phase_lanes
    shape = (addresses.size // pair_lanes, pair_lanes)
    pair_addresses, pair_active = addresses.reshape(shape), active.reshape(shape)
    merged = _phases_cost(pair_addresses, pair_active, width, pair_lanes)
    apart = _phases_cost(pair_addresses, pair_active, width, phase_lanes)
    merges = _partners_agree(pair_addresses, pair_active, 1)
    merges |= _partners_agree(pair_addresses, pair_active, 2)
    merges &= merged.wavefronts <= apart.wavefronts
    return _Pairs(merges, merged, apart)


def _phases_cost(addresses: Addresses, active: Mask, width: int, phase_lanes: int) -> SharedCost:
    """Cost where each run of ``phase_lanes`` lanes takes its own wavefronts."""
    rows = len(addresses)
    phases = addresses.shape[1] // phase_lanes
    words_per_lane = max(1, width // WORD_BYTES)
    first_word = addresses.reshape(rows * phases, phase_lanes) // WORD_BYTES
    words = (first_word[:, :, None] + np.arange(words_per_lane)).reshape(rows * phases, -1)
    asked = np.repeat(active.reshape(rows * phases, phase_lanes), words_per_lane, axis=1)
    per_phase = _most_words_of_one_bank(words, asked).reshape(rows, phases)
    used = active.reshape(rows, phases, phase_lanes).any(axis=2).sum(axis=1)
    wavefronts = per_phase.sum(axis=1)
    return SharedCost(wavefronts, wavefronts - used)


def _most_words_of_one_bank(words: Addresses, asked: Mask) -> Counts:
    """Over the banks, the largest number of different words; one value per row."""
    rows = len(words)
    fresh = _first_of_each(words, asked)
    order = fresh.order
    banks = np.take_along_axis(words, order, axis=1) % BANKS
    cell = np.arange(rows)[:, None] * BANKS + banks
    counts = np.bincount(cell[fresh.first], minlength=rows * BANKS)
    return np.asarray(counts.reshape(rows, BANKS).max(axis=1))


def _partners_agree(addresses: Addresses, active: Mask, distance: int) -> Mask:
    """Whether each active lane's partner (lane XOR distance) is inactive or has its address."""
    partner = np.arange(addresses.shape[1]) ^ distance
    both = active & active[:, partner]
    return np.asarray(((addresses == addresses[:, partner]) | ~both).all(axis=1))


def _distinct(values: Addresses, active: Mask) -> Counts:
    return np.asarray(_first_of_each(values, active).first.sum(axis=1))


class _Sorted(NamedTuple):
    order: npt.NDArray[np.intp]
    """Column order that sorts each row."""
    first: Mask
    """In that order: True at the first of each run of equal active values."""


def _first_of_each(values: Addresses, active: Mask) -> _Sorted:
    # Inactive entries go last and are never first of anything.
    keyed = np.where(active, values, np.iinfo(np.int64).max)
    order = np.argsort(keyed, axis=1, kind="stable")
    ordered = np.take_along_axis(keyed, order, axis=1)
    first = np.ones(values.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first &= np.take_along_axis(active, order, axis=1)
    return _Sorted(order, first)
