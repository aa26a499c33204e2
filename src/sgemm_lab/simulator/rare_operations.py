"""Instructions that few kernels have: bit tricks, votes and sums over a warp or a block, hints.

Each does what the PTX ISA says of it. Those that only hint at what is to come do nothing here.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.arithmetic import read_predicate
from sgemm_lab.simulator.group import VOTE_TURNS
from sgemm_lab.simulator.memory import LOCAL_WINDOW, SHARED_WINDOW
from sgemm_lab.simulator.operations import (
    Match,
    Operations,
    Step,
    assignment,
    destination,
    nothing,
    value,
)
from sgemm_lab.simulator.ptx import Instruction, Pair, Register
from sgemm_lab.simulator.registers import Mask, numpy_type
from sgemm_lab.simulator.warp_operations import by_warp, exchange

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

Bits = npt.NDArray[np.uint32]


def _reverse(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``brev``: the lowest bit becomes the highest."""
    type_ = match["type"]
    a = value(group, instruction, 1, type_)
    width = 8 * numpy_type(type_).itemsize

    def reverse() -> Any:
        left, made = np.asarray(a).copy(), np.zeros_like(np.asarray(a))
        for _ in range(width):
            made = (made << made.dtype.type(1)) | (left & left.dtype.type(1))
            left = left >> left.dtype.type(1)
        return made

    return assignment(destination(group, instruction, type_), reverse)


