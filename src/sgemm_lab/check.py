"""Is a kernel right? Compare its C with float64, at sizes that do not fit its tiles.

For each size a kernel runs three times:

1. On small whole numbers. Every product and every sum is then exact in float32, in any order, so
   C must equal the reference bit for bit. A missing or doubled term cannot hide.
2. On uniform random numbers in ±0.5. The error of each element must stay within
   K·u·(|A|·|B|), u = 2⁻²⁴: the bound of a float32 inner product of K terms in any order (Jeannerod
   and Rump, Improved error bounds for inner products in floating-point arithmetic, 2013). A second
   run must give the same bits.
3. With one NaN and one infinity in A and in B. They must reach the elements of C they belong to,
   and no others.

Before each run C is filled with NaN, and A, B and C lie between guard zones: NaN around the inputs,
so that a read past the edge spoils C, and a pattern around C, so that a stray write is seen.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel
from sgemm_lab.launch import LoadedKernel, require_gpu

Size = tuple[int, int, int]
"""M, N, K."""

AWKWARD_SIZES: tuple[Size, ...] = (
    (1, 1, 1), (2, 2, 2), (3, 5, 7), (7, 1, 9), (1, 9, 7), (4, 4, 4), (8, 8, 6),
    (16, 16, 16), (17, 17, 17), (31, 33, 29), (32, 32, 32), (33, 31, 1), (1, 1, 1025),
    (64, 64, 64), (65, 63, 66), (64, 68, 72), (5, 260, 12), (127, 129, 127), (128, 128, 8),
    (128, 128, 24), (129, 130, 131), (256, 256, 40), (255, 257, 254), (256, 128, 9), (260, 132, 20),
    (1, 1000, 33), (1000, 1, 33), (513, 3, 100), (3, 513, 100), (384, 640, 200), (512, 512, 512),
    (65537, 5, 3), (3, 65537, 5), (1023, 1025, 1021),
)  # fmt: skip
"""Below a tile, no multiple of 4, K of 1, odd numbers of tiles, rows and columns, tall, flat."""

GUARD = 1024
"""Elements of guard zone on each side of a matrix."""

_PATTERN = 12345.678
_UNIT_ROUNDOFF = 2.0**-24
_EXACT = 2**24
"""Up to here float32 holds every whole number."""


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


def check(
    kernel: Kernel, sizes: Iterable[Size] = AWKWARD_SIZES, *, seed: int = 0, shift: int = 0
) -> Iterator[CheckResult]:
    """Check a kernel on the GPU, size by size.

    ``shift`` moves the matrices by that many elements off their aligned addresses.
    After an error that leaves the GPU unusable (an illegal address), the iterator ends.

    Raises:
        LabError: no GPU, or the kernel does not compile.
    """
    cupy = require_gpu()
    loaded = LoadedKernel(kernel)
    for m, n, k in sizes:
        judge = _GpuJudge(cupy, loaded, (m, n, k), seed, shift)
        try:
            error = judge.run()
        except WrongResultError as fault:
            yield CheckResult(kernel.name, m, n, k, str(fault), None, float("inf"))
        except LabError as refusal:
            yield CheckResult(kernel.name, m, n, k, None, str(refusal), 0.0)
        except cupy.cuda.memory.OutOfMemoryError:
            refusal_ = f"The GPU's memory cannot hold the matrices of {m}×{n}×{k}."
            yield CheckResult(kernel.name, m, n, k, None, refusal_, 0.0)
        except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error_:
            stopped = f"The GPU stopped the kernel: {error_}"
            yield CheckResult(kernel.name, m, n, k, stopped, None, float("inf"))
            return
        else:
            yield CheckResult(kernel.name, m, n, k, None, None, error)


def summary(results: Sequence[CheckResult]) -> str:
    """Say in a sentence how a kernel did: where it was right, wrong, or not run."""
    right = sum(result.passed for result in results)
    wrong = sum(result.fault is not None for result in results)
    refused = [result.refusal for result in results if result.refusal]
    worst = max((result.error for result in results if result.passed), default=0.0)
    sizes = "size" if right == 1 else "sizes"
    text = f"WRONG at {wrong} of {len(results)} sizes." if wrong else f"right at {right} {sizes}."
    if right:
        text += f" Its largest rounding error is {worst:.0%} of the bound."
    if refused:
        text += f" Not run at {len(refused)}: {refused[0]}"
    return text


def rounding_shares(a: Any, b: Any, c: Any) -> Any:
    """Return the error of each element of C as a share of K·u·(|A|·|B|), in float64.

    A is M×K, B is K×N, C is M×N: float32 arrays of one library, CuPy or NumPy. NaN where C is NaN.
    """
    a, b = a.astype("float64"), b.astype("float64")
    allowed = a.shape[1] * _UNIT_ROUNDOFF * (abs(a) @ abs(b))
    allowed += 1e-30  # an element whose bound is zero must not divide by zero
    return abs(c - a @ b) / allowed


class Judge(ABC):
    """The three runs of one kernel at one size. ``library`` is CuPy or NumPy."""

    def __init__(self, library: Any, size: Size, seed: int) -> None:
        self.library = library
        self.m, self.n, self.k = size
        self.random = library.random.RandomState(seed + self.m + 3 * self.n + 7 * self.k)

    @abstractmethod
    def product(self, a: Any, b: Any) -> Any:
        """Return the kernel's C for A and B, NaN where it wrote nothing.

        Raises:
            WrongResultError: the kernel did something wrong on the way.
        """

    def run(self) -> float:
        """Return the largest error as a share of the allowed one.

        Raises:
            WrongResultError: the result is wrong.
        """
        self.whole_numbers()
        error = self.random_numbers()
        self.special_values()
        return error

    def whole_numbers(self) -> None:
        """Multiply matrices whose product float32 holds exactly."""
        most = 8 if 64 * self.k <= _EXACT else 1
        a = self.random.randint(-most, most + 1, (self.m, self.k)).astype("float32")
        b = self.random.randint(-most, most + 1, (self.k, self.n)).astype("float32")
        c = self.product(a, b)
        expected = a.astype("float64") @ b.astype("float64")
        self.reject(c != expected, c, expected, "on whole numbers, where float32 is exact")

    def random_numbers(self) -> float:
        """Multiply twice; return the largest error as a share of the bound."""
        a = self.random.uniform(-0.5, 0.5, (self.m, self.k)).astype("float32")
        b = self.random.uniform(-0.5, 0.5, (self.k, self.n)).astype("float32")
        c = self.product(a, b)
        if not self.library.array_equal(c, self.product(a, b)):
            raise WrongResultError(
                "Two runs on the same matrices gave different results. "
                "Threads race: look for a missing __syncthreads()."
            )
        share = rounding_shares(a, b, c)
        expected = a.astype("float64") @ b.astype("float64")
        self.reject(~(share <= 1), c, expected, "by more than rounding explains")
        return float(share.max())

    def special_values(self) -> None:
        """Multiply matrices that hold NaN and infinity."""
        most = 4 if 16 * self.k <= _EXACT else 1
        a = self.random.randint(1, most + 1, (self.m, self.k)).astype("float32")
        b = self.random.randint(1, most + 1, (self.k, self.n)).astype("float32")
        nan, inf = float("nan"), float("inf")
        a[self.m // 2, self.k // 3] = nan
        a[self.m - 1, self.k - 1] = inf
        b[self.k // 2, self.n // 3] = nan
        b[self.k - 1, self.n - 1] = -inf
        c = self.product(a, b)
        expected = a.astype("float64") @ b.astype("float64")
        same = (c == expected) | (self.library.isnan(c) & self.library.isnan(expected))
        self.reject(~same, c, expected, "where A and B hold NaN and infinity")

    def reject(self, wrong: Any, c: Any, expected: Any, where: str) -> None:
        """Raise a WrongResultError if any element is marked as wrong."""
        count = int(wrong.sum())
        if count == 0:
            return
        row, col = (int(i) for i in self.library.argwhere(wrong)[0])
        got, right = float(c[row, col]), float(expected[row, col])
        unwritten = int((self.library.isnan(c) & ~self.library.isnan(expected)).sum())
        hint = (
            f" {unwritten:,} are NaN: never written, or spoiled by a read outside A or B."
            if unwritten
            else ""
        )
        raise WrongResultError(
            f"{count:,} of {c.size:,} elements are wrong {where}. "
            f"The first is C[{row}, {col}]: {got:.9g} instead of {right:.9g}.{hint}"
        )


class _GpuJudge(Judge):
    """Runs the kernel on the GPU."""

    def __init__(self, cupy: Any, loaded: LoadedKernel, size: Size, seed: int, shift: int) -> None:
        super().__init__(cupy, size, seed)
        self.loaded = loaded
        self.shift = shift

    def product(self, a: Any, b: Any) -> Any:
        a = self.guarded(a, float("nan"))
        b = self.guarded(b, float("nan"))
        zone = self.library.full(GUARD * 2 + self.m * self.n, _PATTERN, dtype="float32")
        first = GUARD + self.shift
        c = zone[first : first + self.m * self.n].reshape(self.m, self.n)
        c.fill(float("nan"))
        self.loaded(a, b, c)
        self.library.cuda.get_current_stream().synchronize()
        outside = (zone[:first], zone[first + self.m * self.n :])
        if any(bool((part != self.library.float32(_PATTERN)).any()) for part in outside):
            raise WrongResultError("It wrote outside C. Guard the store: row < M and col < N.")
        return c

    def guarded(self, matrix: Any, value: float) -> Any:
        """Return a contiguous copy of a matrix that lies between zones of ``value``."""
        zone = self.library.full(GUARD * 2 + matrix.size, value, dtype="float32")
        first = GUARD + self.shift
        inside = zone[first : first + matrix.size].reshape(matrix.shape)
        inside[...] = matrix
        return inside
