"""Is a kernel right? Compare its C with float64, at sizes that do not fit its tiles.

For each size a kernel runs three times:

1. On small whole numbers. Every product and every sum is then exact in float32, in any order, so
   C must equal the reference bit for bit. A missing or doubled term cannot hide.
2. On uniform random numbers in ±0.5. The error of each element must stay within
   K·u·(|A|·|B|), u = 2⁻²⁴: the bound of a float32 inner product of K terms in any order (Jeannerod
   and Rump, Improved error bounds for inner products in floating-point arithmetic, 2013). Other
   arithmetics have other bounds: ``BOUNDS``. A second run must give the same bits.
3. With one NaN and one infinity in A and in B, and zeros where they meet them. They must reach the
   elements of C they belong to, also where they are multiplied by zero, and no others: in every
   arithmetic, for its formats have NaN and infinity too.

A and B must be after each run what they were before. Before each run C is filled with NaN, and A, B
and C lie between guard zones: NaN around the inputs, so that a read past the edge spoils C, and a
pattern around C, so that a stray write is seen.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from sgemm_lab.checking import sentence
from sgemm_lab.kernel import ARITHMETICS, Size

AWKWARD_SIZES: tuple[Size, ...] = (
    (1, 1, 1), (2, 2, 2), (3, 5, 7), (7, 1, 9), (1, 9, 7), (4, 4, 4), (8, 8, 6),
    (16, 16, 16), (17, 17, 17), (31, 33, 29), (32, 32, 32), (33, 31, 1), (1, 1, 1025),
    (64, 64, 64), (65, 63, 66), (64, 68, 72), (5, 260, 12), (127, 129, 127), (128, 128, 8),
    (128, 128, 24), (129, 130, 131), (256, 256, 40), (255, 257, 254), (256, 128, 9), (260, 132, 20),
    (1, 1000, 33), (1000, 1, 33), (513, 3, 100), (3, 513, 100), (384, 640, 200), (512, 512, 512),
    (65537, 5, 3), (3, 65537, 5), (1023, 1025, 1021),
)  # fmt: skip
"""Below a tile, no multiple of 4, K of 1, odd numbers of tiles, rows and columns, tall, flat."""

_QUICK_PRODUCT, _QUICK_K = 64**3, 128
_DEEP: Size = (2, 3, 165)
QUICK_SIZES = (
    *(size for size in AWKWARD_SIZES if prod(size) <= _QUICK_PRODUCT and size[2] <= _QUICK_K),
    _DEEP,
)
"""The awkward sizes that take a moment to simulate, and one with many K tiles."""

TIME_LIMIT = 60.0
"""Default time limit of one simulated launch of a check, in seconds."""

UNIT_ROUNDOFF = 2.0**-24
EXACT = 2**24
"""Up to here float32 holds every whole number."""

_FACTORS_ROUNDED = {name: 2 * 2.0**-bits + 2.0 ** (-2 * bits) for name, bits in ARITHMETICS.items()}
"""What a product may be off, as a share of it, where so many bits of both factors are kept."""
_CUT = 10 * 2.0**-23 / UNIT_ROUNDOFF
"""What one instruction may lose, in u: a tensor core lines up 8 products and the sum so far by the
largest, cuts each off at its last of 24 bits, and then the result (Fasi, Higham, Mikaitis and
Pranesh, Numerical behavior of NVIDIA tensor cores, 2021: so the V100; later ones keep more)."""
_DROPPED = 2.0**-22
"""small · small, of each product the part that three products leave out: 2⁻¹¹ of each factor."""
_LONGEST_CHUNK = {"3xtf32": 32, "3xfp16": 64}
"""The most k whose three products each a kernel lets tensor cores add up, before FP32 does."""

BOUNDS = {
    "fp32": {"factors": 0.0, "per_k": 1.0, "once": 0.0, "least": 0.0},
    "tf32": {
        "factors": _FACTORS_ROUNDED["tf32"] / UNIT_ROUNDOFF,
        "per_k": _CUT / 8,
        "once": _CUT,
        "least": 0.0,
    },
    "fp16": {
        "factors": _FACTORS_ROUNDED["fp16"] / UNIT_ROUNDOFF,
        "per_k": _CUT / 8,
        "once": _CUT,
        "least": 2.0**-25,
    },
    "3xtf32": {
        "factors": (_FACTORS_ROUNDED["3xtf32"] + _DROPPED) / UNIT_ROUNDOFF,
        "per_k": 1 / 8,
        "once": 3 * _LONGEST_CHUNK["3xtf32"] / 8 * _CUT,
        "least": 0.0,
    },
    "3xfp16": {
        "factors": (_FACTORS_ROUNDED["3xfp16"] + _DROPPED) / UNIT_ROUNDOFF,
        "per_k": 1 / 8,
        "once": 3 * _LONGEST_CHUNK["3xfp16"] / 8 * _CUT,
        "least": 2.0**-40,
    },
}
"""How far off an element of C may be: (factors + once + K·per_k)·u·(|A|·|B|) + least·(Σ|a| + Σ|b|).

