"""References in the same file: a function or a kernel that computes what another kernel should.

``softmax_cpu(out, in, N)`` is a reference for ``softmax_kernel(out, in, N)``: the rest of its name
is in the kernel's name, and its parameters are among the kernel's. A host function is compiled as
device code and run in the simulator, where it can be with its outer loops spread over threads:
nothing of the file runs on this machine.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.analysis import arrays_at
from sgemm_lab.external_cuda.arguments import Array, Given, Image, Matrix, named_numbers, whole
from sgemm_lab.external_cuda.launch import (
    SPREAD,
    Arrays,
    ExternalKernel,
    Prepared,
    Settings,
    prepare,
    run,
)
from sgemm_lab.kernel import Size
from sgemm_lab.simulator import Result, TimeLimitError

SECONDS = 10.0
"""Time limit of a reference."""

SPECIAL_SECONDS = 2.0
"""Both run once more, with infinity and NaN, where that takes no longer."""

TOLERANCE = {"half": 2.0**-6, "bfloat16": 2.0**-4, "float": 1e-3, "double": 1e-9}
"""How far a kernel may be off its reference, relative to the larger of 1 and the reference's value:
both round, and in another order."""

Values = npt.NDArray[Any]


class Wrapped(NamedTuple):
    """A text of the file that has a reference as a kernel."""

    text: str
    entry: str
    grid: int | None
    block: int | None
    """Its launch; None for a kernel with a launch of its own."""


@dataclass(frozen=True)
class Reference:
    """A function of the file that computes what a kernel should."""

    name: str
    line: int
    is_kernel: bool
    """Whether it is a ``__global__`` function, with a launch of its own."""
    places: Sequence[int]
    """For each of its parameters the place of the kernel's parameter that it gets."""
    texts: Sequence[Wrapped]
    """The ways to run it, the fastest first."""


@dataclass(frozen=True)
class Compared:
    """How a kernel's arrays compare with those of a reference."""

    reference: Reference
    wrong: Mapping[str, int]
    """Elements that differ, by array; arrays without a difference too."""
    elements: Mapping[str, int]
    """Elements that the reference writes, by array."""
    special: Mapping[str, int]
    """Elements that differ where inputs hold infinity, NaN and -0."""
    certain: bool
    """Whether the reference's own launch is known."""


def references_of(prepared: Prepared) -> list[Reference]:
    """Return the references for a kernel, functions of the host first."""
    return [
        Reference(
            one["name"], one["line"], one["isKernel"], one["places"],
            [Wrapped(**text) for text in one["texts"]],
        )
        for one in prepared.opened.ask("references")
    ]  # fmt: skip


def written_elements(result: Result, name: str, count: int) -> npt.NDArray[np.bool_]:
    """Return which of the ``count`` elements of an array were written."""
    marks = result.watched["written"].get(name)
    if marks is None:
        return np.zeros(count, np.bool_)
    return np.asarray(marks.reshape(count, -1).any(axis=1))


def compare(prepared: Prepared, size: Size, settings: Settings) -> tuple[Compared | None, str]:
    """Run a kernel and the first reference that fits it; or say why none was used.

    Raises:
        LabError: the kernel cannot be run.
    """
    why = ""
    quick = replace(
        settings, check_hazards=False, count_requests=False, progress=None,
        time_limit=min(SECONDS, settings.time_limit / 2),
    )  # fmt: skip
    for reference in references_of(prepared):
        name = reference.name
        try:
            found = _compared_with(prepared, reference, size, quick)
        except LabError as refused:
            why = why or f"{name} (line {reference.line}) was not used as a reference: {refused}"
            continue
        if found is not None:
            return found, ""
        why = why or (
            f"{name} (line {reference.line}) was not used as a reference: it writes other elements "
            "than the kernel."
        )
    return None, why


def _compared_with(
    prepared: Prepared, reference: Reference, size: Size, settings: Settings
) -> Compared | None:
    """Run both on the same arrays; None if the kernel writes elements that the reference does not.

    Raises:
        LabError: one cannot be run, or the reference leaves its arrays.
    """
    names = named_numbers(prepared.given, dict(zip("MNK", size, strict=True)))
    arguments = " ".join(_argument(prepared.given[place], names) for place in reference.places)
    *first, last = reference.texts
    for one in first:
        try:
            return _run_as(one, arguments, prepared, reference, size, settings)
        except TimeLimitError:
            raise  # one thread takes longer still
        except LabError:
            pass  # its iterations depend on each other: one thread runs them in order
    return _run_as(last, arguments, prepared, reference, size, settings)


def _run_as(
    one: Wrapped,
    arguments: str,
    prepared: Prepared,
    reference: Reference,
    size: Size,
    settings: Settings,
) -> Compared | None:
    pasted = replace(prepared.kernel.pasted, text=one.text, entry=one.entry)
    grid, block = (() if side is None else (str(side),) for side in (one.grid, one.block))
    other = prepare(ExternalKernel(pasted, grid, block, arguments=arguments))
    return _compared(prepared, other, reference, size, settings)


