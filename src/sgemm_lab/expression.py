"""Safe evaluation of arithmetic expressions such as ``ceil(N / BN)``.

A ``Meaning`` defines the allowed syntax and its semantics for ``evaluate``: exact numbers, integers
as in C, or arrays.
"""

import ast
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, trunc
from pathlib import Path
from typing import Any

DEEPEST = 50
"""Maximum nesting depth, to limit the recursion."""

_SENTENCES: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""Error messages, shared with ``expression.ts``."""


class UnreadableError(ValueError):
    """An invalid expression. The message continues a sentence that quotes the text.

    ``part`` is the invalid syntax node, or None.
    """

    def __init__(self, message: str, part: ast.AST | None = None) -> None:
        super().__init__(message)
        self.part = part


Inner = Callable[[ast.AST], Any]
"""Evaluates a part of an expression."""


@dataclass(frozen=True)
class Meaning:
    """Allowed syntax of an expression, and its semantics."""

    numbers: tuple[type, ...]
    """Types of number literals: int, float."""
    number: Callable[[Any], Any]
    """Converts a literal or the value of a name."""
    operators: Mapping[type[ast.AST], Callable[..., Any]]
    """Unary and binary operators by node class, such as ``ast.Add``."""
    call: Callable[[ast.Call, Inner], Any]
    """Evaluates a call; NotImplemented for an unknown function."""
    other: Callable[[ast.AST, Inner], Any] = lambda node, inner: NotImplemented
    """Evaluates any other node; NotImplemented if it is not allowed."""


def evaluate(text: str, names: Mapping[str, Any], meaning: Meaning) -> Any:
    """Evaluate an expression.

    Raises:
        UnreadableError: invalid syntax, a node that ``meaning`` does not allow, an unknown name, or
            too deep nesting.
    """

    def value(node: ast.AST, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise UnreadableError(_SENTENCES["deep"])

        def inner(part: ast.AST) -> Any:
            return value(part, depth + 1)

        found = NotImplemented
        match node:
            case ast.Constant(value=number) if type(number) in meaning.numbers:
                found = meaning.number(number)
            case ast.Name(id=name) if name in names:
                found = meaning.number(names[name])
            case ast.UnaryOp(op=op, operand=operand) if type(op) in meaning.operators:
                found = meaning.operators[type(op)](inner(operand))
            case (
                ast.BinOp(left=left, op=op, right=right)
                | ast.Compare(left=left, ops=[op], comparators=[right])
            ) if type(op) in meaning.operators:
                found = meaning.operators[type(op)](inner(left), inner(right))
            case ast.Call():
                found = meaning.call(node, inner)
            case _:
                found = meaning.other(node, inner)
        if found is NotImplemented:
            raise UnreadableError(_SENTENCES["other"].format(names=", ".join(names)), node)
        return found

    return value(_parse(text))


@lru_cache(maxsize=1024)
def _parse(text: str) -> ast.AST:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnreadableError(_SENTENCES["unreadable"]) from None


def _divide_as_c(left: Fraction, right: Fraction) -> Fraction:
    return Fraction(trunc(left / right))


def _call(node: ast.Call, inner: Inner) -> Any:
    match node:
        case ast.Call(func=ast.Name(id="ceil"), args=[argument], keywords=[]):
            return Fraction(ceil(inner(argument)))
        case ast.Call(func=ast.Name(id="min"), args=[one, other], keywords=[]):
            return min(inner(one), inner(other))
        case ast.Call(func=ast.Name(id="max"), args=[one, other], keywords=[]):
            return max(inner(one), inner(other))
    return NotImplemented


_EXACT = Meaning(
    numbers=(int,),
    number=Fraction,
    operators={
        ast.USub: operator.neg, ast.Add: operator.add, ast.Sub: operator.sub,
        ast.Mult: operator.mul, ast.Div: operator.truediv,
    },
    call=_call,
)  # fmt: skip


def _code(operator: str) -> Callable[..., str]:
    return lambda *sides: "(" + operator.join(("",) * (len(sides) == 1) + sides) + ")"


def _code_of_call(node: ast.Call, inner: Inner) -> Any:
    match node:
        # Floor division is exact, so a quotient that is rounded up needs no fraction.
        case ast.Call(
            func=ast.Name(id="ceil"), args=[ast.BinOp(left=left, op=ast.Div(), right=right)]
        ) if not node.keywords:
            return f"-(-{inner(left)} // {inner(right)})"
        case ast.Call(func=ast.Name(id="ceil"), args=[argument], keywords=[]):
            return f"_ceil({inner(argument)})"
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[one, other], keywords=[]):
            return f"_{name}({inner(one)}, {inner(other)})"
    return NotImplemented


_PYTHON = Meaning(
    numbers=(int,),
    number=str,
    operators={
        ast.USub: _code("-"), ast.Add: _code("+"), ast.Sub: _code("-"), ast.Mult: _code("*"),
        ast.Div: lambda left, right: f"_Fraction({left}, {right})",
    },
    call=_code_of_call,
)  # fmt: skip
"""Translates an expression to Python."""
_AS_C = replace(
    _EXACT,
    operators={
        **_EXACT.operators,
        ast.Div: _divide_as_c,
        ast.Mod: lambda left, right: left - right * _divide_as_c(left, right),
        ast.BitAnd: lambda left, right: Fraction(int(left) & int(right)),
    },
)


def compiled(
    text: str, constants: Mapping[str, int], variables: tuple[str, ...]
) -> Callable[..., int]:
    """Return ``whole_number`` of an expression as a function of some of its names.

    It takes the variables as positional arguments and does not parse the text again.

    Raises:
        UnreadableError: an invalid expression; from the function also a division by zero, or a
            result that is not an integer.
    """
    names = {**constants, **{name: f"_{place}" for place, name in enumerate(variables)}}
    code = evaluate(text, names, _PYTHON)
    arguments = ", ".join(f"_{place}" for place in range(len(variables)))
    functions = {"_ceil": ceil, "_min": min, "_max": max, "_Fraction": Fraction}
    # The code holds nothing but integers, the variables, arithmetic and these functions.
    function = eval(f"lambda {arguments}: {code}", {"__builtins__": {}, **functions})
    return lambda *values: _checked(lambda: function(*values))


def whole_number(text: str, names: Mapping[str, int], *, floor: bool = False) -> int:
    """Evaluate an expression to an integer.

    Allowed are integers, ``names``, + - * /, ``ceil(x)``, ``min(x, y)``, ``max(x, y)``, brackets.
    With ``floor`` division truncates as in C, and % and & are allowed; otherwise division is exact.

    Raises:
        UnreadableError: an invalid expression, a division by zero, or a result that is not an
            integer.
    """
    return _checked(lambda: evaluate(text, names, _AS_C if floor else _EXACT))


def _checked(evaluated: Callable[[], Any]) -> int:
    try:
        result = evaluated()
    except ZeroDivisionError:
        raise UnreadableError(_SENTENCES["zero"]) from None
    if result.denominator != 1:
        raise UnreadableError(_SENTENCES["broken"])
    return int(result)
