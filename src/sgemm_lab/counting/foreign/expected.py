"""What an array should hold after a launch: arithmetic on arrays, read safely, or a file.

"y = 2 * x + y" names an array and NumPy's arithmetic on the arrays as they were before the launch.
Known are + - * / // % ** @, comparisons, slices such as ``x[1:]``, ``.T``, and the functions in
``FUNCTIONS``. Nothing is run as code.
"""

import ast
import math
import re
from collections.abc import Callable, Mapping
from keyword import kwlist
from pathlib import Path
from typing import Any

import numpy as np

from sgemm_lab.counting.foreign.arguments import LARGEST_ARRAY
from sgemm_lab.errors import LabError
from sgemm_lab.expression import DEEPEST

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos,
    "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "round": np.round, "sign": np.sign,
    "minimum": np.minimum, "maximum": np.maximum, "where": np.where, "isnan": np.isnan,
    "sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "mean": np.mean, "var": np.var,
    "cumsum": np.cumsum, "sort": np.sort, "argmax": np.argmax, "argmin": np.argmin,
    "convolve": lambda x, y: np.convolve(np.ravel(x), np.ravel(y), "same"),
    "dot": np.dot, "transpose": np.transpose, "flip": np.flip, "roll": np.roll, "ravel": np.ravel,
    "reshape": lambda x, *shape: np.reshape(x, [int(n) for n in shape]),
    "histogram": lambda x, bins: np.bincount(np.asarray(x, "i8").ravel() % bins, minlength=bins),
}  # fmt: skip
"""What may be called. ``reshape(x, M, N)`` takes the shape as numbers; ``axis=`` may be given.
``convolve(x, mask)`` has as many numbers as x, with zeros around it."""

_KEPT = {word: f"_{word}" for word in kwlist}
"""Words that Python keeps for itself, and the names that stand for them here."""

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide, ast.Mod: np.mod, ast.Pow: np.power, ast.MatMult: np.matmul,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal,
    ast.Eq: np.equal, ast.NotEq: np.not_equal,
}  # fmt: skip


def read_expectation(text: str) -> tuple[str, str]:
    """Split "y = 2 * x" into the array's name and what it should hold.

    Raises:
        LabError: there is no name, or nothing behind it.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier() or not value.strip():
        raise LabError(f"'{text}' expects nothing. Write it like 'y = 2 * x' or 'y = right.npy'.")
    return name.strip(), value.strip()


def expected_values(text: str, names: Mapping[str, Any]) -> Any:
    """Return the array that a text stands for. ``names`` are arrays and numbers, before the launch.

    Raises:
        LabError: the text or the file cannot be read, or it asks for too much.
    """
    if text.endswith(".npy"):
        return load_array(Path(text))
    # Arrays may be called "in" or "lambda", which Python keeps for itself.
    plain = re.sub(r"\b[A-Za-z_]\w*\b", _as_name, text)
    try:
        tree = ast.parse(plain, mode="eval").body
        with np.errstate(all="ignore"):
            return np.asarray(_value(tree, {_KEPT.get(n, n): v for n, v in names.items()}, 0))
    except LabError:
        raise
    except (SyntaxError, RecursionError, MemoryError):
        raise LabError(f"'{text}' is no arithmetic on arrays.") from None
    except (ValueError, TypeError, IndexError, ArithmeticError) as fault:
        raise LabError(f"'{text}' cannot be worked out: {fault}.") from None


def _as_name(word: "re.Match[str]") -> str:
    return _KEPT.get(word[0], word[0])


def load_array(path: Path) -> Any:
    """Return the array of numbers in a ``.npy`` file.

    Raises:
        LabError: it cannot be read, holds no numbers, or is too large.
    """
    try:
        found = np.load(path, allow_pickle=False, mmap_mode="r")
    except (OSError, ValueError, EOFError) as fault:
        raise LabError(f"The file {path} cannot be read as an array: {fault}.") from None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub":
        raise LabError(f"The file {path} holds no array of numbers.")
    _bound(found.shape)
    return np.array(found)


def _value(node: ast.AST, names: Mapping[str, Any], depth: int) -> Any:
    if depth > DEEPEST:
        raise LabError("What is expected has too many brackets.")

    def inner(part: ast.AST) -> Any:
        return _value(part, names, depth + 1)

    match node:
        case ast.Constant(value=int(number) | float(number)) if not isinstance(number, bool):
            return np.float64(number) if abs(number) >= 2**53 else np.asarray(number)[()]
        case ast.Name(id=name) if name in names:
            return np.asarray(names[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return np.negative(inner(operand))
        case ast.BinOp(left=left, op=operator, right=right):
            return _binary(operator, inner(left), inner(right))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            one, other = inner(left), inner(right)
            _bound(np.broadcast_shapes(np.shape(one), np.shape(other)))
            if type(operator) in _COMPARISONS:
                return _COMPARISONS[type(operator)](one, other)
        case ast.Attribute(value=value, attr="T"):
            return np.transpose(inner(value))
        case ast.Subscript(value=value, slice=index):
            return inner(value)[_index(index, inner)]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            return _call(name, [inner(a) for a in arguments], keywords)
    known = ", ".join(names)
    raise LabError(f"'{ast.unparse(node)}' is not known in what is expected. Known are {known}.")


def _binary(operator: ast.operator, one: Any, other: Any) -> Any:
    if isinstance(operator, ast.MatMult):
        _bound((*np.shape(one)[:-1], *np.shape(other)[1:]))
    else:
        _bound(np.broadcast_shapes(np.shape(one), np.shape(other)))
    if isinstance(operator, ast.Pow):
        one = np.asarray(one, "f8")
    if type(operator) not in _OPERATORS:
        raise LabError("What is expected has an operator that is not known.")
    return _OPERATORS[type(operator)](one, other)


def _index(node: ast.AST, inner: Callable[[ast.AST], Any]) -> Any:
    match node:
        case ast.Tuple(elts=parts):
            return tuple(_index(part, inner) for part in parts)
        case ast.Slice(lower=lower, upper=upper, step=step):
            ends = [None if end is None else int(inner(end)) for end in (lower, upper, step)]
            return slice(*ends)
        case ast.Constant(value=None):
            return None
    found = inner(node)
    return int(found) if np.ndim(found) == 0 else np.asarray(found)


def _call(name: str, arguments: list[Any], keywords: list[ast.keyword]) -> Any:
    if name not in FUNCTIONS:
        raise LabError(f"'{name}' cannot be called there. Known are {', '.join(FUNCTIONS)}.")
    given: dict[str, int] = {}
    for keyword in keywords:
        if keyword.arg != "axis" or not isinstance(keyword.value, ast.Constant):
            raise LabError(f"Of the settings of '{name}' only axis=0, axis=1, … is known.")
        given["axis"] = int(keyword.value.value)  # type: ignore[arg-type]
    if name in ("minimum", "maximum", "where"):
        _bound(np.broadcast_shapes(*(np.shape(a) for a in arguments)))
    if name == "histogram" and len(arguments) == 2:
        _bound((int(arguments[1]),))
    if name == "dot":
        _bound((np.size(arguments[0]),))
    return FUNCTIONS[name](*arguments, **given)


def _bound(shape: tuple[int, ...]) -> None:
    if math.prod(shape) > LARGEST_ARRAY:
        raise LabError(f"What is expected would have more than {LARGEST_ARRAY:,} elements.")
