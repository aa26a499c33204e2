"""Arithmetic of 16-bit floats, alone or in pairs: float16 (``f16``) and bfloat16 (``bf16``).

Each result is worked out in float64 and rounded to nearest even, as if once. Every NaN becomes
0x7FFF, that of the GPU.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sgemm_lab.simulator.fma import odd_sum
from sgemm_lab.simulator.operations import Match, Operations, Step, assignment, destination, value
from sgemm_lab.simulator.ptx import Instruction

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup


_NAN = np.uint16(0x7FFF)

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": odd_sum,  # so that rounding once more is right
    "sub": lambda a, b: odd_sum(a, -b),
    "mul": np.multiply,
    "fma": lambda a, b, c: odd_sum(a * b, c),
    "min": np.fmin,
    "max": np.fmax,
}

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _widened(bits: Any, type_: str) -> Any:
    """16 bits as the float64 that they stand for."""
    bits = np.asarray(bits).astype(np.uint16)
    if type_ == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def _narrowed(values: Any, type_: str) -> Any:
    """float64 rounded once to 16 bits."""
    if type_ == "f16":
        return np.where(np.isnan(values), _NAN, values.astype(np.float16).view(np.uint16))
    # Rounded to odd in float32 first, so that the second rounding is right.
    nearest = values.astype(np.float32)
    even = (nearest.view(np.uint32) & np.uint32(1)) == 0
    inexact = np.isfinite(nearest) & (nearest != values)
    towards = np.where(values > nearest, np.float32(np.inf), np.float32(-np.inf))
    odd = np.where(inexact & even, np.nextafter(nearest, towards), nearest)
    bits = odd.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), _NAN, rounded.astype(np.uint16))


def _halves(bits: Any, pair: bool) -> list[Any]:
    """The 16-bit parts of an operand, the lower first."""
    return [bits, np.asarray(bits) >> np.uint32(16)] if pair else [bits]


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return parts[1].astype(np.uint32) << np.uint32(16) | parts[0]


def _compute(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    type_, pair = match["type"], match["pair"] is not None
    width = "b32" if pair else "b16"
    operation = _OPERATIONS[match["op"]]
    count = len(instruction.operands)
    operands = [value(group, instruction, position, width) for position in range(1, count)]

    def compute() -> Any:
        lanes = zip(*(_halves(bits, pair) for bits in operands), strict=True)
        return _joined(
            [
                _narrowed(operation(*(_widened(bits, type_) for bits in part)), type_)
                for part in lanes
            ]
        )

    return assignment(destination(group, instruction, width), compute)


def fused_halves(group: "ThreadGroup", instruction: Instruction, type_: str, how: str) -> Step:
    """A product and a sum in one, rounded once; ``how`` as in ``fusing``."""
    plain, pair = type_.removesuffix("x2"), type_.endswith("x2")
    width = "b32" if pair else "b16"
    operands = [value(group, instruction, position, width) for position in (1, 2, 3)]

    def compute() -> Any:
        parts = []
        for lanes in zip(*(_halves(bits, pair) for bits in operands), strict=True):
            a, b, c = (_widened(bits, plain) for bits in lanes)
            total = odd_sum(-a * b if how == "from" else a * b, -c if how == "less" else c)
            parts.append(_narrowed(total, plain))
        return _joined(parts)

    return assignment(destination(group, instruction, width), compute)


def _change_sign(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    width = "b32" if match["pair"] else "b16"
    bits = value(group, instruction, 1, width)
    whole = np.uint32 if match["pair"] else np.uint16
    signs = whole(0x80008000 if match["pair"] else 0x8000)

    def compute() -> Any:
        return bits ^ signs if match["op"] == "neg" else bits & ~signs

    return assignment(destination(group, instruction, width), compute)


def _compared(match: Match, a: Any, b: Any) -> Any:
    """Compare; with NaN an ordered comparison is false, an unordered one true."""
    nan = np.isnan(a) | np.isnan(b)
    if match["compare"] in ("num", "nan"):
        return nan if match["compare"] == "nan" else ~nan
    outcome = _COMPARISONS[match["compare"]](a, b)
    return outcome | nan if match["unordered"] else outcome & ~nan


def _set(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``set``: 1 where the comparison holds, else 0, as 16-bit floats; all ones as whole ones."""
    type_, pair = match["type"], match["pair"] is not None
    if match["to"] in ("u32", "s32"):
        return _set_mask(group, instruction, match)
    width = "b32" if pair else "b16"
    a, b = (value(group, instruction, position, width) for position in (1, 2))

    def compute() -> Any:
        lanes = zip(_halves(a, pair), _halves(b, pair), strict=True)
        return _joined(
            [
                _narrowed(
                    _compared(match, *(_widened(bits, type_) for bits in part)).astype(float), type_
                )
                for part in lanes
            ]
        )

    return assignment(destination(group, instruction, width), compute)


def _set_mask(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``set`` to whole numbers: all ones where the comparison holds, half by half in a pair."""
    type_, pair = match["type"], match["pair"] is not None
    a, b = (value(group, instruction, position, "b32" if pair else "b16") for position in (1, 2))
    ones = np.uint16(0xFFFF) if pair else np.uint32(0xFFFFFFFF)

    def compute() -> Any:
        lanes = zip(_halves(a, pair), _halves(b, pair), strict=True)
        return _joined(
            [
                np.where(
                    _compared(match, *(_widened(bits, type_) for bits in part)), ones, 0
                ).astype(ones.dtype)
                for part in lanes
            ]
        )

    return assignment(destination(group, instruction, "u32"), compute)


def _set_predicate(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b = (value(group, instruction, position, "b16") for position in (1, 2))
    type_ = match["type"]
    return assignment(
        destination(group, instruction, "pred"),
        lambda: _compared(match, _widened(a, type_), _widened(b, type_)),
    )


def _convert_whole(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    values = value(group, instruction, 1, instruction.parts[-1])
    return assignment(
        destination(group, instruction, "b16"),
        lambda: _narrowed(np.asarray(values).astype(np.float64), match["type"]),
    )


def add_small(old: int, new: int, type_: str) -> int:
    """Return the sum of two 16-bit floats, or of pairs, as bits."""
    pair = type_.endswith("x2")
    lanes = zip(_halves(np.uint32(old), pair), _halves(np.uint32(new), pair), strict=True)
    plain = type_.removesuffix("x2")
    parts = [_narrowed(odd_sum(*(_widened(bits, plain) for bits in part)), plain) for part in lanes]
    return int(_joined(parts))


_COMPARE = r"(?P<compare>eq|ne|lt|le|gt|ge|num|nan)(?P<unordered>u)?"
_TYPE = r"(?P<type>bf16|f16)(?P<pair>x2)?"

OPERATIONS: Operations = [
    (r"cvt\.rn\.(?P<type>bf16)\.[sufb]+(?:8|16|64|(?<=[su])32)", _convert_whole),
    (rf"(?P<op>add|sub|mul)(?:\.rn)?\.{_TYPE}", _compute),
    (rf"(?P<op>fma)\.rn\.{_TYPE}", _compute),
    (rf"(?P<op>min|max)\.{_TYPE}", _compute),
    (rf"(?P<op>neg|abs)\.{_TYPE}", _change_sign),
    (rf"set\.{_COMPARE}\.(?P<to>f16x2|bf16x2|f16|bf16|u32|s32)\.{_TYPE}", _set),
    (rf"setp\.{_COMPARE}\.(?P<type>bf16|f16)", _set_predicate),
]
