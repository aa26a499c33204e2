"""The stepper: every access of a kernel at a toy size, one after the other."""

from sgemm_lab.counting.step_trace import trace_steps
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.arguments import kernel_of, without_tool
from sgemm_lab.widgets import Steps


@without_tool
def step(kernel: str | Kernel, size: Size, *, at: int | None = None) -> Steps:
    """Step through every access that a kernel makes at a toy size.

    M and N go up to 12, and K with the larger of the two up to 24. Where the compiler is missing,
    the output says what to install.

    Args:
        at: how many steps have been made when it opens. Default: none, or all up to a fault.
    """
    made = {} if at is None else {"step": at}
    return Steps(trace_steps(kernel_of(kernel), size), **made)
