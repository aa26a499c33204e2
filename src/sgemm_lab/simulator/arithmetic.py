"""Integer, float, predicate and conversion instructions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.fma import fma32
from sgemm_lab.simulator.group import CLOCKS
from sgemm_lab.simulator.memory import LOCAL_WINDOW, SHARED_WINDOW
from sgemm_lab.simulator.operations import (
    Match,
    Operations,
    Step,
    assignment,
    destination,
    elementwise,
    value,
)
from sgemm_lab.simulator.ptx import (
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    Register,
    SpecialRegister,
    Vector,
)
from sgemm_lab.simulator.registers import Mask, numpy_type, source
from sgemm_lab.simulator.sentences import sentence

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup


_WIDER = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "mul.lo": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
    "rem": np.fmod,
    "div": np.divide,
    "shl": np.left_shift,
    "shr": np.right_shift,
}
_UNARY: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "abs": np.absolute,
    "not": np.invert,
    "sqrt": np.sqrt,
}
_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
_ABOUT_NAN = ("num", "nan")
"""Comparisons that only ask whether both operands are numbers, or whether one is NaN."""
_FLOAT_ONLY = (*(f"{name}u" for name in ("eq", "ne", "lt", "le", "gt", "ge")), *_ABOUT_NAN)
_COMBINE: dict[str, Callable[..., Any]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def _binary(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    type_ = match["type"]
    a, b = (value(group, instruction, position, type_) for position in (1, 2))
    operation = _BINARY[match["op"]]
    if type_.startswith("f"):
        # PTX min and max of a number and NaN give the number.
        operation = {"min": np.fmin, "max": np.fmax}.get(match["op"], operation)
    target = destination(group, instruction, type_)
    return elementwise(group, target, lambda out: operation(a, b, out=out))


def _predicate_binary(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b = (read_predicate(group, instruction.operands[position]) for position in (1, 2))
    operation = _COMBINE[match["op"]]
    return assignment(destination(group, instruction, "pred"), lambda: operation(a(), b()))


def _unary(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a = value(group, instruction, 1, match["type"])
    operation = _UNARY[match["op"]]
    target = destination(group, instruction, match["type"])
    return elementwise(group, target, lambda out: operation(a, out=out))


def _shift(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    type_ = match["type"]
    dtype = numpy_type(type_)
    a = value(group, instruction, 1, type_)
    amount = value(group, instruction, 2, "u32")
    operation = _BINARY[match["op"]]
    target = destination(group, instruction, type_)
    # NumPy, like PTX, shifts everything out when the amount is the width or more.
    if np.ndim(amount) == 0:
        fixed = dtype.type(min(int(amount), 8 * dtype.itemsize))
        return elementwise(group, target, lambda out: operation(a, fixed, out=out))
    limit = np.uint32(8 * dtype.itemsize)
    return elementwise(
        group, target, lambda out: operation(a, np.minimum(amount, limit).astype(dtype), out=out)
    )


def _divide_integers(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b = (value(group, instruction, position, match["type"]) for position in (1, 2))
    # PTX rounds towards zero: take off the remainder, which has the sign of a.
    return assignment(
        destination(group, instruction, match["type"]), lambda: (a - np.fmod(a, b)) // b
    )


def _multiply_high(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    wide = numpy_type(_WIDER[match["type"]])
    a, b = (value(group, instruction, position, match["type"]) for position in (1, 2))
    bits = wide.type(8 * numpy_type(match["type"]).itemsize)
    return assignment(
        destination(group, instruction, match["type"]),
        lambda: np.multiply(a, b, dtype=wide) >> bits,
    )


def _multiply_wide(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    wide = numpy_type(_WIDER[match["type"]])
    a, b = (value(group, instruction, position, match["type"]) for position in (1, 2))
    target = destination(group, instruction, _WIDER[match["type"]])
    return elementwise(group, target, lambda out: np.multiply(a, b, out=out, dtype=wide))


def _multiply_add(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    type_ = match["type"] if match["part"] == "lo" else _WIDER[match["type"]]
    a, b = (value(group, instruction, position, match["type"]) for position in (1, 2))
    c = value(group, instruction, 3, type_)
    dtype = numpy_type(type_)
    target = destination(group, instruction, type_)
    return elementwise(
        group, target, lambda out: np.add(np.multiply(a, b, dtype=dtype), c, out=out)
    )


def _fused_multiply_add(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b, c = (value(group, instruction, position, "f32") for position in (1, 2, 3))
    target = destination(group, instruction, "f32")
    step = elementwise(group, target, lambda out: fma32(a, b, c, out=out))
    listener = group.launch.products
    if listener is None:
        return step

    def notifying(mask: Mask | None) -> None:
        lanes = np.arange(group.lanes) if mask is None else np.flatnonzero(mask)
        # Before the step: its target may be one of its factors.
        left, right = (np.broadcast_to(factor, group.lanes)[lanes] for factor in (a, b))
        step(mask)
        listener.on_product(group, instruction, lanes, (left, right), target[lanes])

    return notifying


def read_predicate(group: "ThreadGroup", operand: Operand) -> Callable[[], Any]:
    """A function giving a predicate operand's present values."""
    if isinstance(operand, Negated):
        row = group.registers.view(operand.register, np.dtype(np.bool_))
        return lambda: ~row
    values = source(group.registers, group.symbols, operand, np.dtype(np.bool_))
    return lambda: values


