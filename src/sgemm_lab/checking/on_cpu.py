"""Is a kernel right? Checked by simulation, with no GPU."""

from collections.abc import Iterable, Iterator

import numpy as np

from sgemm_lab.checking.judge import AWKWARD_SIZES, CheckResult, Judge, WrongResultError
from sgemm_lab.counting.of_kernel import Matrix, check_size, launch
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import ENTRY, Kernel, Size
from sgemm_lab.simulator import EndlessLoopError

QUICK_SIZES = tuple(size for size in AWKWARD_SIZES if size[0] * size[1] * size[2] <= 64**3)
"""The awkward sizes that take moments to simulate."""

SMALL_SIZES: tuple[Size, ...] = ((1, 1, 1), (17, 17, 17), (33, 31, 29), (34, 36, 65))
"""The fewest that tell most: one element, ragged, and several windows along K."""


def check_here(
    kernel: Kernel, sizes: Iterable[Size] = QUICK_SIZES, *, seed: int = 0
) -> Iterator[CheckResult]:
    """Check a kernel by simulation, size by size, as ``check`` does on a GPU.

    C is judged on whole numbers, on random numbers, and where A and B hold NaN and infinity. What
    the simulator finds on the way is a fault too: an access outside an array, a misaligned one, a
    read of what nothing wrote, a race, a missed barrier.

    Raises:
        LabError: the kernel does not compile, or cannot be compiled here.
    """
    ptx = kernel_ptx(kernel)
    for m, n, k in sizes:
        fault, refusal, error = None, None, 0.0
        try:
            check_size((m, n, k))
            with np.errstate(all="ignore"):
                error = _JudgeHere(kernel, ptx, (m, n, k), seed).run()
        except WrongResultError as wrong:
            fault, error = str(wrong), float("inf")
        except LabError as refused:
            refusal = str(refused)
        yield CheckResult(kernel.name, m, n, k, fault, refusal, error)


class _JudgeHere(Judge):
    """Runs the kernel in the simulator."""

    def __init__(self, kernel: Kernel, ptx: str, size: Size, seed: int) -> None:
        super().__init__(np, size, seed)
        self.shape = kernel.launch_shape(*size)
        self.ptx = ptx
        self.last: tuple[Matrix, Matrix] | None = None

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        # A simulated launch gives the same bits again; a race is found by watching the accesses,
        # which do not depend on the numbers.
        if self.last is not None and self.last[0] is a:
            return self.last[1]
        watch = self.last is None
        try:
            result = launch(self.ptx, ENTRY, self.shape, a, b, check_hazards=watch)
        except EndlessLoopError as endless:
            raise WrongResultError(str(endless)) from None
        if result.hazards:
            raise WrongResultError(str(result.hazards[0]))
        c = result.arrays["C"].reshape(self.m, self.n)
        self.last = (a, c)
        return c