``factors`` is what rounding A and B to the arithmetic's bits may add, ``per_k`` and ``once`` what
the sums of K products may lose. What three products lose in a tensor core does not grow with K, for
it is a share of a chunk's sum; FP32 adds the chunks, of 8 k at least. ``least`` is half the
distance of FP16's smallest numbers, below 2⁻¹⁴, which have fewer bits: what an element may be off
there. 3xfp16 scales the largest number of a row or column to 2¹⁵ before. It counts with the other
factor below 1 only: so for the numbers that are drawn here.
"""
LEAST_ALLOWED = 1e-30
"""Added to what an element may be off, as an element of zeros may not be at all."""


@dataclass(frozen=True)
class CheckResult:
    """The verdict on one kernel at one size. ``fault`` is None where it is right."""

    kernel: str
    m: int
    n: int
    k: int
    fault: str | None
    """What is wrong, in a sentence, or None."""
    refusal: str | None
    """Why the size was not run, in a sentence, or None: a tile that does not fit this GPU."""
    error: float
    """The largest error as a share of what is allowed, over all elements; 1 is the limit."""

    @property
    def passed(self) -> bool:
        """Whether the kernel ran at this size and was right."""
        return self.fault is None and self.refusal is None


class WrongResultError(Exception):
    """A wrong result. The message is a sentence."""


def summary(results: Sequence[CheckResult]) -> str:
    """Say in a sentence how a kernel did: where it was right, wrong, or not run."""
    right = sum(result.passed for result in results)
    wrong = sum(result.fault is not None for result in results)
    refused = [result.refusal for result in results if result.refusal]
    text = (
        sentence("summary.wrong", wrong=wrong, all=len(results))
        if wrong
        else sentence("summary.right", right=right)
    )
    if refused:
        text += sentence("summary.refused", count=len(refused), first=refused[0])
    return text


def bound_text(arithmetic: str) -> str:
    """Say in a sentence or two how far off an arithmetic's elements of C may be, and why.

    Raises:
        KeyError: the arithmetic is none of ``ARITHMETICS``.
    """
    return sentence(f"bound.{arithmetic}")


def first_fault(results: Iterable[CheckResult]) -> str | None:
    """Say what is wrong at the first size that is not right; None where all are."""
    for result in results:
        if not result.passed:
            fault = result.fault or result.refusal
            return sentence("fault.at", m=result.m, n=result.n, k=result.k, fault=fault)
    return None


class Rounding:
    """What an arithmetic may make of A·B: each element in float64, and how far off it may be."""

    def __init__(self, a: Any, b: Any, arithmetic: str = "fp32") -> None:
        """Multiply in float64. A is M×K, B is K×N: float32 arrays of one library."""
        a, b = a.astype("float64"), b.astype("float64")
        bound = BOUNDS[arithmetic]
        self._product = a @ b
        size_a, size_b = abs(a), abs(b)
        share = bound["factors"] + bound["once"] + bound["per_k"] * a.shape[1]
        self._allowed = share * UNIT_ROUNDOFF * (size_a @ size_b)
        if bound["least"]:
            self._allowed += bound["least"] * (size_a.sum(1)[:, None] + size_b.sum(0)[None, :])
        self._allowed += LEAST_ALLOWED  # an element whose bound is zero must not divide by zero

    def shares(self, c: Any) -> Any:
        """Return the error of each element of C (M×N) as a share of its bound; NaN as in C."""
        return abs(c - self._product) / self._allowed


class Judge(ABC):
    """The three runs of one kernel at one size. ``library`` is CuPy or NumPy."""

    def __init__(self, library: Any, size: Size, seed: int, arithmetic: str = "fp32") -> None:
        self.library = library
        self.arithmetic = arithmetic
        self.m, self.n, self.k = size
        self.random = library.random.RandomState(seed + self.m + 3 * self.n + 7 * self.k)

    @abstractmethod
    def product(self, a: Any, b: Any) -> Any:
        """Return the kernel's C for A and B, NaN where it wrote nothing.

        Raises:
            WrongResultError: the kernel did something wrong on the way.
        """

    def run(self, *, only_whole_numbers: bool = False) -> float:
        """Return the largest error as a share of the allowed one.

        With ``only_whole_numbers`` the first of the three runs is the only one: for algorithms that
        carry NaN, infinity and rounding errors to other elements of C.

        Raises:
            WrongResultError: the result is wrong.
        """
        self.whole_numbers()
        if only_whole_numbers:
            return 0.0
        error = self.random_numbers()
        self.special_values()
        return error

    def whole_numbers(self) -> None:
        """Multiply matrices whose product float32 holds exactly."""
        most = 8 if 64 * self.k <= EXACT else 1
        a = self.random.randint(-most, most + 1, (self.m, self.k)).astype("float32")
        b = self.random.randint(-most, most + 1, (self.k, self.n)).astype("float32")
        c = self.product(a, b)
        expected = a.astype("float64") @ b.astype("float64")
        self.reject(c != expected, c, expected, sentence("judge.exact"))

    def random_numbers(self) -> float:
        """Multiply twice; return the largest error as a share of the bound."""
        a = self.random.uniform(-0.5, 0.5, (self.m, self.k)).astype("float32")
        b = self.random.uniform(-0.5, 0.5, (self.k, self.n)).astype("float32")
        c = self.product(a, b)
        if not self.library.array_equal(c, self.product(a, b)):
            raise WrongResultError(sentence("judge.twice"))
        share = Rounding(a, b, self.arithmetic).shares(c)
        expected = a.astype("float64") @ b.astype("float64")
        self.reject(~(share <= 1), c, expected, sentence("judge.rounding"))
        return float(share.max())

    def special_values(self) -> None:
        """Multiply matrices that hold NaN and infinity."""
        most = 4 if 16 * self.k <= EXACT else 1
        a = self.random.randint(1, most + 1, (self.m, self.k)).astype("float32")
        b = self.random.randint(1, most + 1, (self.k, self.n)).astype("float32")
        nan, inf = float("nan"), float("inf")
        a[self.m // 2, self.k // 3] = nan
        a[self.m - 1, self.k - 1] = inf
        b[self.k // 2, self.n // 3] = nan
        b[self.k - 1, self.n - 1] = -inf
        # Zeros beside them: zero times NaN or infinity is NaN, so no term may be skipped.
        others = [row for row in range(self.m) if row not in (self.m // 2, self.m - 1)]
        a[others[::2], self.k // 2] = 0
        a[others[1::2], self.k - 1] = 0
        others = [col for col in range(self.n) if col not in (self.n // 3, self.n - 1)]
        b[self.k // 3, others[::2]] = 0
        b[self.k - 1, others[1::2]] = 0
        c = self.product(a, b)
        expected = a.astype("float64") @ b.astype("float64")
        same = (c == expected) | (self.library.isnan(c) & self.library.isnan(expected))
        self.reject(~same, c, expected, sentence("judge.special"))

    def refuse_changed(self, name: str, before: Any, after: Any) -> None:
        """Raise a WrongResultError if the kernel changed one of its inputs, NaN included."""
        before = before.astype(after.dtype)  # a kernel may take FP16 copies
        same = (before == after) | (self.library.isnan(before) & self.library.isnan(after))
        changed = ~same
        count = int(changed.sum())
        if count:
            row, col = (int(i) for i in self.library.argwhere(changed)[0])
            place = {"name": name, "row": row, "col": col}
            raise WrongResultError(
                sentence("judge.changed", count=count, size=before.size, **place)
            )

    def reject(self, wrong: Any, c: Any, expected: Any, where: str) -> None:
        """Raise a WrongResultError if any element is marked as wrong."""
        count = int(wrong.sum())
        if count == 0:
            return
        row, col = (int(i) for i in self.library.argwhere(wrong)[0])
        got, right = float(c[row, col]), float(expected[row, col])
        unwritten = int((self.library.isnan(c) & ~self.library.isnan(expected)).sum())
        hint = sentence("judge.unwritten", count=unwritten) if unwritten else ""
        counted = {"count": count, "size": c.size, "where": where, "hint": hint}
        raise WrongResultError(
            sentence("judge.wrong", **counted, row=row, col=col, got=got, right=right)
        )
