"""Instructions in which the threads of a warp exchange values."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.arithmetic import read_predicate
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.group import LOAD, Site
from sgemm_lab.simulator.memory_operations import address_of, begin
from sgemm_lab.simulator.operations import (
    Match,
    Operations,
    Step,
    destination,
    destinations,
    nothing,
    value,
)
from sgemm_lab.simulator.ptx import Instruction, Pair, Register
from sgemm_lab.simulator.registers import Array, Mask
from sgemm_lab.simulator.sentences import sentence

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup


_ALL = 0xFFFFFFFF
_LANE = np.arange(WARP, dtype=np.int64)


def by_warp(group: "ThreadGroup", values: Any) -> Array:
    """Values of all lanes as (warps, 32)."""
    return np.broadcast_to(values, (group.lanes,)).reshape(group.warps, WARP)


def _active(group: "ThreadGroup", mask: Mask | None) -> Mask:
    return by_warp(group, True if mask is None else mask)


def exchange(group: "ThreadGroup", instruction: Instruction, at: int, step: Step) -> Step:
    """Let a step report a mask, operand ``at``, that does not name just the lanes that run it.

    Lanes that have returned may be named.
    """
    members = value(group, instruction, at, "u32")

    def checked(mask: Mask | None) -> None:
        if mask is not None or np.ndim(members) or int(members) != _ALL:
            _check_members(group, instruction, members, mask)
        step(mask)

    return checked


def _check_members(
    group: "ThreadGroup", instruction: Instruction, members: Any, mask: Mask | None
) -> None:
    running = _active(group, mask) & by_warp(group, group.alive)
    named = (by_warp(group, members)[:, :, None] >> _LANE.astype(np.uint32) & 1).astype(bool)
    expected = by_warp(group, group.alive)[:, None, :] & named
    absent = running[:, :, None] & expected & ~running[:, None, :]
    # A lane that its own mask does not name.
    absent |= (running & ~np.einsum("wll->wl", named))[:, :, None] & np.eye(WARP, dtype=bool)
    if absent.any():
        warp, lane, other = (int(place[0]) for place in np.nonzero(absent))
        first = WARP * warp + lane
        mask_of_lane = int(by_warp(group, members)[warp, lane])
        group.launch.hazards.exchange_missed(group, first, instruction, mask_of_lane, other)


def _shuffle(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``shfl.sync``, by the pseudo-code of the PTX manual."""
    first = instruction.operands[0]
    register, in_range_register = (
        (first.first, first.second) if isinstance(first, Pair) else (first, None)
    )
    assert isinstance(register, Register)
    target = group.registers.view(register, np.dtype(np.uint32))
    in_range_target = (
        None
        if in_range_register is None
        else group.registers.view(in_range_register, np.dtype(np.bool_))
    )
    values, offset, control = (value(group, instruction, at, "u32") for at in (1, 2, 3))
    mode = match["mode"]

    def step(mask: Mask | None) -> None:
        where: Any = True if mask is None else mask
        by = by_warp(group, offset).astype(np.int64) & 31
        settings = by_warp(group, control).astype(np.int64)
        segment, clamp = settings >> 8 & 31, settings & 31
        lowest = _LANE & segment
        limit = lowest | (clamp & ~segment)
        if mode == "up":
            source_lane = _LANE - by
            in_range = source_lane >= limit
        else:
            source_lane = {"down": _LANE + by, "bfly": _LANE ^ by}.get(
                mode, lowest | (by & ~segment)
            )
            in_range = source_lane <= limit
        source_lane = np.where(in_range, source_lane, _LANE)
        moved = np.take_along_axis(by_warp(group, values), source_lane, axis=1)
        np.copyto(target, moved.reshape(-1), where=where)
        if in_range_target is not None:
            np.copyto(in_range_target, in_range.reshape(-1), where=where)

    return exchange(group, instruction, 4, step)


