"""Likely causes of a wrong product; each is verified before it is reported."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.arguments import Given, Matrix, Number
from sgemm_lab.external_cuda.launch import Arrays, Prepared, Settings, Values, run
from sgemm_lab.kernel import Size

SECONDS = 10.0
"""How long other arguments are tried."""

_TRY_SECONDS = 3.0
"""How long one launch with other arguments may take."""


def product(prepared: Prepared, arrays: Arrays) -> Values:
    """Return alpha·A·B + beta·C in float64, from what the launch started with."""
    alpha, beta = prepared.factors
    a, b = (arrays.values[name].astype("f8") for name in "AB")
    right: Values = alpha * (a @ b)
    return right + beta * arrays.values["C"] if beta else right


def wrong_elements(prepared: Prepared, got: Values, right: Values) -> npt.NDArray[np.bool_]:
    """Mark what differs from the right numbers, as C can hold them."""
    element = prepared.element(next(g for g in prepared.given if _role(g) == "C"))
    held = element.unpack(element.pack(right))
    different: npt.NDArray[np.bool_] = ~(got == held)
    return different


def likely_cause(
    prepared: Prepared, size: Size, arrays: Arrays, got: Values, settings: Settings
) -> str:
    """Say why C (M×N) is wrong, where a usual cause explains all of it; "" where none does."""
    wrong = wrong_elements(prepared, got, product(prepared, arrays))
    begun = arrays.values["C"]
    # C may begin with NaN; one that the kernel computes has other bits.
    untouched = (got == begun) | (np.isnan(got) & (_bits(got) == _bits(begun)))
    return (
        _grid(wrong, untouched)
        or _factors(prepared, arrays, got)
        or _layout(prepared, arrays, got)
        or _other_arguments(prepared, size, arrays, settings)
        or _untouched(untouched)
    )


def _bits(values: Values) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(values, np.float64).view(np.int64)


def _grid(wrong: Values, untouched: Values) -> str:
    """All that was written is right, and it is the upper left of C."""
    if not (wrong == untouched).all() or untouched.all():
        return ""
    rows, columns = (int((~untouched).any(axis=axis).sum()) for axis in (1, 0))
    m, n = untouched.shape
    leading = not untouched[:rows, :columns].any()
    if leading and rows * columns == int((~untouched).sum()):
        return (
            f"Only the first {rows} rows and {columns} columns of {m} × {n} were written, and "
            "those are right: the grid is too small, or x and y are exchanged in it."
        )
    return (
        f"{int(untouched.sum()):,} elements were never written; all others are right. "
        "Look at the grid, and at the condition before the store."
    )


def _untouched(untouched: Values) -> str:
    if untouched.all():
        return "Nothing was written to C. Look at the grid and at the order of the arguments."
    return ""


def _factors(prepared: Prepared, arrays: Arrays, got: Values) -> str:
    """C is right without alpha or beta."""
    alpha, beta = prepared.factors
    a, b, c = (arrays.values[name].astype("f8") for name in "ABC")
    for name, right in (
        ("beta", alpha * (a @ b)),
        ("alpha", a @ b + (beta * c if beta else 0)),
        ("alpha and beta", a @ b),
    ):
        if not wrong_elements(prepared, got, right).any():
            return f"C is right without {name}: C = alpha·A·B + beta·C is asked for."
    return ""


def _layout(prepared: Prepared, arrays: Arrays, got: Values) -> str:
    """C is right if some matrices lie by columns."""
    alpha, beta = prepared.factors
    if beta:
        return ""
    a, b = (arrays.values[name].astype("f8") for name in "AB")
    for turned in _turns():
        one, other, made = (
            _turned(values) if name in turned else values
            for name, values in (("A", a), ("B", b), ("C", got))
        )
        if not wrong_elements(prepared, made, alpha * (one @ other)).any():
            names = " and ".join(turned)
            lie = "lies" if len(turned) == 1 else "lie"
            given = _written(prepared.given, turned)
            return f"C is right if {names} {lie} by columns: --args '{given}'."
    return ""


def _turns() -> Iterator[tuple[str, ...]]:
    for count in (3, 1, 2):
        yield from itertools.combinations("ABC", count)


def _turned(values: Values) -> Values:
    """Reinterpret the memory of a row-major matrix as column-major, or vice versa."""
    rows, columns = values.shape
    return values.ravel().reshape(columns, rows).T


def _role(given: Given) -> str:
    return given.role if isinstance(given, Matrix) else ""


def _written(given: tuple[Given, ...], turned: tuple[str, ...] = ()) -> str:
    return " ".join(
        str(replace(one, by_columns=not one.by_columns))
        if isinstance(one, Matrix) and one.role in turned
        else str(one)
        for one in given
    )


def _other_arguments(prepared: Prepared, size: Size, arrays: Arrays, settings: Settings) -> str:
    """C is right with the arguments in another order."""
    quick = replace(
        settings,
        check_hazards=False,
        count_requests=False,
        time_limit=min(_TRY_SECONDS, settings.time_limit),
        progress=None,
    )
    end = time.monotonic() + SECONDS
    for given in _candidates(prepared, size):
        if time.monotonic() > end:
            break
        other = replace(prepared, given=given)
        start = _start(other, arrays)
        try:
            got, _ = run(other, size, start, quick)
        except LabError:
            continue
        if not wrong_elements(other, got["C"], product(other, start)).any():
            zero = next((g for g in given if isinstance(g, Matrix) and g.zero), None)
            why = "the kernel adds to what C holds, so C must start with zeros" if zero else ""
            why = why or "the arguments stand in another order"
            return f"C is right if {why}: --args '{_written(given)}'."
    return ""


def _start(other: Prepared, arrays: Arrays) -> Arrays:
    zero = any(isinstance(g, Matrix) and g.zero for g in other.given)
    if not zero:
        return arrays
    values = {**arrays.values, "C": np.zeros_like(arrays.values["C"])}
    return Arrays(values, tuple(name for name in arrays.unwritten if name != "C"))


def _candidates(prepared: Prepared, size: Size) -> Iterator[tuple[Given, ...]]:
    """Other orders of the arguments: the nearest first, each once."""
    given = prepared.given
    seen = {_written(given)}
    matrices = [one for one in given if isinstance(one, Matrix)]
    sizes = [one for one in given if isinstance(one, Number) and one.text in "MNK"]
    by_columns = prepared.signature.by_columns
    tries: list[tuple[Given, ...]] = []
    if not prepared.has_beta:
        tries.append(
            tuple(
                replace(one, zero=True) if isinstance(one, Matrix) and one.role == "C" else one
                for one in given
            )
        )
    if by_columns is not None and not any(m.by_columns for m in matrices):
        tries.append(by_columns)
    orders_of_sizes: list[Any] = list(itertools.permutations(sizes))
    if len(set(size)) == 1:
        orders_of_sizes = orders_of_sizes[:1]
    pairs = itertools.product(itertools.permutations(matrices), orders_of_sizes)
    for some, others in sorted(
        pairs, key=lambda pair: (list(pair[0]) != matrices) + (list(pair[1]) != sizes)
    ):
        left = {"matrix": list(some), "size": list(others)}
        tries.append(
            tuple(
                left["matrix"].pop(0)
                if one in matrices
                else left["size"].pop(0)
                if one in sizes
                else one
                for one in given
            )
        )
    for one in tries:
        if _written(one) not in seen:
            seen.add(_written(one))
            yield one
