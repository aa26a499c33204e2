"""References in the same file: a function or a kernel that computes what another kernel should.

``softmax_cpu(out, in, N)`` is a reference for ``softmax_kernel(out, in, N)``: the rest of its name
is in the kernel's name, and its parameters are among the kernel's. A host function is compiled as
device code and run in the simulator, where it can be with its outer loops spread over threads:
nothing of the file runs on this machine.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.analysis import arrays_at
from sgemm_lab.external_cuda.arguments import Array, Given, Image, Matrix, named_numbers, whole
from sgemm_lab.external_cuda.device_code import is_host_code
from sgemm_lab.external_cuda.kernels import FoundKernel, function_of, kernels_of, parameter_tokens
from sgemm_lab.external_cuda.launch import (
    SPREAD,
    Arrays,
    ExternalKernel,
    Prepared,
    Settings,
    prepare,
    run,
)
from sgemm_lab.external_cuda.parallel_loops import BLOCKS, THREADS, spread
from sgemm_lab.external_cuda.signatures import plain
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

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_LISTS = json.loads(Path(__file__).with_name("reference_words.json").read_text(encoding="utf-8"))
_OF_REFERENCES = frozenset(_LISTS["references"])
_OF_NO_MEANING = frozenset(_LISTS["meaningless"])
_WRAPPER = "lab_reference"


@dataclass(frozen=True)
class Reference:
    """A function of the file that computes what a kernel should."""

    function: FoundKernel
    line: int

    @property
    def is_kernel(self) -> bool:
        """Whether it is a ``__global__`` function, with a launch of its own."""
        return self.function.declaration.is_kernel


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
    opened = prepared.opened
    wanted = _meaning(opened.kernel.name)
    own_is_reference = _is_reference(opened.kernel.name)
    found = []
    for function in _functions(prepared):
        meaning = _meaning(function.name)
        if function.name == opened.kernel.name or not _is_reference(function.name):
            continue
        if function.declaration.is_kernel and own_is_reference:
            continue
        if meaning <= wanted and _places(function, prepared) is not None:
            declaration = function.declaration
            line = opened.sources.line_of(declaration, declaration.tokens[0])
            # The most telling name first: softmax_online_cpu before softmax_cpu.
            found.append((function.declaration.is_kernel, -len(meaning), line, function))
    return [Reference(function, line) for *_, line, function in sorted(found, key=lambda f: f[:3])]


def _functions(prepared: Prepared) -> Iterator[FoundKernel]:
    """The functions of the file that may be references: kernels, and host code without calls."""
    sources = prepared.opened.sources
    for d in sources.files[0].declarations:
        host = d.kind == "function" and d.has_body and not d.marks
        if host and not is_host_code(d) and d.head[0].text != "template":
            yield function_of(d)
    yield from (
        k for k in kernels_of(sources) if k.of_file and k.declaration.has_body and not k.template
    )


def _is_reference(name: str) -> bool:
    return bool(_OF_REFERENCES & _words(name))


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(name.rpartition("::")[2])}


def _meaning(name: str) -> set[str]:
    """What a name says besides that it is a kernel, a reference or a version."""
    words = {word for word in _words(name) if not word.isdecimal()}
    return words - _OF_REFERENCES - _OF_NO_MEANING


def _places(function: FoundKernel, prepared: Prepared) -> list[int] | None:
    """For each parameter of a function the place of the kernel's parameter that it gets.

    None where one has no such parameter, or points to elements of another type.
    """
    own = function.parameters
    if not any(p.pointer and not p.const for p in own):
        return None
    theirs = [p.declared for p in prepared.parameters]
    places = _by_name([p.name for p in own], [p.name for p in theirs])
    if places is None:
        if [(p.pointer, p.type) for p in own] != [(p.pointer, p.type) for p in theirs]:
            return None
        places = list(range(len(own)))
    same = (
        p.pointer == theirs[place].pointer
        and (not p.pointer or prepared.resolve(p.type) == prepared.parameters[place].element)
        for p, place in zip(own, places, strict=True)
    )
    return places if all(same) else None


def _by_name(names: Sequence[str], others: Sequence[str]) -> list[int] | None:
    known = [plain(name) for name in others]
    places = [known.index(plain(name)) if plain(name) in known else -1 for name in names]
    return places if -1 not in places and len(set(places)) == len(places) else None


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
        name = reference.function.name
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
    function, pasted = reference.function, prepared.kernel.pasted
    if reference.is_kernel:
        other = ExternalKernel(
            replace(pasted, entry=function.name), arguments=_arguments(prepared, reference, size)
        )
        return _compared(prepared, prepare(other), reference, size, settings)
    own = function.declaration
    parallel = spread(own, pasted.text)
    if parallel is not None:
        text = pasted.text[: own.start] + parallel + pasted.text[own.end :]
        launch = (str(BLOCKS),), (str(THREADS),)
        try:
            other = _wrapped(prepared, reference, size, text, *launch)
            return _compared(prepared, prepare(other), reference, size, settings)
        except TimeLimitError:
            raise  # one thread takes longer still
        except LabError:
            pass  # its iterations depend on each other: one thread runs them in order
    other = _wrapped(prepared, reference, size, pasted.text, ("1",), ("1",))
    return _compared(prepared, prepare(other), reference, size, settings)


def _wrapped(
    prepared: Prepared,
    reference: Reference,
    size: Size,
    text: str,
    grid: tuple[str, ...],
    block: tuple[str, ...],
) -> ExternalKernel:
    """Return a kernel that calls a function of the host, with the arguments of the kernel."""
    function = reference.function
    types = []
    for parameter in parameter_tokens(function.declaration):
        texts = [token.text for token in parameter]
        types.append(" ".join(texts[: texts.index("=")] if "=" in texts else texts))
    names = ", ".join(parameter.name for parameter in function.parameters)
    call = f"{function.name}({names});"
    text += f"\n__global__ void {_WRAPPER}({', '.join(types)}) {{ {call} }}\n"
    pasted = replace(prepared.kernel.pasted, text=text, entry=_WRAPPER)
    return ExternalKernel(pasted, grid, block, arguments=_arguments(prepared, reference, size))


def _arguments(prepared: Prepared, reference: Reference, size: Size) -> str:
    """Return the arguments of a reference, out of those of the kernel.

    Raises:
        LabError: one is a texture or a matrix.
    """
    places = _places(reference.function, prepared)
    assert places is not None
    names = named_numbers(prepared.given, dict(zip("MNK", size, strict=True)))
    return " ".join(_argument(prepared.given[place], names) for place in places)


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
    watched = replace(watched, check_hazards=other.kernel.grid == (str(BLOCKS),))
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
