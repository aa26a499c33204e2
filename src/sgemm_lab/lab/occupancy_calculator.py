"""The occupancy calculator, filled with the book's GPUs."""

from sgemm_lab.lab import session
from sgemm_lab.lab.roofs import chosen_gpu
from sgemm_lab.models.roofline import all_gpus
from sgemm_lab.widgets import Occupancy
from sgemm_lab.widgets.occupancy import Sm


def occupancy(
    *, threads: int = 256, registers: int = 32, shared: int = 0, gpu: str | None = None
) -> Occupancy:
    """Slide what a block uses and see how many blocks an SM holds, and what limits it.

    Args:
        threads: of a block.
        registers: of a thread.
        shared: bytes of a block.
        gpu: an id such as "t4"; by default this machine's GPU, or the one of the records.

    Raises:
        LabError: a GPU that the book does not know, or a number out of range.
    """
    gpus = all_gpus(session.all_records())
    return Occupancy(
        [Sm(id=g.id, name=g.name, compute_capability=g.compute_capability) for g in gpus],
        gpu=chosen_gpu(gpu),
        threads=threads,
        registers=registers,
        shared=shared,
    )
