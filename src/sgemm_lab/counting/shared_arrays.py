"""The arrays that a kernel keeps in shared memory, read from its source by ``shared_arrays.ts``."""

from sgemm_lab.kernel import Kernel
from sgemm_lab.simulator import worker

SharedPart = tuple[str, int, int]
"""An array inside dynamic shared memory: its name, its first byte there, and its bytes."""


def shared_shapes(kernel: Kernel) -> dict[str, list[int]]:
    """Return the shape of each array in shared memory, such as [8, 132] for ``As[BK][BM + PAD]``.

    An array whose size the launch decides is left out.
    """
    given = {"kernel": kernel.name, "source": kernel.source}
    return dict(worker.ask("shared_shapes", given))


def shared_parts(kernel: Kernel) -> tuple[SharedPart, ...]:
    """Return the arrays that a kernel places in its dynamic shared memory.

    They stand in the source as ``auto& As = *reinterpret_cast<float(*)[BK][BM]>(shared + …);``.
    """
    found = worker.ask("shared_parts", {"kernel": kernel.name, "source": kernel.source})
    return tuple((name, first, count) for name, first, count in found)
