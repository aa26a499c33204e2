"""Arithmetic written as text, such as ``ceil(N / BN)``: read safely, never run as code."""

import ast
import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil
from pathlib import Path

DEEPEST = 50
"""Brackets in brackets beyond this are refused, before they exhaust the reader's stack."""

_SENTENCES: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""What is wrong with a text; ``expression.js`` says the same."""


class UnreadableError(ValueError):
    """The text is not such arithmetic. The message continues a sentence that quotes the text."""


def whole_number(text: str, names: Mapping[str, int], *, floor: bool = False) -> int:
    """Return the whole number that an expression stands for.

    Known are whole numbers, ``names``, + - * /, ``ceil(x)``, ``min(x, y)``, ``max(x, y)`` and
    brackets. With ``floor`` a division drops the rest, as in C; without, it is exact.

    Raises:
        UnreadableError: something else stands there, it divides by zero, or it is no whole number.
    """

    def value(node: ast.AST, depth: int = 0) -> Fraction:
        if depth > DEEPEST:
            raise UnreadableError(_SENTENCES["deep"])

        def inner(part: ast.AST) -> Fraction:
            return value(part, depth + 1)

        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return Fraction(number)
            case ast.Name(id=name) if name in names:
                return Fraction(names[name])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -inner(operand)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return inner(left) + inner(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return inner(left) - inner(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return inner(left) * inner(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                quotient = inner(left) / inner(right)
                return Fraction(int(quotient)) if floor else quotient
            case ast.Call(func=ast.Name(id="ceil"), args=[argument], keywords=[]):
                return Fraction(ceil(inner(argument)))
            case ast.Call(func=ast.Name(id="min"), args=[one, other], keywords=[]):
                return min(inner(one), inner(other))
            case ast.Call(func=ast.Name(id="max"), args=[one, other], keywords=[]):
                return max(inner(one), inner(other))
        raise UnreadableError(_SENTENCES["other"].format(names=", ".join(names)))

    try:
        result = value(_parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError(_SENTENCES["unreadable"]) from None
    except ZeroDivisionError:
        raise UnreadableError(_SENTENCES["zero"]) from None
    if result.denominator != 1:
        raise UnreadableError(_SENTENCES["broken"])
    return int(result)


@lru_cache(maxsize=256)
def _parse(text: str) -> ast.AST:
    return ast.parse(text, mode="eval").body
