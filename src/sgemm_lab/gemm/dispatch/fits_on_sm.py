"""Check whether a kernel fits on an SM, by the occupancy model and the kernel's own needs."""

from sgemm_lab.cuda.compiler import Compiled
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.occupancy import LIMITS, Fit, Launch, occupancy
from sgemm_lab.kernel import Kernel
from sgemm_lab.text import plural

RESIDENT_BLOCKS = "BLOCKS"
"""The constant of a kernel with a grid barrier: blocks that must be resident on an SM."""


ANY_SIZE = (256, 256, 256)
"""The resources of a candidate's blocks do not depend on the size."""


def fit_of(kernel: Kernel, compiled: Compiled, compute_capability: str) -> Fit:
    """Return how many blocks of a candidate fit on an SM."""
    limits = LIMITS.get(compute_capability)
    if limits is None:
        raise LabError(
            f"The book has no limits of an SM of compute capability {compute_capability}."
        )
    shape = kernel.launch_shape(*ANY_SIZE)
    shared = compiled.shared_bytes + shape.shared_bytes
    return occupancy(limits, Launch(shape.threads, compiled.registers, shared))


def fit_refusal(kernel: Kernel, compiled: Compiled, compute_capability: str) -> str | None:
    """Return why a kernel is not a candidate on a GPU, or None.

    The reasons: it does not fit on an SM, it spills registers, or its blocks wait for each other
    and are not all resident, which would deadlock.
    """
    try:
        resident = fit_of(kernel, compiled, compute_capability).blocks
    except LabError as refusal:
        return str(refusal)
    needed = kernel.values.get(RESIDENT_BLOCKS, 1)
    if resident < needed:
        return f"{plural(needed, 'block')} must be resident on an SM, which holds {resident}."
    if compiled.spill_bytes:
        return f"It spills {compiled.spill_bytes} bytes of registers per thread."
    return None
