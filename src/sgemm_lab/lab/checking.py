"""Is a kernel right? Checked on the GPU, or by simulation where there is none."""

from collections.abc import Sequence

from sgemm_lab.catalogue import is_builtin
from sgemm_lab.checking.judge import AWKWARD_SIZES, QUICK_SIZES, CheckResult, bound_text, summary
from sgemm_lab.checking.on_gpu import check
from sgemm_lab.checking.sandbox import check_sandboxed
from sgemm_lab.checking.simulated import check_simulated
from sgemm_lab.cuda.launch import current_device
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, table
from sgemm_lab.text import size_text


def verdict(kernels: list[Kernel], *, simulated: bool = False) -> Output:
    """Check kernels and return the verdicts as a table.

    On a GPU a reader's own kernel runs in a separate process: it may never end, or stop the GPU.
    """
    live = session.live() and not simulated
    lacking = session.lacking(kernels) if live else kernels
    sizes = AWKWARD_SIZES if live else QUICK_SIZES
    rows = []
    for kernel in kernels:
        if kernel in lacking:
            found = check_simulated(kernel, QUICK_SIZES)
        else:
            found = (check if is_builtin(kernel) else check_sandboxed)(kernel, sizes)
        rows.append([kernel.title, judgement(list(found))])
    note = "Simulated, without a GPU: the compiled kernel ran on a processor."
    if live:
        note = f"Checked here, on {current_device().name}, against float64."
    if live and lacking:
        note += f" {session.lacking_words(lacking)} So the compiled kernel ran on the processor."
    arithmetics = {kernel.arithmetic: None for kernel in kernels if kernel.arithmetic != "fp32"}
    note += "".join(f" In {one}: {bound_text(one)}" for one in arithmetics)
    listed = ", ".join(size_text(size) for size in sizes[:6])
    more = f" and {len(sizes) - 6} more" if len(sizes) > 6 else ""
    return table(["kernel", "verdict"], rows, note=f"{note} Sizes: {listed}{more}.", numbers=2)


def judgement(results: Sequence[CheckResult]) -> str:
    """Say how a kernel did, and where it was wrong what was wrong first."""
    wrong = next((result for result in results if result.fault), None)
    if wrong is None:
        return summary(results)
    count = sum(result.fault is not None for result in results)
    size = size_text((wrong.m, wrong.n, wrong.k))
    return f"WRONG at {count} of {len(results)} sizes. At {size}: {wrong.fault}"
