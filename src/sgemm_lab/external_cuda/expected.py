"""Expected values of an array after a launch: arithmetic on arrays, parsed safely, or a file.

"y = 2 * x + y" is an array's name and NumPy arithmetic on the arrays before the launch. Supported
are + - * / // % ** @, comparisons, slices such as ``x[1:]``, ``.T``, and the functions in
``FUNCTIONS``. Nothing is executed as code.
"""

import ast
import math
import re
from collections.abc import Callable, Mapping
from keyword import kwlist
from pathlib import Path
from typing import Any

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.expression import Inner, Meaning, UnreadableError, evaluate
from sgemm_lab.external_cuda.arguments import LARGEST_ARRAY

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
"""Allowed functions. ``reshape(x, M, N)`` takes the shape as numbers; ``axis=`` is allowed.
``convolve(x, mask)`` has the shape of x, padded with zeros."""

_KEPT = {word: f"_{word}" for word in kwlist}
"""Python's keywords and the names that replace them."""


def read_expectation(text: str) -> tuple[str, str]:
    """Split "y = 2 * x" into the array's name and its expected values.

    The name is "" where the text is an expression alone, such as "2 * x" or "sum(x, axis=1)".

    Raises:
        LabError: the right side is missing.
    """
    name, equals, value = text.partition("=")
    named = equals and name.strip().isidentifier() and not value.startswith("=")
    name, value = (name.strip(), value.strip()) if named else ("", text.strip())
    if not value or value.startswith("="):
        raise LabError(f"'{text}' expects nothing. Write it like 'y = 2 * x' or 'y = right.npy'.")
    return name, value


def expected_values(text: str, names: Mapping[str, Any]) -> Any:
    """Evaluate a text. ``names`` are the arrays and numbers before the launch.

    Raises:
        LabError: the text or the file cannot be read, or the result is too large.
    """
    if text.endswith(".npy"):
        return load_array(Path(text))
    # Arrays may have the names of Python keywords, such as "in".
    plain = re.sub(r"\b[A-Za-z_]\w*\b", _as_name, text)
    known = {_KEPT.get(name, name): value for name, value in names.items()}
    try:
        with np.errstate(all="ignore"):
            return np.asarray(evaluate(plain, known, _ON_ARRAYS))
    except LabError:
        raise
    except UnreadableError as fault:
        if fault.part is None:
            raise LabError(f"What is expected is '{text}', {fault}.") from None
        raise LabError(
            f"'{ast.unparse(fault.part)}' is not known in what is expected. "
            f"Known are {', '.join(names)}."
        ) from None
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


def _as_array(number: Any) -> Any:
    """Return a NumPy scalar; a float beyond 2**53, so that no integer overflows."""
    huge = isinstance(number, int) and abs(number) >= 2**53
    return np.float64(number) if huge else np.asarray(number)[()]


def _each(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wrap an elementwise operation; results that are too large raise a LabError."""

    def bounded(one: Any, other: Any) -> Any:
        _bound(np.broadcast_shapes(np.shape(one), np.shape(other)))
        return operation(one, other)

    return bounded


def _multiply_matrices(one: Any, other: Any) -> Any:
    _bound((*np.shape(one)[:-1], *np.shape(other)[1:]))
    return np.matmul(one, other)


def _part(node: ast.AST, inner: Inner) -> Any:
    """``x.T``, ``x[1:]``."""
    match node:
        case ast.Attribute(value=value, attr="T"):
            return np.transpose(inner(value))
        case ast.Subscript(value=value, slice=index):
            return inner(value)[_index(index, inner)]
    return NotImplemented


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


def _call(node: ast.Call, inner: Inner) -> Any:
    if not isinstance(node.func, ast.Name):
        return NotImplemented
    name, arguments = node.func.id, [inner(argument) for argument in node.args]
    if name not in FUNCTIONS:
        raise LabError(f"'{name}' cannot be called there. Known are {', '.join(FUNCTIONS)}.")
    given: dict[str, int] = {}
    for keyword in node.keywords:
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


_ON_ARRAYS = Meaning(
    numbers=(int, float),
    number=_as_array,
    operators={
        ast.USub: np.negative,
        ast.Add: _each(np.add), ast.Sub: _each(np.subtract), ast.Mult: _each(np.multiply),
        ast.Div: _each(np.true_divide), ast.FloorDiv: _each(np.floor_divide),
        ast.Mod: _each(np.mod), ast.MatMult: _multiply_matrices,
        ast.Pow: _each(lambda one, other: np.power(np.asarray(one, "f8"), other)),
        ast.Lt: _each(np.less), ast.LtE: _each(np.less_equal), ast.Gt: _each(np.greater),
        ast.GtE: _each(np.greater_equal), ast.Eq: _each(np.equal), ast.NotEq: _each(np.not_equal),
    },
    call=_call,
    other=_part,
)  # fmt: skip
