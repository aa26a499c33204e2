"""Does a kernel fit on an SM? By the occupancy model, and by what the kernel itself relies on."""

from sgemm_lab.cuda.compiler import Compiled
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.occupancy import LIMITS, Launch, occupancy
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.text import plural

TOGETHER = "BLOCKS"
"""The constant of a kernel whose blocks wait for each other: how many an SM must hold at once."""


def no_room(kernel: Kernel, compiled: Compiled, compute_capability: str, size: Size) -> str | None:
    """Say in a sentence why a kernel cannot run at a size or is not worth it; None where it fits.

    A kernel whose registers spill is not worth it: its sums would travel through memory. One whose
    blocks wait for each other would never end where they are not all there at once.
    """
    limits = LIMITS.get(compute_capability)
    if limits is None:
        return f"The book does not know what an SM of compute capability {compute_capability} has."
    shape = kernel.launch_shape(*size)
    launch = Launch(shape.threads, compiled.registers, compiled.shared_bytes + shape.shared_bytes)
    try:
        held = occupancy(limits, launch).blocks
    except LabError as refusal:
        return str(refusal)
    wanted = kernel.values.get(TOGETHER, 1)
    if held < wanted:
        return f"{plural(wanted, 'block')} must be on an SM at once, and it holds {held}."
    if compiled.spill_bytes:
        return f"It spills {compiled.spill_bytes} bytes of registers per thread."
    return None