def _argument(given: Given, names: Mapping[str, int]) -> str:
    """Write an argument so that it needs no other one's name."""
    if isinstance(given, (Image, Matrix)):
        raise LabError("it takes a texture or a matrix of a product.")
    if isinstance(given, Array):
        size = given.size if given.size.endswith(".npy") else str(given.elements(names))
        start = given.start and str(whole(given.start, names, f"start of {given.name}"))
        return str(replace(given, size=size, start=start))
    return str(given)


def _compared(
    prepared: Prepared, other: Prepared, reference: Reference, size: Size, settings: Settings
) -> Compared | None:
    """Run both on the same arrays; None if the kernel writes elements that the reference does not.

    Raises:
        LabError: one cannot be run, or the reference leaves its arrays.
    """
    begun = time.monotonic()
    start = arrays_at(prepared, size)
    watched = replace(settings, watch=("written",))
    after, of_kernel = run(prepared, size, start, watched)
    watched = replace(
        watched, check_hazards=not reference.is_kernel and other.kernel.grid != ("1",)
    )
    right, result = run(other, size, _of(start, other), watched)
    if result.hazards:
        raise LabError(str(result.hazards[0]))
    wrong: dict[str, int] = {}
    judged: dict[str, npt.NDArray[np.bool_]] = {}
    for name in right:
        count = after[name].size
        own, written = (
            written_elements(of_kernel, name, count),
            written_elements(result, name, count),
        )
        if (own & ~written).any():
            return None
        if prepared.clipped:
            written = own
        if written.any():
            differ = _differ(prepared, name, after[name], right[name])
            wrong[name], judged[name] = int((differ & written).sum()), written
    if not judged:
        return None
    special: dict[str, int] = {}
    if not any(wrong.values()) and time.monotonic() - begun < SPECIAL_SECONDS:
        both = prepared, other, start
        wrong |= _with_other_values(*both, _distinct, judged, size, settings)
        if not any(wrong.values()):
            special = _with_other_values(*both, _special, judged, size, settings)
    elements = {name: int(written.sum()) for name, written in judged.items()}
    return Compared(reference, wrong, elements, special, other.certain)


def _of(start: Arrays, other: Prepared) -> Arrays:
    own = {one.name for one in other.given if isinstance(one, Array)}
    own |= {variable.name for variable in other.variables}
    values = {name: values for name, values in start.values.items() if name in own}
    return Arrays(values, tuple(name for name in start.unwritten if name in own))


def _differ(
    prepared: Prepared,
    name: str,
    got: npt.NDArray[np.generic],
    right: npt.NDArray[np.generic],
) -> npt.NDArray[np.bool_]:
    given = next(g for g in prepared.given if isinstance(g, Array) and g.name == name)
    allowed = TOLERANCE.get(prepared.element(given).name, 0.0)
    one, other = got.ravel().astype("f8"), right.ravel().astype("f8")
    with np.errstate(all="ignore"):
        # What cancels keeps the rounding of its terms, which are as large as other elements.
        finite = np.abs(other[np.isfinite(other)])
        usual = float(np.median(finite)) if finite.size else 0.0
        close = np.abs(one - other) <= allowed * np.maximum(max(1, usual), np.abs(other))
        close &= np.isfinite(other)
    return np.asarray(~((one == other) | (np.isnan(one) & np.isnan(other)) | close))


def _with_other_values(
    prepared: Prepared,
    other: Prepared,
    start: Arrays,
    change: Callable[[Values], Values],
    judged: Mapping[str, npt.NDArray[np.bool_]],
    size: Size,
    settings: Settings,
) -> dict[str, int]:
    """Compare once more, with other values in the arrays of floats that are read."""
    values = dict(start.values)
    for one in prepared.given:
        if isinstance(one, Array) and one.use != "out" and not prepared.element(one).whole:
            values[one.name] = change(values[one.name])
    changed = Arrays(values, start.unwritten)
    try:
        after, _ = run(prepared, size, changed, settings)
        right, _ = run(other, size, _of(changed, other), settings)
    except LabError:
        return {}
    # Whole numbers that floats are rounded to may differ by one.
    real = [one.name for one in prepared.given if isinstance(one, Array)
            if one.name in judged and not prepared.element(one).whole]  # fmt: skip
    found = {
        name: _differ(prepared, name, after[name], right[name]) & judged[name] for name in real
    }
    return {name: int(differ.sum()) for name, differ in found.items() if differ.any()}


def _distinct(values: Values) -> Values:
    """All different, unlike the small whole numbers: a maximum then is in one place alone."""
    numbers = np.random.default_rng(1).permutation(values.size) - values.size // 2
    return (numbers * (2 * SPREAD / values.size)).reshape(values.shape)


def _special(values: Values) -> Values:
    """With infinity, NaN and -0."""
    mixed = values.copy()
    mixed.ravel()[[mixed.size // 3, mixed.size // 2, mixed.size - 1]] = np.inf, np.nan, -0.0
    return mixed