def _vote(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    predicate = read_predicate(group, instruction.operands[1])
    mode = match["mode"]
    target = destination(group, instruction, "b32" if mode == "ballot" else "pred")

    def step(mask: Mask | None) -> None:
        active = _active(group, mask)
        holds = by_warp(group, predicate()) & active
        result: Any
        if mode == "ballot":
            result = _bits(holds)
        elif mode == "any":
            result = holds.any(axis=1)
        elif mode == "all":
            result = (holds | ~active).all(axis=1)
        else:
            result = (holds | ~active).all(axis=1) | ~holds.any(axis=1)
        where: Any = True if mask is None else mask
        np.copyto(target, np.repeat(result, WARP), where=where)

    return exchange(group, instruction, 2, step)


def _bits(holds: Mask) -> npt.NDArray[np.uint32]:
    """One word per warp with a bit for each lane."""
    bits = holds.astype(np.uint64) << _LANE.astype(np.uint64)
    return np.asarray(bits.sum(axis=1), dtype=np.uint32)


def _active_mask(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    target = destination(group, instruction, "b32")

    def step(mask: Mask | None) -> None:
        where: Any = group.exists if mask is None else mask
        np.copyto(target, np.repeat(_bits(_active(group, where)), WARP), where=where)

    return step


def _warp_barrier(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``__syncwarp()``; with a mask of some lanes it orders those alone."""
    members = value(group, instruction, 0, "u32") if instruction.operands else np.uint32(_ALL)

    def step(mask: Mask | None) -> None:
        where = np.broadcast_to(True if mask is None else mask, (group.lanes,))
        group.warp_epoch = group.warp_epoch + where
        named = np.broadcast_to(members, (group.lanes,))
        running = np.repeat(_bits(_active(group, mask) & by_warp(group, group.alive)), WARP)
        whole = (named & running) == running
        group.syncwarp_mask = np.where(
            where, np.where(whole, np.uint32(_ALL), named), group.syncwarp_mask
        )
        group.whole_epoch = np.where(where & whole, group.warp_epoch, group.whole_epoch)
        group.partial_syncwarp |= bool((where & ~whole).any())

    return step


def _fence(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """Accesses are carried out in order anyway: only the race detector needs to know."""

    def step(mask: Mask | None) -> None:
        group.batch.fenced[group.slot if mask is None else group.slot[mask]] = True

    return step


def _load_matrix(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``ldmatrix``: 8×8 matrices of 16-bit values; lane 8i+r gives the address of row r of i."""
    matrices = int(match["count"])
    rows = destinations(group, instruction, np.uint32)
    addresses = address_of(group, instruction, 1)
    site = Site(instruction, "shared", LOAD, 4, 4, False)
    gives_address = np.tile(8 * matrices > _LANE, group.warps)
    quarter, inside = _LANE // 4, _LANE % 4

    def step(mask: Mask | None) -> None:
        if mask is not None and _active(group, mask).any(axis=1).sum() * WARP != mask.sum():
            raise PtxError(sentence("run.ldmatrix", place=instruction.location))
        asking = gives_address if mask is None else gives_address & mask
        access = begin(group, site, addresses(), None if asking.all() else asking)
        lanes = np.arange(group.lanes) if access.lanes is None else access.lanes
        words = access.memory.words(4)
        row_words = np.zeros((group.lanes, 4), dtype=np.uint32)
        row_words[lanes] = words.take(access.positions[:, None] // 4 + np.arange(4), mode="clip")
        halves = row_words.view(np.uint16).reshape(group.warps, 4, 8, 8)
        where: Any = True if mask is None else mask
        for matrix, row in enumerate(rows):
            values = halves[:, matrix]
            if match["trans"]:
                values = values.transpose(0, 2, 1)
            pair = np.stack(
                [values[:, quarter, 2 * inside], values[:, quarter, 2 * inside + 1]], axis=-1
            )
            np.copyto(row, np.ascontiguousarray(pair).view(np.uint32).reshape(-1), where=where)
        for observer in group.launch.observers:
            observer.on_values(access, list(row_words[lanes].T))

    return step


OPERATIONS: Operations = [
    (r"shfl\.sync\.(?P<mode>up|down|bfly|idx)\.b32", _shuffle),
    (r"vote\.sync\.(?P<mode>ballot)\.b32", _vote),
    (r"vote\.sync\.(?P<mode>any|all|uni)\.pred", _vote),
    (r"activemask\.b32", _active_mask),
    (r"bar\.warp\.sync", _warp_barrier),
    (r"(?:membar|fence)\..*", _fence),
    (r"barrier\.cluster\.arrive.*", nothing),
    (
        r"ldmatrix\.sync\.aligned(?:\.m8n8)?\.x(?P<count>[124])"
        r"(?:\.m8n8)?(?P<trans>\.trans)?(?:\.m8n8)?\.shared(?:::cta)?\.b16",
        _load_matrix,
    ),
]
