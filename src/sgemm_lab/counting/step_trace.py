"""A kernel at a toy size, step by step: data for the step-through, as ``step_trace.ts`` makes it.

A and B hold different numbers everywhere. So each value that a thread reads, multiplies or writes
identifies the element it is a copy of.
"""

from typing import Any

from sgemm_lab.counting import sentence
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.simulator import worker
from sgemm_lab.text import size_text

_TIME_LIMIT = 300.0
"""Seconds that the simulation may take; that of a kernel of the book takes less than one."""
LARGEST_SIDE = 12
"""M and N up to which cells can be told apart in a picture."""
LARGEST_SUM = 24
"""And K with the larger of the two: A stands left of C, and B above it."""


StepTrace = dict[str, Any]
"""A launch to step through: its form is that of ``StepTrace`` in ``step_trace.ts``."""


def trace_steps(kernel: Kernel, size: Size) -> StepTrace:
    """Simulate a launch and return every access and product of it, block by block.

    Reads of shared memory and products use registers only, so the compiler mixes them. They are
    given as the source has them: for each k first what is read, then what is multiplied.

    A kernel that reads or writes where it must not is traced too: the first such step of a block
    says what is wrong with it.

    Of large tiles the part that stays zero is left out, and with it the threads that only work
    on that part.
    """
    refuse_large(size)
    given = {
        "kernel": kernel.name,
        "source": kernel.source,
        "ptx": kernel_ptx(kernel),
        "size": size,
        "timeLimit": _TIME_LIMIT,
    }
    found: StepTrace = worker.ask("trace_steps", given)
    return found


def refuse_large(size: Size) -> None:
    """Refuse matrices whose cells could not be told apart in a picture."""
    m, n = (min(side, LARGEST_SIDE) for side in size[:2])
    fits = (m, n, min(size[2], LARGEST_SUM - max(m, n)))
    if fits != tuple(size):
        limits = {"most": LARGEST_SIDE, "together": LARGEST_SUM, "fits": size_text(fits)}
        raise LabError(sentence("trace.large", size=size_text(size), **limits))
