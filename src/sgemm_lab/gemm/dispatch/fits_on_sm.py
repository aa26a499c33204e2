"""Check whether a kernel fits on an SM, by the occupancy model and the kernel's own needs."""

from sgemm_lab.cuda.compiler import Compiled
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.occupancy import LIMITS, Launch, occupancy
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.text import plural

RESIDENT_BLOCKS = "BLOCKS"
"""The constant of a kernel with a grid barrier: blocks that must be resident on an SM."""


def fit_refusal(
    kernel: Kernel, compiled: Compiled, compute_capability: str, size: Size
) -> str | None:
    """Return why a kernel is not a candidate at a size, or None.

    The reasons: it does not fit on an SM, it spills registers, or its blocks wait for each other
    and are not all resident, which would deadlock.
    """
    limits = LIMITS.get(compute_capability)
    if limits is None:
        return f"The book has no limits of an SM of compute capability {compute_capability}."
    shape = kernel.launch_shape(*size)
    launch = Launch(shape.threads, compiled.registers, compiled.shared_bytes + shape.shared_bytes)
    try:
        resident = occupancy(limits, launch).blocks
    except LabError as refusal:
        return str(refusal)
    needed = kernel.values.get(RESIDENT_BLOCKS, 1)
    if resident < needed:
        return f"{plural(needed, 'block')} must be resident on an SM, which holds {resident}."
    if compiled.spill_bytes:
        return f"It spills {compiled.spill_bytes} bytes of registers per thread."
    return None
