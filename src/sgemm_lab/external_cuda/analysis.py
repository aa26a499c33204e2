"""Simulate one kernel of an external CUDA file, count its memory requests and check its result.

Such a file has no head comment. Launch and arguments come from the caller, from the file's host
code, or, for a matrix product, from the parameters' names and types.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.counting.launch_limits import check_size
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.arguments import Array, Matrix, Number, called, named_numbers
from sgemm_lab.external_cuda.assumed_launch import Try, further_tries, tries
from sgemm_lab.external_cuda.contents import other_contents, with_empty_rows
from sgemm_lab.external_cuda.elements import Element
from sgemm_lab.external_cuda.expected import expected_values, read_expectation
from sgemm_lab.external_cuda.launch import (
    Arrays,
    ExternalKernel,
    NoLaunchError,
    Prepared,
    Settings,
    UnknownLaunchError,
    block_is_free,
    own_arrays,
    prepare,
    run,
    shape_at,
)
from sgemm_lab.external_cuda.launch_search import SECONDS, launch_by_trial
from sgemm_lab.external_cuda.likely_causes import likely_cause, product, wrong_elements
from sgemm_lab.external_cuda.severity import severity_of
from sgemm_lab.kernel import Size
from sgemm_lab.simulator import DeadlockError, EndlessLoopError, Hazard, Location, Result
from sgemm_lab.simulator.hazards import OUT_OF_BOUNDS, RACE, UNSET
from sgemm_lab.text import size_text

SIGMAS = 6
"""Sums of this many standard deviations still fit exactly into the elements of C."""

NOT_RIGHT = "No launch that was tried makes C right, so C was not judged. "

SAME_VALUE = "All write the same value, so any order will do."

NOT_JUDGED = "The result was not judged, for nothing was expected of an array."

TRY_SECONDS, CLIPPED_SECONDS, TRIES_SECONDS = 4.0, 10.0, 20.0
"""Time limits of one assumed launch; of the file's own, or a few of its blocks; of all."""

TOLERANCE = {"half": 2.0**-9, "bfloat16": 2.0**-6, "float": 1e-5, "double": 1e-12}
"""Default tolerance of an element, relative to the larger of 1 and the expected value."""


class NeverEndsError(LabError):
    """A launch that never ends."""

    def __init__(self, prepared: Prepared, reason: EndlessLoopError | DeadlockError) -> None:
        super().__init__(str(reason))
        self.prepared = prepared
        self.location = reason.location


@dataclass(frozen=True)
class Verdict:
    """How one array after a launch compares with its expected values."""

    name: str
    wrong: int
    elements: int
    max_abs_error: float
    """The largest difference; infinite where an element is not a number."""


