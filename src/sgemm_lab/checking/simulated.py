"""Is a kernel right? Checked by simulation, with no GPU."""

from collections.abc import Iterable, Iterator

import numpy as np

from sgemm_lab.checking.judge import (
    QUICK_SIZES,
    TIME_LIMIT,
    CheckResult,
    Judge,
    WrongResultError,
)
from sgemm_lab.counting.kernel_counts import WORKSPACE, launch
from sgemm_lab.counting.launch_limits import Matrix, check_size
from sgemm_lab.counting.shared_arrays import shared_parts
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import ENTRY, Kernel, Size
from sgemm_lab.simulator import DeadlockError, EndlessLoopError, TimeLimitError
from sgemm_lab.simulator.hazards import most_relevant


def check_simulated(
    kernel: Kernel,
    sizes: Iterable[Size] = QUICK_SIZES,
    *,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
    only_whole_numbers: bool = False,
) -> Iterator[CheckResult]:
    """Check a kernel by simulation, size by size, as ``check`` does on a GPU.

    C is judged on whole numbers, and unless ``only_whole_numbers``, on random numbers, and where A
    and B hold NaN and infinity. What
    the simulator finds on the way is a fault too: an access outside an array, a misaligned one, a
    read of what nothing wrote, a race, a missed barrier. A launch that takes longer than
    ``time_limit`` seconds is given up, and the sizes after it are not tried.

    Raises:
        LabError: the kernel does not compile, or cannot be compiled here.
    """
    ptx = kernel_ptx(kernel)
    for m, n, k in sizes:
        fault, refusal, error, late = None, None, 0.0, False
        try:
            check_size((m, n, k))
            with np.errstate(all="ignore"):
                judge = _JudgeHere(kernel, ptx, (m, n, k), seed, time_limit)
                error = judge.run(only_whole_numbers=only_whole_numbers)
        except WrongResultError as wrong:
            fault, error = str(wrong), float("inf")
        except LabError as refused:
            refusal, late = str(refused), isinstance(refused, TimeLimitError)
        yield CheckResult(kernel.name, m, n, k, fault, refusal, error)
        if late:
            return


class _JudgeHere(Judge):
    """Runs the kernel in the simulator."""

    def __init__(self, kernel: Kernel, ptx: str, size: Size, seed: int, time_limit: float) -> None:
        super().__init__(np, size, seed, kernel.arithmetic)
        self.shape = kernel.launch_shape(*size)
        self.parts = shared_parts(kernel)
        self.ptx = ptx
        self.time_limit = time_limit
        self.last: tuple[Matrix, Matrix] | None = None
        self.left: Matrix | None = None
        """The workspace after the last launch."""

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        # A simulated launch gives the same bits again; a race is found by watching the accesses,
        # which do not depend on the numbers.
        if self.last is not None and self.last[0] is a:
            return self.last[1]
        watch = self.last is None
        try:
            result = launch(
                self.ptx,
                ENTRY,
                self.shape,
                a,
                b,
                check_hazards=watch,
                watch_races_in=("C",) if watch else (),
                count_requests=False,
                time_limit=self.time_limit,
                shared_parts=self.parts,
                workspace=self.left,
            )
        except (EndlessLoopError, DeadlockError) as endless:
            raise WrongResultError(str(endless)) from None
        if result.hazards:
            # Warps that pass different barriers explain what else is found.
            found = (most_relevant(result.hazards), *result.warnings[:1])
            raise WrongResultError(" ".join(map(str, found)))
        for name, given in (("A", a), ("B", b)):
            self.refuse_changed(name, given, result.arrays[name])
        self.left = result.arrays.get(WORKSPACE)
        c = result.arrays["C"].reshape(self.m, self.n)
        self.last = (a, c)
        return c