def _find_highest(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``bfind``: the place of the highest bit that is no copy of the sign; all ones without one."""
    type_ = match["type"]
    a = value(group, instruction, 1, type_)
    width = 8 * numpy_type(type_).itemsize

    def find() -> Any:
        given = np.asarray(a)
        given = np.where(given < 0, ~given, given).astype(f"u{width // 8}")
        place = np.full(given.shape, -1, np.int64)
        for bit in range(width):
            place = np.where((given >> given.dtype.type(bit)) & given.dtype.type(1), bit, place)
        if match["shift"]:
            place = np.where(place < 0, -1, width - 1 - place)
        return place.astype(np.uint32)

    return assignment(destination(group, instruction, "u32"), find)


def _multiply_high_64(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """The upper 64 bits of a product of 128."""
    type_ = match["type"]
    a, b = (value(group, instruction, position, "u64") for position in (1, 2))
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)

    def high() -> Any:
        x, y = np.asarray(a), np.asarray(b)
        x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
        middle = x1 * y0 + ((x0 * y0) >> half)
        other = x0 * y1 + (middle & low)
        made = x1 * y1 + (middle >> half) + (other >> half)
        if type_ == "s64":
            sign = np.uint64(63)
            made = (
                made - np.where(x >> sign, y, np.uint64(0)) - np.where(y >> sign, x, np.uint64(0))
            )
        return made

    return assignment(destination(group, instruction, "u64"), high)


def _dot_of_bytes(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``dp4a``: c plus four products of bytes."""
    types = match["first"], match["second"]
    a, b = (value(group, instruction, position, "u32") for position in (1, 2))
    c = value(group, instruction, 3, "u32")

    def part(bits: Any, place: int, type_: str) -> Any:
        byte = (np.asarray(bits) >> np.uint32(8 * place)) & np.uint32(0xFF)
        return byte.astype(np.uint8).astype(np.int8 if type_ == "s32" else np.uint8).astype("i8")

    def dot() -> Any:
        total = np.asarray(c).astype(np.int64)
        for place in range(4):
            total = total + part(a, place, types[0]) * part(b, place, types[1])
        return total.astype(np.uint32)

    return assignment(destination(group, instruction, "u32"), dot)


def _absolute_difference(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    type_ = match["type"]
    a, b, c = (value(group, instruction, position, type_) for position in (1, 2, 3))
    target = destination(group, instruction, type_)
    return assignment(target, lambda: np.where(a < b, b - a, a - b) + c)


def _multiply_24(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``mul24.lo``: the low 32 bits of a product of the 24 low bits of each."""
    type_ = match["type"]
    a, b = (value(group, instruction, position, type_) for position in (1, 2))
    shift = numpy_type(type_).type(8)

    def multiply() -> Any:
        return ((a << shift) >> shift) * ((b << shift) >> shift)

    return assignment(destination(group, instruction, type_), multiply)


def _copy_sign(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``copysign d, a, b``: b with the sign of a."""
    a, b = (value(group, instruction, position, match["type"]) for position in (1, 2))
    return assignment(destination(group, instruction, match["type"]), lambda: np.copysign(b, a))


def _test_float(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a = value(group, instruction, 1, match["type"])
    least = np.finfo(numpy_type(match["type"])).tiny
    tests: dict[str, Callable[[Any], Any]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & (np.abs(x) >= least),
        "subnormal": lambda x: (x != 0) & (np.abs(x) < least),
    }
    test = tests[match["what"]]
    return assignment(destination(group, instruction, "pred"), lambda: test(np.asarray(a)))


def _is_space(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``isspacep``: whether a generic address lies in a space."""
    a = value(group, instruction, 1, "u64")

    def test() -> Any:
        address = np.asarray(a)
        local, shared = address >= LOCAL_WINDOW, address >= SHARED_WINDOW
        answers = {"local": local, "shared": shared & ~local, "global": ~shared}
        return answers.get(match["space"], np.zeros(address.shape, bool))

    return assignment(destination(group, instruction, "pred"), test)


_REDUCTIONS: dict[str, tuple[Any, Callable[[Any], int]]] = {
    "add": (np.add, lambda limits: 0),
    "min": (np.minimum, lambda limits: int(limits.max)),
    "max": (np.maximum, lambda limits: int(limits.min)),
    "and": (np.bitwise_and, lambda limits: int(limits.max)),
    "or": (np.bitwise_or, lambda limits: 0),
    "xor": (np.bitwise_xor, lambda limits: 0),
}
"""Each operation of ``redux`` with what changes nothing, given the limits of the type."""


def _fellows(group: "ThreadGroup", members: Any, mask: Mask | None) -> Any:
    """For each lane of each warp, which lanes of it are named with it and active: (…, 32, 32)."""
    named = by_warp(group, members).astype(np.uint64)
    bits = ((named[:, :, None] >> np.arange(WARP, dtype=np.uint64)) & np.uint64(1)).astype(bool)
    active = by_warp(group, True if mask is None else mask)
    return bits & active[:, None, :]


def _reduce_warp(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``redux.sync``: one operation over the lanes that a mask names."""
    type_ = match["type"].replace("b", "u")
    a, members = value(group, instruction, 1, type_), value(group, instruction, 2, "u32")
    target = destination(group, instruction, type_)
    operation, neutral = _REDUCTIONS[match["op"]]
    nothing = numpy_type(type_).type(neutral(np.iinfo(numpy_type(type_))))

    def step(mask: Mask | None) -> None:
        values = np.where(_fellows(group, members, mask), by_warp(group, a)[:, None, :], nothing)
        made = operation.reduce(values, axis=2).astype(values.dtype)
        np.copyto(target, made.reshape(-1), where=True if mask is None else mask)

    return exchange(group, instruction, 2, step)


def _match_lanes(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``match.any``: lanes of the same value. ``match.all``: all lanes, if all have the same."""
    first = instruction.operands[0]
    register, holds = (first.first, first.second) if isinstance(first, Pair) else (first, None)
    assert isinstance(register, Register)
    target = group.registers.view(register, np.dtype(np.uint32))
    flag = None if holds is None else group.registers.view(holds, np.dtype(bool))
    a, members = value(group, instruction, 1, match["type"]), value(group, instruction, 2, "u32")

    def step(mask: Mask | None) -> None:
        fellows, values = _fellows(group, members, mask), by_warp(group, a)
        same = (values[:, :, None] == values[:, None, :]) & fellows
        whole = (same == fellows).all(axis=2)
        if match["how"] == "all":
            same = fellows & whole[:, :, None]
        bits = (same.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)).sum(axis=2)
        where: Any = True if mask is None else mask
        np.copyto(target, bits.astype(np.uint32).reshape(-1), where=where)
        if flag is not None:
            np.copyto(flag, whole.reshape(-1), where=where)

    return exchange(group, instruction, 2, step)


def _vote_in_block(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """The first half of ``bar.red``: each thread leaves its predicate, then the barrier comes."""
    predicate = read_predicate(group, instruction.operands[0])

    def step(mask: Mask | None) -> None:
        where = group.exists if mask is None else mask
        group.votes = group.votes + where
        for turn in range(VOTE_TURNS):
            now = where & (group.votes % VOTE_TURNS == turn)
            group.batch.vote(turn, group.slot[now], group.thread[now], predicate()[now])

    return step


def _votes_of_block(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """The second half of ``bar.red``: what all threads of the block have left."""
    target = destination(group, instruction, "u32" if match["what"] == "popc.u32" else "pred")

    def step(mask: Mask | None) -> None:
        where = group.exists if mask is None else mask
        for turn in range(VOTE_TURNS):
            holds, came = group.batch.votes_of(turn)
            made = {
                "popc.u32": holds,
                "and.pred": holds == came,
                "or.pred": holds > 0,
            }[match["what"]]
            np.copyto(
                target,
                made[group.slot].astype(target.dtype),
                where=where & (group.votes % VOTE_TURNS == turn),
            )

    return step


def _with_carry(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``add.cc``, ``addc``, ``sub.cc``, ``subc``, ``mad.cc``, ``madc``: sums over several words.

    The carry of each lane, or what was borrowed, is kept in between.
    """
    name, chains, type_ = match["name"], match["chains"], match["type"]
    numbers = [value(group, instruction, at, type_) for at in range(1, len(instruction.operands))]
    target = destination(group, instruction, type_)
    width = np.uint64(32)

    def step(mask: Mask | None) -> None:
        given = [np.asarray(n).astype("i8" if type_[0] == "s" else "u8") for n in numbers]
        carry = group.carry.astype(np.uint64)
        before = carry if match["takes"] else np.uint64(0)
        low = np.uint64(0xFFFFFFFF)
        if name == "mad":
            product = given[0] * given[1]
            part = product >> given[0].dtype.type(32) if match["part"] == "hi" else product
            given = [part, given[2]]
        one, other = (np.asarray(g).astype(np.uint64) & low for g in given)
        total = one - other - before if name == "sub" else one + other + before
        where: Any = True if mask is None else mask
        made = np.broadcast_to(total & low, (group.lanes,))
        np.copyto(target, made.astype(np.uint32).view(target.dtype), where=where)
        if chains:
            carried = np.broadcast_to((total >> width) & np.uint64(1), (group.lanes,))
            np.copyto(group.carry, carried.astype(bool), where=where)

    return step


_INTEGER = r"(?P<type>[su](?:32|64))"
_FLOAT = r"(?P<type>f32|f64)"

OPERATIONS: Operations = [
    (r"brev\.(?P<type>b32|b64)", _reverse),
    (rf"bfind(?P<shift>\.shiftamt)?\.{_INTEGER}", _find_highest),
    (r"mul\.hi\.(?P<type>[su]64)", _multiply_high_64),
    (r"dp4a\.(?P<first>[su]32)\.(?P<second>[su]32)", _dot_of_bytes),
    (rf"sad\.{_INTEGER}", _absolute_difference),
    (r"mul24\.lo\.(?P<type>[su]32)", _multiply_24),
    (rf"copysign\.{_FLOAT}", _copy_sign),
    (
        rf"testp\.(?P<what>finite|infinite|number|notanumber|normal|subnormal)\.{_FLOAT}",
        _test_float,
    ),
    (r"isspacep\.(?P<space>global|shared|local|const)(?:::cta)?", _is_space),
    (r"redux\.sync\.(?P<op>add|min|max|and|or|xor)\.(?P<type>[sub]32)", _reduce_warp),
    (r"match\.(?P<how>any|all)\.sync\.(?P<type>b32|b64)", _match_lanes),
    (r"blockvote\.leave", _vote_in_block),
    (r"blockvote\.(?P<what>popc\.u32|and\.pred|or\.pred)", _votes_of_block),
    (
        r"(?P<name>add|sub|mad)(?P<takes>c)?(?:\.(?P<part>lo|hi))?(?P<chains>\.cc)?"
        r"\.(?P<type>[us]32)",
        _with_carry,
    ),
    (r"(?:prefetch|prefetchu|nanosleep|discard|applypriority|griddepcontrol)\b.*", nothing),
]
