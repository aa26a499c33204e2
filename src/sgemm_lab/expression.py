"""Safe evaluation of arithmetic expressions such as ``ceil(N / BN)``."""

import ast
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any

DEEPEST = 50
"""Maximum nesting depth, to limit the recursion."""

_SENTENCES: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""Error messages, shared with ``expression.ts``."""


_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "({} + {})",
    ast.Sub: "({} - {})",
    ast.Mult: "({} * {})",
    ast.Div: "_Fraction({}, {})",
}
"""Operators by node class, and the Python that they become."""


class UnreadableError(ValueError):
    """An invalid expression. The message continues a sentence that quotes the text."""


def compiled(
    text: str, constants: Mapping[str, int], variables: tuple[str, ...]
) -> Callable[..., int]:
    """Return the integer that an expression gives as a function of some of its names.

    It takes the variables as positional arguments and does not parse the text again. Allowed are
    integers, names, + - * /, ``ceil(x)``, ``min(x, y)``, ``max(x, y)``, brackets.

    Raises:
        UnreadableError: an invalid expression; from the function also a division by zero, or a
            result that is not an integer.
    """
    names = {**constants, **{name: f"_{place}" for place, name in enumerate(variables)}}
    arguments = ", ".join(f"_{place}" for place in range(len(variables)))
    # The code holds nothing but integers, the variables, arithmetic and these functions.
    code = f"lambda {arguments}: {_code(_parse(text), names)}"
    function = eval(code, {"__builtins__": {}, **_FUNCTIONS})

    def whole(*values: int) -> int:
        try:
            result = function(*values)
        except ZeroDivisionError:
            raise UnreadableError(_SENTENCES["zero"]) from None
        if result.denominator != 1:
            raise UnreadableError(_SENTENCES["broken"])
        return int(result)

    return whole


@lru_cache(maxsize=1024)
def _parse(text: str) -> ast.AST | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_FUNCTIONS = {"_ceil": ceil, "_min": min, "_max": max, "_Fraction": Fraction}


def _code(node: ast.AST | None, names: Mapping[str, Any], depth: int = 0) -> str:
    """Translate an expression to Python."""
    if depth > DEEPEST:
        raise UnreadableError(_SENTENCES["deep"])

    def inner(part: ast.AST) -> str:
        return _code(part, names, depth + 1)

    match node:
        case ast.Constant(value=number) if type(number) is int:
            return f"({number})"
        case ast.Name(id=name) if name in names:
            return f"({names[name]})"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"(-{inner(operand)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)].format(inner(left), inner(right))
        # Floor division is exact, so a quotient that is rounded up needs no fraction.
        case ast.Call(
            func=ast.Name(id="ceil"), args=[ast.BinOp(left=left, op=ast.Div(), right=right)]
        ) if not node.keywords:
            return f"(-(-{inner(left)} // {inner(right)}))"
        case ast.Call(func=ast.Name(id="ceil"), args=[argument], keywords=[]):
            return f"_ceil({inner(argument)})"
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[one, other], keywords=[]):
            return f"_{name}({inner(one)}, {inner(other)})"
    raise UnreadableError(_SENTENCES["other"].format(names=", ".join(names)))
