"""Is a kernel right? Checked by simulation, with no GPU: see ``simulated.ts``."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sgemm_lab.checking.judge import QUICK_SIZES, TIME_LIMIT, CheckResult
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.simulator import worker


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
    and B hold NaN and infinity. What the simulator finds on the way is a fault too: an access
    outside an array, a misaligned one, a read of what nothing wrote, a race, a missed barrier. A
    launch that takes longer than ``time_limit`` seconds is given up, and the sizes after it are not
    tried.
    """
    given = {
        "kernel": kernel.name,
        "source": kernel.source,
        "ptx": kernel_ptx(kernel),
        "seed": seed,
        "timeLimit": time_limit,
        "onlyWholeNumbers": only_whole_numbers,
    }
    for size in sizes:
        answer = worker.ask("check", {**given, "size": size})
        result = CheckResult(**answer["result"])
        # JSON has no infinity.
        yield replace(result, error=float("inf")) if result.fault else result
        if answer["late"]:
            return
