"""Check an external matrix product at many sizes by simulation."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgemm_lab.checking import sentence
from sgemm_lab.checking.judge import QUICK_SIZES, TIME_LIMIT, CheckResult, Judge, WrongResultError
from sgemm_lab.counting.launch_limits import Matrix, check_size
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.analysis import count_prepared, matrices
from sgemm_lab.external_cuda.arguments import Given, Number
from sgemm_lab.external_cuda.launch import Prepared, Settings, own_arrays, run
from sgemm_lab.kernel import Size
from sgemm_lab.simulator import DeadlockError, EndlessLoopError, Hazard, TimeLimitError
from sgemm_lab.simulator.hazards import most_relevant

TILES = (2, 4, 8, 16, 32, 64, 128)
"""Tiles that ``fitting_tile`` considers."""

_NARROW_PRODUCTS = re.compile(r"\bw?mma\.\S*\btf32\b")
"""Products of tensor cores that keep 11 bits of each factor."""

_FACTORS = ("2", "-1")
"""Alpha and beta of the run that tests whether a kernel uses them."""


@dataclass(frozen=True)
class SizeResult(CheckResult):
    """The verdict at one size, with the hazard that decided it."""

    hazard: Hazard | None = None
    complete: bool = False
    """Whether C is wrong although the kernel wrote all of it and stayed inside its arrays: no guard
    at an edge explains that."""


class _FaultError(WrongResultError):
    """A wrong result, with the hazard that explains it."""

    def __init__(self, message: str, hazard: Hazard | None = None, complete: bool = False) -> None:
        super().__init__(message)
        self.hazard = hazard
        self.complete = complete


def sizes_of(prepared: Prepared, sizes: Sequence[Size] | None) -> tuple[Size, ...]:
    """Return the given sizes or the quick ones; square if the kernel takes one size."""
    chosen = tuple(sizes or QUICK_SIZES)
    square = prepared.sizes == 1 and not prepared.arguments_given and sizes is None
    return tuple(size for size in chosen if len(set(size)) == 1) if square else chosen


def check_external(
    prepared: Prepared,
    sizes: Iterable[Size],
    *,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
) -> Iterator[SizeResult]:
    """Check a kernel size by size: on integers, then as ``Judge`` does.

    A kernel with alpha and beta runs with 1 and 0, then with 2 and -1. Types other than float and
    double, and products in tf32, are checked on integers only. After a launch that exceeds
    ``time_limit`` seconds the remaining sizes are not tried.
    """
    settings = Settings(count_requests=False, time_limit=time_limit, explain="without hazards")
    for m, n, k in sizes:
        fault, refusal, error, late = None, None, 0.0, False
        hazard, complete = None, False
        try:
            check_size((m, n, k))
            with np.errstate(all="ignore"):
                error = _check_one(prepared, (m, n, k), seed, settings)
        except WrongResultError as wrong:
            fault, error = str(wrong), float("inf")
            # A result is looked for one usual cause once; it is the same at other sizes.
            settings = replace(settings, explain="never")
            if isinstance(wrong, _FaultError):
                hazard, complete = wrong.hazard, wrong.complete
            else:
                complete = True
        except (EndlessLoopError, DeadlockError) as endless:
            fault, error = str(endless), float("inf")
        except LabError as refused:
            refusal, late = str(refused), isinstance(refused, TimeLimitError)
        name = prepared.opened.name
        yield SizeResult(name, m, n, k, fault, refusal, error, hazard, complete)
        if late:
            return


def _check_one(prepared: Prepared, size: Size, seed: int, settings: Settings) -> float:
    _whole_numbers(prepared, size, settings)
    if prepared.has_beta and not prepared.arguments_given:
        _whole_numbers(_with_factors(prepared, _FACTORS), size, settings)
    exact = [prepared.element(given).name in ("float", "double") for given in prepared.given
             if not isinstance(given, Number)]  # fmt: skip
    if not all(exact) or _NARROW_PRODUCTS.search(prepared.opened.ptx):
        return 0.0
    quiet = replace(settings, check_hazards=False)
    return _JudgeExternal(_with_factors(prepared, ("1", "0")), size, seed, quiet).run()


def _whole_numbers(prepared: Prepared, size: Size, settings: Settings) -> None:
    done = count_prepared(prepared, size, (), None, settings)
    if done.result.hazards:
        first = most_relevant(done.result.hazards)
        raise _FaultError(" ".join(map(str, (first, *done.result.warnings[:1]))), first)
    for name in done.changed:
        raise WrongResultError(
            f"It changed {name}, which it may only read. Look for a store to {name}."
        )
    for verdict in done.verdicts:
        if verdict.wrong:
            given = " ".join(map(str, prepared.given))
            why = " ".join([done.cause, *map(str, done.result.warnings[:1])])
            raise _FaultError(
                f"With {given}, {verdict.wrong:,} of {verdict.elements:,} elements of C are wrong "
                f"{sentence('judge.exact')}. {why}".strip(),
                complete=not done.untouched,
            )


def _with_factors(prepared: Prepared, factors: tuple[str, str]) -> Prepared:
    """Return the same launch with other values of alpha and beta."""
    left = list(factors)
    given: list[Given] = []
    for one, parameter in zip(prepared.given, prepared.parameters, strict=True):
        scalar = isinstance(one, Number) and not parameter.is_whole and bool(left)
        if scalar:
            beta = "beta" in parameter.name.lower()
            given.append(Number(left.pop(-1 if beta else 0)))
        else:
            given.append(one)
    return replace(prepared, given=tuple(given))


class _JudgeExternal(Judge):
    """Runs the kernel in the simulator without hazard checks, which an earlier run made."""

    def __init__(self, prepared: Prepared, size: Size, seed: int, settings: Settings) -> None:
        super().__init__(np, size, seed)
        self.prepared = prepared
        self.size = size
        self.settings = settings
        self.last: tuple[Matrix, Matrix] | None = None

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        if self.last is not None and self.last[0] is a:
            return self.last[1]
        random = np.random.default_rng(seed=0)
        own = own_arrays(self.prepared, self.size, random)
        arrays = matrices(self.prepared, own, a, b, random)
        after, _ = run(self.prepared, self.size, arrays, self.settings)
        for name, given in (("A", a), ("B", b)):
            self.refuse_changed(name, given, after[name])
        self.last = (a, after["C"])
        return after["C"]


def fitting_tile(results: Sequence[CheckResult]) -> tuple[int, int, int] | None:
    """Return the largest tile such that a kernel is right exactly where it divides M, N and K.

    None if there is none, or if the kernel is right everywhere or nowhere.
    """
    passed = [(r.m, r.n, r.k) for r in results if r.passed]
    wrong = [(r.m, r.n, r.k) for r in results if r.fault]
    if not passed or not wrong:
        return None
    fits = [[t for t in TILES if all(one[axis] % t == 0 for one in passed)] for axis in range(3)]
    # An axis along which whole tiles are not needed has a tile of 1.
    m, n, k = (max(sides, default=1) for sides in fits)
    divided = any(one[0] % m == 0 and one[1] % n == 0 and one[2] % k == 0 for one in wrong)
    return None if divided or m == n == k == 1 else (m, n, k)


def tile_text(tile: tuple[int, int, int]) -> str:
    """Return what ``fitting_tile`` found as a condition: "32 divides M, N and K"."""
    if len(set(tile)) == 1:
        return f"{tile[0]} divides M, N and K"
    parts = [f"{side} divides {name}" for side, name in zip(tile, "MNK", strict=True) if side > 1]
    return " and ".join(parts)
