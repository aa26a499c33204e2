"""Loads, stores, atomics and asynchronous copies."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WORD_BYTES
from sgemm_lab.simulator.arithmetic import read_predicate
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.group import (
    ATOMIC,
    COPY_READ,
    COPY_WRITE,
    LOAD,
    STORE,
    Access,
    PendingCopy,
    Site,
)
from sgemm_lab.simulator.half_operations import add_small
from sgemm_lab.simulator.memory import (
    LOCAL_WINDOW,
    OUTSIDE,
    SHARED_WINDOW,
    UNWRITTEN,
    WRITTEN,
    Memory,
)
from sgemm_lab.simulator.operands import items_of, read_somewhere
from sgemm_lab.simulator.operations import Match, Operations, Step, assignment
from sgemm_lab.simulator.ptx import (
    TYPE_BYTES,
    Address,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    Symbol,
)
from sgemm_lab.simulator.registers import Array, Mask, numpy_type, source
from sgemm_lab.simulator.sentences import sentence

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

Positions = npt.NDArray[np.int64]

_GENERIC = ("global", "shared", "local")
"""The spaces in which an address may lie where the opcode names none."""


def address_of(group: "ThreadGroup", instruction: Instruction, position: int) -> Callable[[], Any]:
    """A function giving the present byte addresses of a memory operand, one per lane."""
    operand = instruction.operands[position]
    if not isinstance(operand, Address):
        raise PtxError(sentence("run.address", place=instruction.location))
    base = operand.base
    if isinstance(base, Symbol | Immediate):
        start = int(source(group.registers, group.symbols, base, np.dtype(np.int64)))
        fixed = np.full(group.lanes, start + operand.offset, dtype=np.int64)
        return lambda: fixed
    # Addresses are unsigned; those of 32 bits are extended with zeros.
    row, offset = group.registers.whole(base, signed=False), np.int64(operand.offset)
    if row.dtype == np.uint64:
        signed = row.view(np.int64)
        return lambda: signed + offset
    return lambda: row.astype(np.int64) + offset


def begin(
    group: "ThreadGroup",
    site: Site,
    addresses: Positions,
    mask: Mask | None,
    *,
    notify: bool = True,
) -> Access:
    """Check the addresses of an access, report what is wrong, and notify the observers.

    Lanes with an illegal address take no further part, as if they were inactive.
    """
    memory, lane_offset = group.memory(site.space)
    elsewhere = None
    if memory.space == "shared" and group.launch.cluster > 1:
        addresses, lane_offset = group.in_cluster(addresses)
        elsewhere = lane_offset != group.shared_offset
    relative = addresses if memory.base == 0 else addresses - memory.base
    lanes = None if mask is None else np.flatnonzero(mask)
    if lanes is not None:
        relative = relative[lanes]
        lane_offset = lane_offset[lanes] if isinstance(lane_offset, np.ndarray) else lane_offset
    positions = relative + lane_offset
    access = Access(group, site, memory, mask, addresses, lanes, positions, elsewhere)
    if len(relative):
        if relative.min() < 0 or relative.max() > memory.size - site.width:
            outside = (relative < 0) | (relative > memory.size - site.width)
            access = _without(access, outside, group.launch.hazards.out_of_bounds)
        if site.width > 1 and (access.positions & (site.width - 1)).any():
            crooked = (access.positions & (site.width - 1)) != 0
            access = _without(access, crooked, group.launch.hazards.misaligned)
        access = _check_state(access)
    if notify:
        for observer in group.launch.observers:
            observer.on_access(access)
    if group.launch.uninitialized.active:
        group.launch.uninitialized.on_move(access)
    return access


def _check_state(access: Access) -> Access:
    """Report and drop lanes between arrays; report lanes that read what nothing wrote."""
    memory, site = access.memory, access.site
    launch = access.group.launch
    reads = site.kind in (LOAD, ATOMIC, COPY_READ)
    if memory.space != "global" and not reads:
        return access
    lowest: Array = np.asarray(WRITTEN)
    for word in range(site.words):
        state = memory.state.take(access.positions + word * site.word_bytes, mode="clip")
        lowest = np.minimum(lowest, state)
    if np.all(lowest == WRITTEN):
        return access
    outside = lowest == OUTSIDE
    if reads and (lowest == UNWRITTEN).any():
        launch.uninitialized.on_read(access, _chosen_lanes(access, lowest == UNWRITTEN))
    return _without(access, outside, launch.hazards.out_of_bounds) if outside.any() else access


def _chosen_lanes(access: Access, chosen: Mask) -> npt.NDArray[np.intp]:
    where = np.flatnonzero(chosen)
    return where if access.lanes is None else access.lanes[where]


def _without(
    access: Access, wrong: Mask, report: Callable[[Access, npt.NDArray[np.intp]], None]
) -> Access:
    report(access, _chosen_lanes(access, wrong))
    lanes, positions = _chosen_lanes(access, ~wrong), access.positions[~wrong]
    return replace(access, lanes=lanes, positions=positions)


def _notify_values(access: Access, values: list[Array]) -> None:
    for observer in access.group.launch.observers:
        observer.on_values(access, values)


def _site(instruction: Instruction, match: Match, space: str, kind: str) -> Site:
    words = int(match["vector"][1:]) if "vector" in match.groupdict() and match["vector"] else 1
    type_ = match["type"]
    return Site(instruction, space, kind, TYPE_BYTES[type_], words, type_.startswith("f"))


def _in_space(
    group: "ThreadGroup",
    space: str | None,
    addresses: Callable[[], Any],
    run: Callable[[str, Positions, Mask | None], None],
) -> Step:
    """A step that calls ``run`` with a named space, or finds the space of generic addresses."""
    if space is not None:
        return lambda mask: run(space, addresses(), mask)

    def step(mask: Mask | None) -> None:
        generic = addresses()
        local, shared = generic >= LOCAL_WINDOW, generic >= SHARED_WINDOW
        for name, where, start in (
            ("local", local, LOCAL_WINDOW),
            ("shared", shared & ~local, SHARED_WINDOW),
            ("global", ~shared, 0),
        ):
            chosen = where if mask is None else where & mask
            if chosen.any():
                run(name, generic - start, chosen)

    return step


def in_space(
    group: "ThreadGroup",
    match: Match,
    addresses: Callable[[], Any],
    run: Callable[[str, Positions, Mask | None], None],
) -> Step:
    """A step that calls ``run`` with the space of an opcode or of its addresses."""
    return _in_space(group, _space(match), addresses, run)


def _space(match: Match) -> str | None:
    return None if match["space"] is None else match["space"].strip(".").partition("::")[0]


def _sites(instruction: Instruction, match: Match, kind: str) -> dict[str, Site]:
    named = _space(match)
    spaces = _GENERIC if named is None else (named,)
    return {space: _site(instruction, match, space, kind) for space in spaces}


def _targets(group: "ThreadGroup", operand: Operand, type_: str) -> list[Array]:
    """The rows a load fills; a narrow integer is extended to its whole register."""
    items = items_of(operand)
    rows = []
    for item in items:
        assert isinstance(item, Register)
        if TYPE_BYTES[type_] < 4 and type_[0] in "su":
            rows.append(group.registers.whole(item, signed=type_[0] == "s"))
        else:
            rows.append(group.registers.view(item, numpy_type(type_)))
    return rows


def _load(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    type_ = match["type"]
    dtype = numpy_type(type_)
    sites = _sites(instruction, match, LOAD)
    targets = _targets(group, instruction.operands[0], type_)

    def run(space: str, addresses: Positions, mask: Mask | None) -> None:
        site = sites[space]
        access = begin(group, site, addresses, mask)
        words = access.memory.words(site.word_bytes).view(dtype)
        first = access.positions // site.word_bytes
        values = []
        for number, target in enumerate(targets):
            value = words.take(first + number if number else first, mode="clip")
            if access.lanes is None:
                np.copyto(target, value)
            else:
                target[access.lanes] = value
            values.append(value)
        _notify_values(access, values)

    return _in_space(group, _space(match), address_of(group, instruction, 1), run)


def _load_parameter(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """A number among the parameters, or a part of a struct: those lie in memory."""
    origin = instruction.operands[1]
    base = origin.base if isinstance(origin, Address) else None
    name = base.name if isinstance(base, Symbol) else ""
    if name not in group.parameters:
        if name and name not in group.symbols:
            raise PtxError(sentence("run.parameter", place=instruction.location))
        return _load(group, instruction, match)
    (target,) = _targets(group, instruction.operands[0], match["type"])
    number = _as_stored(group.parameters[name], numpy_type(match["type"]))
    return assignment(target, lambda: number)


def _as_stored(number: int | float, type_: np.dtype[Any]) -> Any:
    """A number as it is read from its bits: PTX loads an int of -2 as u32, and a char as s8."""
    if type_.kind not in "iu":
        return type_.type(number)
    bits = 8 * type_.itemsize
    return np.array(int(number) & (2**bits - 1), f"u{type_.itemsize}").view(type_)[()]


def _store(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    dtype = numpy_type(match["type"])
    sites = _sites(instruction, match, STORE)
    operand = instruction.operands[1]
    items = items_of(operand)
    origins = [source(group.registers, group.symbols, item, dtype) for item in items]

    def run(space: str, addresses: Positions, mask: Mask | None) -> None:
        site = sites[space]
        access = begin(group, site, addresses, mask)
        words = access.memory.words(site.word_bytes).view(dtype)
        first = access.positions // site.word_bytes
        values = []
        for number, origin in enumerate(origins):
            value = np.broadcast_to(origin, (group.lanes,))
            if access.lanes is not None:
                value = value[access.lanes]
            words[first + number] = value
            values.append(value)
        mark_written(access.memory, access.positions, site.width)
        _notify_values(access, values)

    return _in_space(group, _space(match), address_of(group, instruction, 0), run)


def mark_written(memory: Memory, positions: Positions, width: int) -> None:
    """Note that bytes hold a value: ``width`` of them from each position, a multiple of it."""
    # A position is a multiple of the width, so that whole groups of bytes can be marked.
    written = int.from_bytes(bytes([int(WRITTEN)]) * min(width, 8), "little")
    state = memory.state.view(f"u{min(width, 8)}")
    for part in range(max(1, width // 8)):
        state[positions // min(width, 8) + part] = written


_ATOMICS: dict[str, Callable[[Any, Any], Any]] = {
    "exch": lambda old, new: new,
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": lambda old, most: old.dtype.type(0) if old >= most else old + old.dtype.type(1),
    "dec": lambda old, most: most if old == 0 or old > most else old - old.dtype.type(1),
}


def _add_small(type_: str, old: Any, new: Any) -> Any:
    """Add 16-bit floats, which NumPy keeps as bits."""
    return old.dtype.type(add_small(int(old), int(new), type_))


def _atomic(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``red`` and ``atom``. Lanes that meet at one address go one after the other, in order."""
    is_small = match["type"] in ("f16", "bf16", "f16x2", "bf16x2")
    dtype = np.dtype(f"u{TYPE_BYTES[match['type']]}") if is_small else numpy_type(match["type"])
    sites = _sites(instruction, match, ATOMIC)
    returns = match["name"] == "atom"
    swaps = match["op"] == "cas"
    origin, wanted = (
        source(group.registers, group.symbols, instruction.operands[position + returns], dtype)
        for position in ((2, 1) if swaps else (1, 1))
    )
    operation = _ATOMICS["exch" if swaps else match["op"]]
    if is_small:
        operation = partial(_add_small, match["type"])
    target = None
    first = instruction.operands[0]
    # What nobody reads is not returned: so does ptxas, and no loop waits for it.
    if (
        returns
        and isinstance(first, Register)
        and first.name in read_somewhere(group.launch.kernel)
    ):
        target = group.registers.view(first, dtype)

    def run(space: str, addresses: Positions, mask: Mask | None) -> None:
        site = sites[space]
        access = begin(group, site, addresses, mask)
        words = access.memory.words(site.word_bytes).view(dtype)
        places = access.positions // site.word_bytes
        value = np.broadcast_to(origin, (group.lanes,))
        if access.lanes is not None:
            value = value[access.lanes]
        before = words[places].copy()
        if target is None and isinstance(operation, np.ufunc):
            operation.at(words, places, value)
        else:
            lanes = np.arange(group.lanes) if access.lanes is None else access.lanes
            asked = np.broadcast_to(wanted, (group.lanes,))
            for lane, place, operand in zip(lanes, places, value, strict=True):
                old = words[place]
                # compare and swap: only what is there as expected is exchanged
                if not swaps or old == asked[lane]:
                    words[place] = operation(old, operand)
                if target is not None:
                    target[lane] = old
        if np.array_equal(before, words[places]):
            # Nothing new: a thread that asks in a loop need not ask again until there is.
            group.test_failed |= target is not None
            group.may_end |= target is not None
        else:
            group.batch.progress_count += 1
        mark_written(access.memory, access.positions, site.width)
        _notify_values(access, [value])

    return _in_space(group, _space(match), address_of(group, instruction, int(returns)), run)