def _set_predicate(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b = (value(group, instruction, position, match["type"]) for position in (1, 2))
    is_float = match["type"].startswith("f")
    unordered = match["compare"] in _FLOAT_ONLY and match["compare"] not in _ABOUT_NAN
    name = match["compare"][:-1] if unordered else match["compare"]
    if match["compare"] in _FLOAT_ONLY and not is_float:
        raise PtxError(
            sentence("run.comparison", opcode=instruction.opcode, place=instruction.location)
        )
    compare = _COMPARE.get(name, np.equal)
    # An ordered comparison with NaN is false, "not equal" included, an unordered one true.
    nan_matters = is_float and (unordered or name == "ne")

    def outcome() -> Any:
        if name in _ABOUT_NAN:
            some_nan = np.isnan(a) | np.isnan(b)
            return some_nan if name == "nan" else ~some_nan
        result = compare(a, b)
        if nan_matters:
            nan = np.isnan(a) | np.isnan(b)
            result = result | nan if unordered else result & ~nan
        return result

    combine = None if match["combine"] is None else _COMBINE[match["combine"]]
    other = read_predicate(group, instruction.operands[3]) if combine is not None else None
    first = instruction.operands[0]
    second: Register | None = None
    if isinstance(first, Pair):
        second, first = first.second, first.first
    assert isinstance(first, Register)
    target = group.registers.view(first, np.dtype(np.bool_))
    inverse = None if second is None else group.registers.view(second, np.dtype(np.bool_))

    def step(mask: Mask | None) -> None:
        where = True if mask is None else mask
        result = outcome()
        opposite = ~result
        if combine is not None and other is not None:
            condition = other()
            result, opposite = combine(result, condition), combine(opposite, condition)
        np.copyto(target, result, where=where)
        if inverse is not None:
            np.copyto(inverse, opposite, where=where)

    return step


def _select(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b = (value(group, instruction, position, match["type"]) for position in (1, 2))
    condition = read_predicate(group, instruction.operands[3])
    return assignment(
        destination(group, instruction, match["type"]), lambda: np.where(condition(), a, b)
    )


def _move(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    type_ = match["type"]
    target, origin = instruction.operands
    if isinstance(target, Vector):
        return _unpack(group, target, origin, type_)
    if isinstance(origin, Vector):
        return _pack(group, target, origin, type_)
    row = destination(group, instruction, type_)
    if isinstance(origin, SpecialRegister) and origin.name in CLOCKS:
        return assignment(row, group.read_clock)
    if isinstance(origin, SpecialRegister):
        special = group.special(origin.name)
        return assignment(row, lambda: special)
    values = value(group, instruction, 1, type_)
    return assignment(row, lambda: values)


def _unpack(group: "ThreadGroup", target: Vector, origin: Operand, type_: str) -> Step:
    """``mov.b64 {%r1, %r2}, %rd1``: low bits first."""
    part = np.dtype(f"u{numpy_type(type_).itemsize // len(target.items)}")
    values = source(group.registers, group.symbols, origin, numpy_type(type_))
    rows = [group.registers.view(item, part) for item in target.items if isinstance(item, Register)]

    def step(mask: Mask | None) -> None:
        parts = np.ascontiguousarray(values).view(part).reshape(-1, len(rows))
        for number, row in enumerate(rows):
            np.copyto(row, parts[:, number], where=True if mask is None else mask)

    return step


def _pack(group: "ThreadGroup", target: Operand, origin: Vector, type_: str) -> Step:
    """``mov.b64 %rd1, {%r1, %r2}``: low bits first."""
    assert isinstance(target, Register)
    whole = numpy_type(type_)
    part = np.dtype(f"u{whole.itemsize // len(origin.items)}")
    parts = [source(group.registers, group.symbols, item, part) for item in origin.items]

    def pack() -> Any:
        columns = np.empty((group.lanes, len(parts)), dtype=part)
        for number, values in enumerate(parts):
            columns[:, number] = values
        return columns.view(whole)[:, 0]

    return assignment(group.registers.view(target, whole), pack)


def _convert(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    to, origin = match["to"], match["from"]
    values = value(group, instruction, 1, origin)
    target = instruction.operands[0]
    assert isinstance(target, Register)
    to_float, from_float = to[0] == "f", origin[0] == "f"
    rounding = match["rounding"] or ""
    if not to_float:
        # A narrow result is extended to the whole register by its own sign.
        row = group.registers.whole(target, signed=to[0] == "s")
    else:
        row = group.registers.view(target, numpy_type(to))
    if from_float and not to_float:
        round_ = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rounding]
        limits = np.iinfo(numpy_type(to))

        def to_integer() -> Any:
            wide = np.nan_to_num(round_(np.asarray(values, dtype=np.float64)), nan=0.0)
            result = np.empty(np.shape(wide), dtype=numpy_type(to))
            # PTX clamps to the range; the largest 64-bit integers have no float64 of their own.
            low, high = wide <= float(limits.min), wide >= float(limits.max)
            result[...] = np.where(low | high, 0.0, wide).astype(numpy_type(to))
            result[low] = limits.min
            result[high] = limits.max
            return result

        return assignment(row, to_integer)
    if from_float and to_float and rounding.endswith("i"):
        round_ = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rounding]
        return assignment(row, lambda: round_(values))
    if to == "f16":
        return assignment(row, lambda: _to_half(values).view(np.float16))
    return assignment(row, lambda: np.asarray(values).astype(numpy_type(to)))


def _to_bfloat16(values: Any) -> Any:
    """float32 to the upper 16 bits, rounded to nearest even."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), rounded.astype(np.uint16))


def _to_half(values: Any) -> Any:
    """To the nearest float16, halves to the even one. Every NaN becomes the one of the GPU."""
    halves = np.asarray(values).astype(np.float16).view(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), halves)


_NARROW = {"f16": _to_half, "bf16": _to_bfloat16}


def _convert_to_narrow(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    narrow, values = _NARROW[match["narrow"]], value(group, instruction, 1, "f32")
    return assignment(destination(group, instruction, "b16"), lambda: narrow(values))


def _convert_to_narrow_pair(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``cvt.rn.f16x2.f32 d, a, b``: a goes to the upper half."""
    narrow = _NARROW[match["narrow"]]
    a, b = (value(group, instruction, position, "f32") for position in (1, 2))
    return assignment(
        destination(group, instruction, "b32"),
        lambda: narrow(a).astype(np.uint32) << np.uint32(16) | narrow(b),
    )


def _convert_to_tf32(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    bits = value(group, instruction, 1, "b32")
    to_even = match["ties"] == "rn"
    target = destination(group, instruction, "b32")
    return assignment(target, lambda: rounded_to_tf32(bits, to_even=to_even))


def rounded_to_tf32(bits: Any, *, to_even: bool) -> Any:
    """Round floats to 10 fraction bits, to nearest; ties to even or away from zero.

    NaN loses its low bits.
    """
    finite = (bits & np.uint32(0x7FFFFFFF)) < np.uint32(0x7F800000)
    half = (
        np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1)) if to_even else np.uint32(0x1000)
    )
    return (bits + np.where(finite, half, np.uint32(0))) & np.uint32(0xFFFFE000)


def _convert_from_bfloat16(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    bits = value(group, instruction, 1, "b16")
    return assignment(
        destination(group, instruction, "b32"),
        lambda: np.asarray(bits).astype(np.uint32) << np.uint32(16),
    )


def _convert_address(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(match["space"], 0)
    shift = np.uint64(window)
    values = value(group, instruction, 1, "u64")
    target = destination(group, instruction, "u64")
    operation = np.subtract if match["to"] else np.add
    return elementwise(group, target, lambda out: operation(values, shift, out=out))


def _count_bits(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    values = value(group, instruction, 1, match["type"])
    bits = np.arange(8 * numpy_type(match["type"]).itemsize, dtype=numpy_type(match["type"]))

    def count() -> Any:
        set_ = (np.broadcast_to(values, (group.lanes,))[:, None] >> bits) & bits.dtype.type(1)
        if match["op"] == "popc":
            return set_.sum(axis=1)
        highest_first = set_[:, ::-1]
        return np.where(highest_first.any(axis=1), highest_first.argmax(axis=1), len(bits))

    return assignment(destination(group, instruction, "u32"), count)


def _extract_bits(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    type_ = match["type"]
    dtype = numpy_type(type_)
    width = 8 * dtype.itemsize
    a = value(group, instruction, 1, type_)
    start, length = (value(group, instruction, position, "u32") for position in (2, 3))

    def extract() -> Any:
        first = np.minimum(start & np.uint32(0xFF), np.uint32(width))
        count = np.minimum(length & np.uint32(0xFF), np.uint32(width))
        # Signed fields take their sign from their own top bit, or from a's where they pass it.
        top = np.minimum(first + count, np.uint32(width))
        left = (np.uint32(width) - top).astype(dtype)
        right = (left + np.asarray(first).astype(dtype)).astype(dtype)
        return np.where(count == 0, dtype.type(0), (a << left) >> right)

    return assignment(destination(group, instruction, type_), extract)


def _insert_bits(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    dtype = numpy_type(match["type"])
    width = 8 * dtype.itemsize
    field, base = (value(group, instruction, position, match["type"]) for position in (1, 2))
    start, length = (value(group, instruction, position, "u32") for position in (3, 4))

    def insert() -> Any:
        first = np.minimum(start & np.uint32(0xFF), np.uint32(width)).astype(dtype)
        count = np.minimum(length & np.uint32(0xFF), np.uint32(width)).astype(dtype)
        ones = dtype.type(~dtype.type(0))
        mask = (~np.left_shift(ones, count)) << first
        return (base & ~mask) | ((field << first) & mask)

    return assignment(destination(group, instruction, match["type"]), insert)


def _funnel_shift(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    low, high, amount = (value(group, instruction, position, "u32") for position in (1, 2, 3))
    wraps = match["mode"] == "wrap"

    def shift() -> Any:
        both = (np.asarray(high).astype(np.uint64) << np.uint64(32)) | low
        count = amount & np.uint32(31) if wraps else np.minimum(amount, np.uint32(32))
        count = np.asarray(count).astype(np.uint64)
        if match["side"] == "r":
            return both >> count
        return (both << count) >> np.uint64(32)

    return assignment(destination(group, instruction, "u32"), shift)


def _permute_bytes(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b, selector = (value(group, instruction, position, "u32") for position in (1, 2, 3))

    def permute() -> Any:
        both = np.asarray(a).astype(np.uint64) | (np.asarray(b).astype(np.uint64) << np.uint64(32))
        result: Any = np.uint32(0)
        for place in range(4):
            chosen = (np.asarray(selector) >> np.uint32(4 * place)) & np.uint32(0xF)
            byte = (both >> ((chosen & np.uint32(7)).astype(np.uint64) * np.uint64(8))) & np.uint64(
                0xFF
            )
            # Bit 3 of a selector asks for the byte's sign in all eight bits.
            sign = np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
            byte = np.where(chosen & np.uint32(8), sign, byte)
            result = result | (byte.astype(np.uint32) << np.uint32(8 * place))
        return result

    return assignment(destination(group, instruction, "u32"), permute)


def _logic3(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b, c = (value(group, instruction, position, "u32") for position in (1, 2, 3))
    table = instruction.operands[4]
    if not isinstance(table, Immediate):
        raise PtxError(sentence("run.lop3", place=instruction.location))

    def combine() -> Any:
        result: Any = np.uint32(0)
        for row in range(8):
            if table.bits >> row & 1:
                result = result | (
                    (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
                )
        return result

    return assignment(destination(group, instruction, "u32"), combine)


def _reciprocal(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a = value(group, instruction, 1, match["type"])
    one = numpy_type(match["type"]).type(1)
    target = destination(group, instruction, match["type"])
    return elementwise(group, target, lambda out: np.divide(one, a, out=out))


_INT = r"(?P<type>[su](?:16|32|64))"
_BITS = r"(?P<type>b(?:16|32|64))"
_FLOAT = r"(?P<type>f32|f64)"
_ANY = r"(?P<type>[subf](?:16|32|64))"

OPERATIONS: Operations = [
    (rf"(?P<op>add|sub|mul\.lo|min|max|rem)\.{_INT}", _binary),
    (rf"(?P<op>add|sub|mul|div)(?:\.rn)?\.{_FLOAT}", _binary),
    (rf"(?P<op>min|max)\.{_FLOAT}", _binary),
    (rf"(?P<op>and|or|xor)\.{_BITS}", _binary),
    (r"(?P<op>and|or|xor)\.pred", _predicate_binary),
    (r"(?P<op>neg|abs)\.(?P<type>s16|s32|s64|f32|f64)", _unary),
    (r"(?P<op>not)\.(?P<type>b16|b32|b64|pred)", _unary),
    (rf"(?P<op>sqrt)\.rn\.{_FLOAT}", _unary),
    (rf"rcp\.rn\.{_FLOAT}", _reciprocal),
    (r"(?P<op>shl|shr)\.(?P<type>[sub](?:16|32|64))", _shift),
    (rf"div\.{_INT}", _divide_integers),
    (r"mul\.hi\.(?P<type>[su](?:16|32))", _multiply_high),
    (r"mul\.wide\.(?P<type>[su](?:16|32))", _multiply_wide),
    (r"mad\.(?P<part>lo)\.(?P<type>[su](?:16|32|64))", _multiply_add),
    (r"mad\.(?P<part>wide)\.(?P<type>[su](?:16|32))", _multiply_add),
    (r"fma\.rn\.f32", _fused_multiply_add),
    (
        rf"setp\.(?P<compare>{'|'.join((*_COMPARE, *_FLOAT_ONLY))})"
        rf"(?:\.(?P<combine>and|or|xor))?\.{_ANY}",
        _set_predicate,
    ),
    (rf"selp\.{_ANY}", _select),
    (r"mov\.(?P<type>pred|[subf](?:16|32|64))", _move),
    (
        r"cvt(?:\.(?P<rounding>rn|rni|rzi|rmi|rpi))?"
        r"\.(?P<to>[su](?:8|16|32|64)|f16|f32|f64)\.(?P<from>[su](?:8|16|32|64)|f16|f32|f64)",
        _convert,
    ),
    (r"cvt\.rn\.(?P<narrow>bf16)\.f32", _convert_to_narrow),
    (r"cvt\.rn\.(?P<narrow>f16|bf16)x2\.f32", _convert_to_narrow_pair),
    (r"cvt\.(?P<ties>rn|rna)\.tf32\.f32", _convert_to_tf32),
    (r"cvt\.f32\.bf16", _convert_from_bfloat16),
    (r"cvta(?P<to>\.to)?\.(?P<space>global|shared|local|const|param)\.u64", _convert_address),
    (r"(?P<op>popc|clz)\.(?P<type>b32|b64)", _count_bits),
    (r"bfe\.(?P<type>[su](?:32|64))", _extract_bits),
    (r"bfi\.(?P<type>b32|b64)", _insert_bits),
    (r"shf\.(?P<side>l|r)\.(?P<mode>wrap|clamp)\.b32", _funnel_shift),
    (r"prmt\.b32", _permute_bytes),
    (r"lop3\.b32", _logic3),
]
