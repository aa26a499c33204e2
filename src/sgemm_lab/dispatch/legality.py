"""Which constants can work: a kernel's own ``static_assert``s, read without the compiler.

A search asks for thousands of combinations. The compiler would need a second for each; the
assertions of a kernel are arithmetic over its constants, and say at once what is wrong, in the
kernel's own sentence.
"""

import ast
import re
from collections.abc import Mapping
from functools import lru_cache

from sgemm_lab.kernel import Kernel

_CONSTANT = re.compile(r"^constexpr int (\w+) = ([^;]+);", re.M)
_ASSERTION = re.compile(r'^static_assert\((.+?),\s*"([^"]+)"\);', re.M | re.S)


def refusal(kernel: Kernel) -> str | None:
    """Return the sentence of the first assertion that the kernel's constants break, or None.

    An assertion that is more than arithmetic is left to the compiler.
    """
    values = _values(kernel.source)
    for condition, sentence in _ASSERTION.findall(kernel.source):
        if _value(condition, values) == 0:
            return str(sentence)
    return None


def _values(source: str) -> dict[str, int]:
    """Return every constant by name, those that follow from others too."""
    values: dict[str, int] = {}
    for name, text in _CONSTANT.findall(source):
        value = _value(text, values)
        if value is not None:
            values[name] = value
    return values


def _value(text: str, values: Mapping[str, int]) -> int | None:
    """Return the whole number that C makes of an expression, truth as 1; None if unreadable."""
    try:
        return _evaluate(_parse(" ".join(text.split())), values)
    except (SyntaxError, KeyError, TypeError, ZeroDivisionError):
        return None


@lru_cache(maxsize=1024)
def _parse(text: str) -> ast.expr:
    python = text.replace("&&", " and ").replace("||", " or ")
    python = re.sub(r"!(?!=)", " not ", python)
    return ast.parse(python.strip(), mode="eval").body


def _evaluate(node: ast.expr, values: Mapping[str, int]) -> int:
    """Evaluate as C does: whole numbers of 0 or more, so division drops the rest.

    Raises:
        KeyError: a name has no value.
        TypeError: something else than arithmetic and comparison stands there.
    """
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.BoolOp(op=ast.And(), values=parts):
            return int(all(_evaluate(part, values) for part in parts))
        case ast.BoolOp(op=ast.Or(), values=parts):
            return int(any(_evaluate(part, values) for part in parts))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return int(not _evaluate(operand, values))
        case ast.BinOp(left=left, op=operation, right=right):
            return _calculate(operation, _evaluate(left, values), _evaluate(right, values))
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            return _compare(comparison, _evaluate(left, values), _evaluate(right, values))
    raise TypeError(ast.dump(node))


def _calculate(operation: ast.operator, left: int, right: int) -> int:
    match operation:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left // right
        case ast.Mod():
            return left % right
        case ast.BitAnd():
            return left & right
    raise TypeError(ast.dump(operation))


def _compare(comparison: ast.cmpop, left: int, right: int) -> int:
    match comparison:
        case ast.Eq():
            return int(left == right)
        case ast.NotEq():
            return int(left != right)
        case ast.Lt():
            return int(left < right)
        case ast.LtE():
            return int(left <= right)
        case ast.Gt():
            return int(left > right)
        case ast.GtE():
            return int(left >= right)
    raise TypeError(ast.dump(comparison))