@dataclass(frozen=True)
class ExternalRun:
    """One simulated launch of an external kernel: counts and verdicts."""

    prepared: Prepared
    size: Size
    result: Result
    verdicts: tuple[Verdict, ...]
    """One per checked array; empty if no result was expected."""
    changed: tuple[str, ...]
    """Input arrays that the kernel overwrote."""
    cause: str
    """The likely cause of a wrong C, in a sentence; "" if none is known or a hazard or a warning
    about an uninitialised variable explains more."""
    after: Mapping[str, npt.NDArray[Any]]
    """All arrays after the launch, by name."""
    before: Mapping[str, npt.NDArray[Any]]
    """All arrays before it."""
    harmless: tuple[Hazard, ...] = ()
    """Races of threads that write the same value; they are not among the hazards."""
    further: tuple["ExternalRun", ...] = ()
    """Other launches of the file, and its outer blocks at its own sizes."""
    settled: tuple[Hazard, ...] = ()
    """Of such a launch the hazards that do not depend on what arrays of integers hold."""

    @property
    def wrong(self) -> bool:
        """Whether any array is wrong."""
        return any(verdict.wrong for verdict in self.verdicts) or bool(self.changed)

    @property
    def untouched(self) -> bool:
        """Whether an element of C still holds what it held before the launch."""
        if "C" not in self.before:
            return False
        begun, after = (np.ascontiguousarray(one["C"], "f8") for one in (self.before, self.after))
        return bool((begun.view("i8") == after.view("i8")).any())

    @property
    def errors(self) -> list[Hazard]:
        """The hazards that do not rest on an assumption."""
        return [one for one in self.result.hazards if severity_of(one, self.prepared) == "error"]

    @property
    def would_happen(self) -> list[Hazard]:
        """The hazards that another launch than the assumed one need not have."""
        return [one for one in self.result.hazards if severity_of(one, self.prepared) != "error"]

    def findings(self) -> list[str]:
        """Return a sentence for each hazard and warning; what was assumed is named."""
        would = [f"Would happen with the assumed launch: {one}" for one in self.would_happen]
        information = [f"Information: {one} {SAME_VALUE}" for one in self.harmless]
        return [*map(str, self.errors), *would, *map(str, self.result.warnings), *information]

    def sentences(self) -> list[str]:
        """Return what was left out and assumed, what is right or wrong, and why."""
        prepared = self.prepared
        said = [*prepared.opened.notes, *(v.note for v in prepared.variables if v.note)]
        if prepared.given and not prepared.arguments_given and not prepared.argued:
            given = " ".join(map(str, prepared.given))
            said.append(f"Arguments, told by their names and types: {given}.")
        said += self.assumed()
        shape = shape_at(prepared, self.size)
        host = prepared.host_launch
        if host is not None:
            grid, block = (" × ".join(map(str, part)) for part in (shape.grid, shape.block))
            said.append(
                f"Launch, told by line {host.line}: a grid of {grid} blocks of {block} threads."
            )
        if shape.shared_assumed:
            said.append(
                f"Dynamic shared memory, assumed: {shape.shared_bytes:,} bytes, as many as a block "
                "can have. Say --shared-bytes where they are fewer."
            )
        for v in self.verdicts:
            product_of = v.name == "C" and prepared.multiplies
            right = "the exact product" if product_of else "what is expected"
            if v.wrong:
                count = f"{v.wrong:,} of {v.elements:,} elements"
                said.append(f"{v.name} is WRONG: {count} differ from {right}.")
            else:
                of = f" of {size_text(self.size)}" if product_of else ""
                said.append(f"{v.name} is right: all {v.elements:,} elements{of} equal {right}.")
        if self.cause:
            said.append(self.cause)
        said += [f"It changed {name}, which it may only read." for name in self.changed]
        if not self.verdicts:
            said.append(NOT_JUDGED)
        if self.verdicts and not self.wrong and self._hides_an_exchange:
            side = self.size[0]
            other = size_text((side, 2 * side, max(1, side // 2)))
            said.append(
                "M, N and K are equal here, so that mistaking one for another does not show. "
                f"Try {other} too."
            )
        return said

    def assumed(self) -> list[str]:
        """Return what was assumed about arguments and launch, or read from the host code."""
        return [text for text in (self.prepared.argued, self.prepared.assumed) if text]

    @property
    def _hides_an_exchange(self) -> bool:
        prepared = self.prepared
        return prepared.multiplies and prepared.sizes > 1 and len(set(self.size)) == 1


def count_external(
    kernel: ExternalKernel,
    size: Size,
    *,
    expect: tuple[str, ...] = (),
    tolerance: float | None = None,
    settings: Settings | None = None,
) -> ExternalRun:
    """Simulate one launch and check C = alpha·A·B + beta·C or the expected arrays.

    Matrices and arrays hold small integers, so their product is exact.

    Args:
        kernel: which kernel, and how it is launched.
        size: M, N and K.
        expect: expected arrays, such as "y = 2 * x".
        tolerance: their tolerance, relative to the larger of 1 and the expected value; None for
            ``TOLERANCE`` of their type.
        settings: settings of the simulation.

    Raises:
        CompileError: the file does not compile.
        LabError: the file cannot be read, or the launch is unknown or does not fit the kernel.
    """
    settings = settings or Settings()
    try:
        prepared = prepare_launch(kernel, settings.target)
    except UnknownLaunchError as unknown:
        return count_assumed(unknown, size, expect, tolerance, settings)
    return count_prepared(prepared, size, expect, tolerance, settings)


def count_assumed(
    unknown: UnknownLaunchError,
    size: Size,
    expect: tuple[str, ...],
    tolerance: float | None,
    settings: Settings,
) -> ExternalRun:
    """Run the first assumed launch without an access outside its arrays.

    With assumed sizes an index out of bounds is no fault of the kernel.

    Raises:
        NeverEndsError: the file's own launch never ends, or threads wait for each other in all.
        LabError: the simulator found a fault, or the launch is unknown.
    """
    end = time.monotonic() + min(TRIES_SECONDS, settings.time_limit)
    outside = None
    fault: LabError | None = None
    waiting: NeverEndsError | None = None
    multiplies = isinstance(unknown, NoLaunchError)
    for one in tries(unknown.prepared, NOT_RIGHT if multiplies else ""):
        left = end - time.monotonic()
        if left < 0:
            break
        prepared = one.prepared
        longest = CLIPPED_SECONDS if prepared.clipped or prepared.certain else TRY_SECONDS
        seconds = min(longest, settings.time_limit, left)
        limited = replace(settings, time_limit=seconds)
        try:
            done = count_prepared(prepared, size, expect, tolerance, limited)
        except (EndlessLoopError, DeadlockError) as stuck:
            never = NeverEndsError(prepared, stuck)
            if prepared.certain:
                raise never from None
            # Threads that wait in vain for each other do so with other sizes, too.
            if isinstance(stuck, DeadlockError) and not block_is_free(unknown.prepared):
                waiting = waiting or never
            fault = fault or stuck
            continue
        except LabError as error:
            fault = fault or error
            continue
        found = None if prepared.certain else _left(done, one.launched)
        settled = found is not None and found in lasting(done, limited)
        if settled or (found is None and not (one.narrowed and done.result.hazards)):
            return replace(done, further=tuple(_further(one, size, settings, end)))
        outside = outside or (_outside(done, found) if found else None)
    raise waiting or outside or fault or unknown


def _further(one: Try, size: Size, settings: Settings, end: float) -> Iterator[ExternalRun]:
    """Run what else there is of the file's launches, without accesses outside assumed arrays."""
    for other in further_tries(one):
        seconds = min(TRY_SECONDS, settings.time_limit, end - time.monotonic())
        if seconds <= 0:
            return
        limited = replace(settings, time_limit=seconds, corners=other.outer)
        try:
            done = count_prepared(other.prepared, size, (), None, limited)
        except LabError:
            continue
        if not other.prepared.certain:
            settled, assumed = lasting(done, limited), _assumed_arrays(done)
            kept = [
                hazard for hazard in done.result.hazards
                if hazard.kind != OUT_OF_BOUNDS or hazard in settled or hazard.array not in assumed
            ]  # fmt: skip
            result = replace(done.result, hazards=kept)
            done = replace(done, result=result, settled=tuple(settled))
        yield done


def lasting(done: ExternalRun, settings: Settings) -> list[Hazard]:
    """Return the hazards of a launch that do not depend on what arrays of integers hold.

    None where more than that was assumed.
    """
    prepared, left = done.prepared, done.result.hazards
    if not prepared.contents_assumed or not left:
        return []
    for arrays in other_contents(prepared, arrays_at(prepared, done.size)):
        try:
            _, result, _ = run_and_weigh(prepared, done.size, arrays, settings)
        except LabError:
            return []
        seen = {(one.kind, one.location, one.array) for one in result.hazards}
        left = [one for one in left if (one.kind, one.location, one.array) in seen]
    return left


def at_empty_rows(done: ExternalRun, settings: Settings) -> list[Hazard]:
    """Return accesses outside of arrays that only empty rows at the end of its offsets cause."""
    found: list[Hazard] = []
    for arrays in with_empty_rows(done.prepared, arrays_at(done.prepared, done.size)):
        try:
            _, result, _ = run_and_weigh(done.prepared, done.size, arrays, settings)
        except LabError:
            return []
        outside = [one for one in result.hazards if one.kind == OUT_OF_BOUNDS]
        if not found:
            found = outside
        else:
            inside = {(one.location, one.array) for one in outside}
            found = [one for one in found if (one.location, one.array) not in inside]
        if not found:
            return []
    return found


def _left(done: ExternalRun, launched: bool) -> Hazard | None:
    """Return an access outside an array whose size is assumed.

    Shared arrays have known sizes, but an assumed block may be too large for them: they count
    unless the launch is known.
    """
    assumed = _assumed_arrays(done)
    found = (h for h in done.result.hazards if h.kind == OUT_OF_BOUNDS)
    return next((hazard for hazard in found if not launched or hazard.array in assumed), None)


def _assumed_arrays(done: ExternalRun) -> set[str | None]:
    """Return the arrays whose sizes are assumed, if any are."""
    # Behind an array lies a variable of the file, which is named where it is the nearest.
    variables = {variable.name for variable in done.prepared.opened.compiled.variables}
    return {None, *(called(one) for one in done.prepared.given)} | variables


def _outside(done: ExternalRun, found: Hazard) -> LabError:
    given = " ".join(map(str, done.prepared.given))
    return LabError(
        f"No arguments that were tried keep '{done.prepared.opened.name}' inside its arrays. With "
        f"--args '{given}', {found} Say --args, and where it matters --grid and --block."
    )


def prepare_launch(kernel: ExternalKernel, target: str = DEFAULT_TARGET) -> Prepared:
    """Compile a kernel and determine its arguments and launch, if necessary by trial.

    Raises:
        CompileError: the kernel does not compile.
        LabError: no kernel can be chosen, or its arguments or launch are unknown.
    """
    try:
        return prepare(kernel, target)
    except NoLaunchError as unknown:
        found = launch_by_trial(unknown.prepared, _is_right)
        if found is None:
            raise
        return found


def _is_right(prepared: Prepared, size: Size) -> bool:
    settings = Settings(count_requests=False, time_limit=SECONDS)
    done = count_prepared(prepared, size, (), None, settings)
    return not (done.wrong or done.result.hazards or done.result.warnings)


def count_prepared(
    prepared: Prepared,
    size: Size,
    expect: tuple[str, ...],
    tolerance: float | None,
    settings: Settings,
) -> ExternalRun:
    """Do the same as ``count_external`` for a compiled kernel."""
    if prepared.multiplies:
        check_size(size)
        _refuse_odd_square(prepared, size)
    arrays = arrays_at(prepared, size)
    told = [(name or _only_result(prepared), text) for name, text in map(read_expectation, expect)]
    expected = [(name, text, _expected(prepared, size, arrays, name, text)) for name, text in told]
    after, result, harmless = run_and_weigh(prepared, size, arrays, settings)
    verdicts = [
        _verdict(name, after[name], right, tolerance, element)
        for name, _, (right, element) in expected
    ]
    cause = ""
    if prepared.multiplies:
        verdict = _verdict_of_c(prepared, arrays, after["C"])
        verdicts.insert(0, verdict)
        unset = any(warning.kind == UNSET for warning in result.warnings)
        explained = unset or (result.hazards and settings.explain == "without hazards")
        if verdict.wrong and settings.explain != "never" and not explained:
            cause = likely_cause(prepared, size, arrays, after["C"], settings)
    changed = _changed(prepared, arrays, after)
    return ExternalRun(
        prepared, size, result, tuple(verdicts), changed, cause, after, arrays.values, harmless
    )


def run_and_weigh(
    prepared: Prepared, size: Size, arrays: Arrays, settings: Settings
) -> tuple[dict[str, npt.NDArray[Any]], Result, tuple[Hazard, ...]]:
    """Simulate one launch; return the arrays, the result, and races that do no harm.

    Those are not among the hazards of the result.

    Raises:
        LabError: the launch fits neither the kernel nor any GPU.
    """
    if not settings.check_hazards:
        return *run(prepared, size, arrays, settings), ()
    watched = replace(settings, watch=(*settings.watch, "same_values"))
    after, result = run(prepared, size, arrays, watched)
    harmful_lines = {Location(**one) for one in result.watched["same_values"]}
    harmless = tuple(one for one in result.hazards if _is_harmless(one, harmful_lines))
    harmful = [one for one in result.hazards if one not in harmless]
    return after, replace(result, hazards=harmful), harmless


def _is_harmless(hazard: Hazard, harmful: set[Location]) -> bool:
    """Return whether a hazard is a race of stores to shared memory that wrote the same.

    A flag that several warps set to 1 is a race by the letter, and what it holds afterwards is
    known. NVIDIA's racecheck calls it information, too. ``harmful`` are the lines that read or
    change what another thread wrote, or do more than store.
    """
    if hazard.kind != RACE or hazard.other_location is None:
        return False
    return not {hazard.location, hazard.other_location} & harmful


def arrays_at(prepared: Prepared, size: Size) -> Arrays:
    """Return the initial arrays of a launch: integers, the same at each call."""
    m, n, k = size
    random = np.random.default_rng(seed=m + 3 * n + 7 * k)
    own = own_arrays(prepared, size, random)
    if not prepared.multiplies:
        return own
    a, b, c = (prepared.element(_matrix(prepared, role)) for role in "ABC")
    most = largest(a, b, c, k)
    low = 0 if "u" in (a.stored.kind, b.stored.kind) and a.whole else -most
    values: dict[str, npt.NDArray[Any]] = {
        "A": random.integers(low, most + 1, (m, k)).astype("f8"),
        "B": random.integers(low, most + 1, (k, n)).astype("f8"),
    }
    return matrices(prepared, own, values["A"], values["B"], random)


def matrices(
    prepared: Prepared,
    own: Arrays,
    a: npt.NDArray[Any],
    b: npt.NDArray[Any],
    random: np.random.Generator,
) -> Arrays:
    """Add A, B and the initial C to the arrays.

    If the kernel takes beta, C holds odd multiples of 0.5, which no product of integers equals: an
    element that was not written is noticed, and beta = 0 never multiplies NaN.
    """
    given = _matrix(prepared, "C")
    shape = (a.shape[0], b.shape[1])
    element = prepared.element(given)
    unwritten = own.unwritten
    c: npt.NDArray[Any]
    if given.zero:
        c = np.zeros(shape)
    elif prepared.has_beta:
        c = random.integers(-8, 8, shape) + (0.0 if element.whole else 0.5)
    else:
        never = (100 if element.stored.itemsize < 4 else -(2**30)) if element.whole else np.nan
        c = np.full(shape, never, "f8")
        unwritten = (*unwritten, "C")
    return Arrays({**own.values, "A": a, "B": b, "C": c}, unwritten)


def largest(a: Element, b: Element, c: Element, k: int) -> int:
    """Return the largest integer in A and B for which sums over K products stay exact.

    Numbers from -m to m have the variance m·(m+1)/3.
    """
    exact = min(c.exact, 2**24)
    if exact < 2**24:
        fits = [m for m in range(1, 9) if SIGMAS * m * (m + 1) / 3 * k**0.5 <= exact]
        return max(fits, default=1)
    return 8 if 64 * k <= exact else 1


def _matrix(prepared: Prepared, role: str) -> Matrix:
    return next(g for g in prepared.given if isinstance(g, Matrix) and g.role == role)


def _refuse_odd_square(prepared: Prepared, size: Size) -> None:
    if prepared.sizes == 1 and not prepared.arguments_given and len(set(size)) > 1:
        raise LabError(
            f"'{prepared.opened.name}' takes one size, so its matrices are square. "
            f"Give --size one number, such as --size {max(size)}."
        )


def _verdict_of_c(prepared: Prepared, arrays: Arrays, got: npt.NDArray[Any]) -> Verdict:
    right = product(prepared, arrays)
    wrong = wrong_elements(prepared, got, right)
    error = np.abs(got - right) * wrong
    return Verdict("C", int(wrong.sum()), wrong.size, _largest_error(error))


def _largest_error(error: npt.NDArray[Any]) -> float:
    return float(np.nan_to_num(error, nan=np.inf).max())


def _only_result(prepared: Prepared) -> str:
    """Return the only array that a kernel may write.

    Raises:
        LabError: there are several or none.
    """
    written = [called(g) for g in prepared.given
               if isinstance(g, Array) and g.use != "in"]  # fmt: skip
    found = ["C"] if prepared.multiplies else written
    if len(found) != 1:
        listed = ", ".join(found) or "none"
        raise LabError(
            f"Say which array is expected to hold that, such as --expect 'y = 2 * x'. The kernel "
            f"may write: {listed}."
        )
    return found[0]


def _expected(
    prepared: Prepared, size: Size, arrays: Arrays, name: str, text: str
) -> tuple[npt.NDArray[Any], Element]:
    names: dict[str, Any] = {
        **named_numbers(prepared.given, dict(zip("MNK", size, strict=True))),
        **arrays.values,
    }
    if name not in arrays.values:
        known = ", ".join(arrays.values) or "none"
        raise LabError(f"'{name}' is no array of the arguments. There are: {known}.")
    right = np.asarray(expected_values(text, names), "f8")
    begun = arrays.values[name]
    if right.size not in (1, begun.size):
        raise LabError(
            f"'{text}' has {right.size:,} elements, but {name} has {begun.size:,}. "
            "Expect as many as the array holds."
        )
    every = (*prepared.given, *(variable.array for variable in prepared.variables))
    given = next(g for g in every if not isinstance(g, Number) and called(g) == name)
    return np.broadcast_to(right.ravel(), begun.size), prepared.element(given)


def _verdict(
    name: str,
    got: npt.NDArray[Any],
    right: npt.NDArray[Any],
    tolerance: float | None,
    element: Element,
) -> Verdict:
    allowed = TOLERANCE.get(element.name, 0.0) if tolerance is None else tolerance
    found = got.ravel().astype("f8")
    with np.errstate(all="ignore"):
        error = np.abs(found - right)
        close = (error <= allowed * np.maximum(1, np.abs(right))) & np.isfinite(right)
    same = (found == right) | (np.isnan(found) & np.isnan(right)) | close
    return Verdict(name, int((~same).sum()), same.size, _largest_error(np.where(same, 0, error)))


def _changed(
    prepared: Prepared, before: Arrays, after: Mapping[str, npt.NDArray[Any]]
) -> tuple[str, ...]:
    """Return the names of input arrays that differ after the launch."""
    only_read = [
        called(g)
        for g in prepared.given
        if (isinstance(g, Matrix) and g.role != "C") or (isinstance(g, Array) and g.use == "in")
    ]
    return tuple(
        name
        for name in only_read
        if not np.array_equal(before.values[name], after[name], equal_nan=True)
    )
