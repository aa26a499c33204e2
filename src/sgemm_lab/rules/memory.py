"""How the hardware counts one warp's memory request.

The rules were found on an H200 (sm_90) by comparing single-warp requests with its counters;
``tests/data/warp_requests_h200.json`` holds 276 of them, and the functions here give every one.

Shapes: ``addresses`` is (warps, 32) in bytes, ``active`` the same shape in bool. One row is one
warp instruction. All functions are pure and return one count per row.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import BANKS, SECTOR_BYTES, WARP, WORD_BYTES

Addresses = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


class SharedCost(NamedTuple):
    """What one shared-memory request costs, one value per warp."""

    wavefronts: Counts
    """Passes through the banks."""
    bank_conflicts: Counts
    """Wavefronts beyond one per phase, which is what they would be without conflicts."""


def global_sectors(addresses: Addresses, active: Mask, width: int) -> Counts:
    """Number of different 32-byte sectors that a warp's active lanes touch.

    The same for loads and stores. ``width`` is the bytes each lane asks for.
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
    or every one's at lane XOR 2, is inactive or asks the same address, and merging costs no more.
    """
    if width <= WORD_BYTES:
        return _phases_cost(addresses, active, width, phase_lanes=WARP)
    phase_lanes = WARP * WORD_BYTES // width
    apart = _phases_cost(addresses, active, width, phase_lanes)
    if not is_load:
        return apart
    # The pairs of phases that may merge: all 32 lanes for 8 bytes, each half warp for 16.
    pair_lanes = 2 * phase_lanes
    groups = WARP // pair_lanes
    shape = (len(addresses) * groups, pair_lanes)
    pair_addresses, pair_active = addresses.reshape(shape), active.reshape(shape)
    merged = _phases_cost(pair_addresses, pair_active, width, pair_lanes)
    apart = _phases_cost(pair_addresses, pair_active, width, phase_lanes)
    merges = _partners_agree(pair_addresses, pair_active, 1)
    merges |= _partners_agree(pair_addresses, pair_active, 2)
    merges &= merged.wavefronts <= apart.wavefronts
    wavefronts = np.where(merges, merged.wavefronts, apart.wavefronts)
    conflicts = np.where(merges, merged.bank_conflicts, apart.bank_conflicts)
    return SharedCost(
        wavefronts.reshape(-1, groups).sum(axis=1), conflicts.reshape(-1, groups).sum(axis=1)
    )


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
    """Whether each active lane's partner (lane XOR distance) is inactive or asks the same."""
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
