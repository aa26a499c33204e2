"""Is a kernel right? Checked on this machine's GPU, between guard zones."""

from collections.abc import Iterable, Iterator
from typing import Any

from sgemm_lab.checking.judge import AWKWARD_SIZES, CheckResult, Judge, WrongResultError
from sgemm_lab.cuda.launch import LoadedKernel, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size

GUARD = 1024
"""Elements of guard zone on each side of a matrix."""

_PATTERN = 12345.678


def check(
    kernel: Kernel,
    sizes: Iterable[Size] = AWKWARD_SIZES,
    *,
    seed: int = 0,
    shift: int = 0,
    only_whole_numbers: bool = False,
) -> Iterator[CheckResult]:
    """Check a kernel on the GPU, size by size; see ``Judge.run`` for ``only_whole_numbers``.

    ``shift`` moves the matrices by that many elements off their aligned addresses.
    After an error that leaves the GPU unusable (an illegal address), the iterator ends.
    """
    cupy = require_gpu()
    loaded = LoadedKernel(kernel)
    for m, n, k in sizes:
        judge = _GpuJudge(cupy, loaded, (m, n, k), seed, shift, kernel.arithmetic)
        try:
            error = judge.run(only_whole_numbers=only_whole_numbers)
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


class _GpuJudge(Judge):
    """Runs the kernel on the GPU."""

    def __init__(
        self,
        cupy: Any,
        loaded: LoadedKernel,
        size: Size,
        seed: int,
        shift: int,
        arithmetic: str = "fp32",
    ) -> None:
        super().__init__(cupy, size, seed, arithmetic)
        self.loaded = loaded
        self.shift = shift

    def product(self, a: Any, b: Any) -> Any:
        given = {"A": a, "B": b}
        a, b = (self.guarded(matrix, float("nan")) for matrix in (a, b))
        zone = self.library.full(GUARD * 2 + self.m * self.n, _PATTERN, dtype="float32")
        first = GUARD + self.shift
        c = zone[first : first + self.m * self.n].reshape(self.m, self.n)
        c.fill(float("nan"))
        self.loaded(a, b, c)
        self.library.cuda.get_current_stream().synchronize()
        outside = (zone[:first], zone[first + self.m * self.n :])
        if any(bool((part != self.library.float32(_PATTERN)).any()) for part in outside):
            raise WrongResultError("It wrote outside C. Guard the store: row < M and col < N.")
        for name, after in (("A", a), ("B", b)):
            self.refuse_changed(name, given[name], after)
        return c

    def guarded(self, matrix: Any, value: float) -> Any:
        """Return a contiguous copy of a matrix that lies between zones of ``value``."""
        zone = self.library.full(GUARD * 2 + matrix.size, value, dtype="float32")
        first = GUARD + self.shift
        inside = zone[first : first + matrix.size].reshape(matrix.shape)
        inside[...] = matrix
        return inside
