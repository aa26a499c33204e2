"""Instructions that the hardware rounds in its own way, or not to nearest.

``ex2``, ``rcp`` and ``rsqrt`` that end in ``.approx`` give what an H200 gave, bit for bit, and so
does ``div``, which multiplies with ``rcp``. ``lg2``, ``sqrt``, ``sin``, ``cos`` and ``tanh`` are
worked out in float64 and rounded to float32: the hardware's last bits may differ. How far, the PTX
ISA says under each of them. ``add``, ``sub``, ``mul`` and ``fma`` round
down, up or towards zero as they say, bit for bit; only the sign of a sum that is exactly zero may
differ.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sgemm_lab.simulator.fma import fma64
from sgemm_lab.simulator.measured_functions import power_of_two, reciprocal, reciprocal_root
from sgemm_lab.simulator.operations import Match, Operations, Step, assignment, destination, value
from sgemm_lab.simulator.ptx import Instruction

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup


_SMALLEST_NORMAL = np.float32(2.0**-126)

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "ex2": power_of_two,
    "lg2": np.log2,
    "rcp": reciprocal,
    "rsqrt": reciprocal_root,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


def _flushed(values: Any) -> Any:
    """Below the normal range only the sign is kept."""
    return np.where(np.abs(values) < _SMALLEST_NORMAL, np.copysign(np.float32(0), values), values)


def _approximate(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a = value(group, instruction, 1, "f32")
    function, flushes = _FUNCTIONS[match["op"]], match["ftz"]

    def compute() -> Any:
        given = _flushed(a) if flushes else a
        made = function(np.asarray(given, np.float64)).astype(np.float32)
        return _flushed(made) if flushes else made

    return assignment(destination(group, instruction, "f32"), compute)


def _divide(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b = (value(group, instruction, position, "f32") for position in (1, 2))
    flushes = match["ftz"]

    def compute() -> Any:
        over, under = (_flushed(a), _flushed(b)) if flushes else (a, b)
        if match["how"] == "approx":
            made = np.multiply(over, reciprocal(under).astype(np.float32), dtype=np.float32)
        else:
            made = np.divide(over, under, dtype=np.float32)
        return _flushed(made) if flushes else made

    return assignment(destination(group, instruction, "f32"), compute)


def _saturate(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``cvt.sat``: between 0 and 1, and 0 for NaN."""
    a = value(group, instruction, 1, "f32")

    def compute() -> Any:
        return np.where(a > 0, np.minimum(a, np.float32(1)), np.float32(0))

    return assignment(destination(group, instruction, "f32"), compute)


def _directed(group: "ThreadGroup", instruction: Instruction, found: Match) -> Step:
    """``add``, ``sub``, ``mul`` and ``fma`` of float32 that round down, up or towards zero."""
    count = len(instruction.operands)
    given = [value(group, instruction, position, "f32") for position in range(1, count)]
    operation, direction = found["op"], found["direction"]

    def compute() -> Any:
        one, zero = np.float32(1), np.float32(0)
        match operation:
            case "add":
                a, b, c = given[0], one, given[1]
            case "sub":
                a, b, c = given[0], one, -given[1]
            case "mul":
                a, b, c = given[0], given[1], zero
            case _:
                a, b, c = given
        product = np.multiply(a, b, dtype=np.float64)
        total = product + c
        # Knuth's two-sum: the rounding error of product + c, exactly.
        kept = total - product
        error = (product - (total - kept)) + (c - kept)
        nearest = total.astype(np.float32)
        above = (nearest > total) | ((nearest == total) & (error < 0))
        below = (nearest < total) | ((nearest == total) & (error > 0))
        down = above & (direction == "rm" or (direction == "rz") & (total > 0))
        up = below & (direction == "rp" or (direction == "rz") & (total < 0))
        made = np.where(down, np.nextafter(nearest, np.float32(-np.inf)), nearest)
        return np.where(up, np.nextafter(nearest, np.float32(np.inf)), made)

    return assignment(destination(group, instruction, "f32"), compute)


def _double_multiply_add(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b, c = (value(group, instruction, position, "f64") for position in (1, 2, 3))
    return assignment(destination(group, instruction, "f64"), lambda: fma64(a, b, c))


def _add_towards_zero(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    a, b = (value(group, instruction, position, "f64") for position in (1, 2))

    def compute() -> Any:
        other = -b if match["op"] == "sub" else b
        total = np.asarray(a + other)
        # Knuth's two-sum: the rounding error, exactly.
        kept = total - a
        error = (a - (total - kept)) + (other - kept)
        beyond = (error != 0) & ((error > 0) != (total > 0)) & np.isfinite(total)
        return np.where(beyond, np.nextafter(total, 0.0), total)

    return assignment(destination(group, instruction, "f64"), compute)


def _approximate_double(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """Where the code of a division starts; it corrects the last bits itself."""
    a = value(group, instruction, 1, "f64")
    exact: dict[str, Callable[[Any], Any]] = {
        "rcp": lambda x: 1 / x,
        "rsqrt": lambda x: 1 / np.sqrt(x),
    }
    function = exact[match["op"]]
    return assignment(destination(group, instruction, "f64"), lambda: function(a))


_FTZ = r"(?P<ftz>\.ftz)?"

OPERATIONS: Operations = [
    (rf"(?P<op>{'|'.join(_FUNCTIONS)})\.approx{_FTZ}\.f32", _approximate),
    (rf"div\.(?P<how>approx|full){_FTZ}\.f32", _divide),
    (rf"cvt(?:\.rn)?{_FTZ}\.sat\.f32\.f32", _saturate),
    (r"(?P<op>add|sub|mul|fma)\.(?P<direction>rm|rp|rz)\.f32", _directed),
    (r"(?P<op>add|sub)\.rz\.f64", _add_towards_zero),
    (r"(?P<op>rcp|rsqrt)\.approx(?:\.ftz)?\.f64", _approximate_double),
    (r"fma\.rn\.f64", _double_multiply_add),
]