def _copy_async(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``cp.async``: read global memory now, write shared memory when the copy is waited for."""
    size = instruction.operands[2]
    if not isinstance(size, Immediate):
        raise PtxError(sentence("run.copy_size", place=instruction.location))
    words = size.bits // WORD_BYTES
    read_site = Site(instruction, "global", COPY_READ, WORD_BYTES, words, True)
    write_site = Site(instruction, "shared", COPY_WRITE, WORD_BYTES, words, True)
    to, origin = address_of(group, instruction, 0), address_of(group, instruction, 1)
    kept_of = _kept_bytes(group, instruction, size.bits)
    every_word = np.arange(words) * WORD_BYTES

    def step(mask: Mask | None) -> None:
        write = begin(group, write_site, to(), mask)
        lanes = np.arange(group.lanes) if write.lanes is None else write.lanes
        data = np.zeros((group.lanes, words), dtype=np.uint32)
        kept = np.broadcast_to(kept_of(), (group.lanes,))
        # Bytes past the kept ones are filled with zeros and their source is not read.
        reading = kept > 0 if mask is None else mask & (kept > 0)
        if reading.any():
            read = begin(group, read_site, origin(), None if reading.all() else reading)
            readers = np.arange(group.lanes) if read.lanes is None else read.lanes
            places = (read.positions[:, None] + every_word) // WORD_BYTES
            data[readers] = read.memory.words(WORD_BYTES).take(places, mode="clip")
            data[every_word >= kept[:, None]] = 0
            _notify_values(read, list(data[readers].view(np.float32).T))
        _notify_values(write, list(data[lanes].view(np.float32).T))
        positions = write.positions[:, None] + every_word
        group.pending.append(
            PendingCopy(lanes, group.committed[lanes].copy(), positions, data[lanes])
        )

    return step


def _kept_bytes(group: "ThreadGroup", instruction: Instruction, size: int) -> Callable[[], Any]:
    """How many bytes of each lane's copy are read; the rest are zeros.

    The fourth operand is that number, or a predicate that holds where nothing is to be read.
    """
    if len(instruction.operands) <= 3:
        return lambda: np.uint32(size)
    operand = instruction.operands[3]
    register = operand.register if isinstance(operand, Negated) else operand
    if isinstance(register, Register) and group.registers.is_predicate(register):
        ignored = read_predicate(group, operand)
        return lambda: np.where(ignored(), np.uint32(0), np.uint32(size))
    kept = source(group.registers, group.symbols, operand, np.dtype(np.uint32))
    return lambda: kept


def _commit(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    def step(mask: Mask | None) -> None:
        group.committed[slice(None) if mask is None else mask] += 1

    return step


def _wait(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``cp.async.wait_group N``: all but each lane's last N committed groups become visible."""
    allowed: int | None = None
    if match["wait"] == "group":
        count = instruction.operands[0]
        if not isinstance(count, Immediate):
            raise PtxError(sentence("run.wait_group", place=instruction.location))
        allowed = count.bits

    return lambda mask: land_copies(group, mask, allowed)


def land_copies(group: "ThreadGroup", mask: Mask | None, allowed: int | None) -> None:
    """Let asynchronous copies of some lanes arrive: all, or all but the last ``allowed`` groups."""
    still_pending = []
    for copy in group.pending:
        done = np.ones(len(copy.lanes), dtype=bool) if mask is None else mask[copy.lanes]
        if allowed is not None:
            done = done & (copy.ticket < group.committed[copy.lanes] - allowed)
        if done.any():
            _land(group, copy, done)
        if not done.all():
            rest = ~done
            still_pending.append(
                PendingCopy(
                    copy.lanes[rest], copy.ticket[rest], copy.positions[rest], copy.words[rest]
                )
            )
    group.pending[:] = still_pending


def _land(group: "ThreadGroup", copy: PendingCopy, done: Mask) -> None:
    shared = group.batch.shared
    positions = copy.positions[done]
    shared.words(WORD_BYTES)[positions // WORD_BYTES] = copy.words[done]
    mark_written(shared, positions, WORD_BYTES)
    lanes = np.repeat(copy.lanes[done], positions.shape[1])
    for observer in group.launch.observers:
        observer.on_copies_landed(group, lanes, positions.reshape(-1))


_SPACE = r"(?P<space>\.global|\.shared(?:::(?:cta|cluster))?|\.local|\.const)?"
_TYPE = r"(?P<type>[subf](?:8|16|32|64))"
_CACHE = r"(?:\.(?:ca|cg|cs|lu|cv|wb|wt|nc|weak|L1::\w+|L2::\w+))*"
_STRENGTH = r"(?:\.volatile|\.(?:weak|relaxed|acquire|release)(?:\.(?:cta|cluster|gpu|sys))?)?"
_ATOMIC_SCOPE = r"(?:\.(?:relaxed|release|acquire|acq_rel|gpu|cta|sys))*"

OPERATIONS: Operations = [
    (rf"ld{_STRENGTH}{_SPACE}{_CACHE}(?:\.(?P<vector>v[24]))?\.{_TYPE}", _load),
    (rf"st{_STRENGTH}{_SPACE}{_CACHE}(?:\.(?P<vector>v[24]))?\.{_TYPE}", _store),
    (rf"ld(?P<space>\.param)(?:\.(?P<vector>v[24]))?\.{_TYPE}", _load_parameter),
    (
        rf"(?P<name>red|atom){_ATOMIC_SCOPE}{_SPACE}{_ATOMIC_SCOPE}"
        rf"\.(?P<op>add|min|max|and|or|xor|exch|cas|inc|dec)\.{_TYPE}",
        _atomic,
    ),
    # As CUDA's own headers write it, the order behind the operation.
    (rf"(?P<name>atom)(?P<space>\.global)?\.(?P<op>add){_ATOMIC_SCOPE}\.{_TYPE}", _atomic),
    (
        rf"(?P<name>red|atom){_ATOMIC_SCOPE}{_SPACE}{_ATOMIC_SCOPE}"
        r"\.(?P<op>add)\.noftz\.(?P<type>f16|bf16|f16x2|bf16x2)",
        _atomic,
    ),
    (r"cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::\w+)*", _copy_async),
    (r"cp\.async\.commit_group", _commit),
    (r"cp\.async\.wait_(?P<wait>group|all)", _wait),
]
