"""One product by a plan, for a reader: on all GPUs of this process, or as one rank of several."""

import os
import statistics
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.elements import fill, worst_share
from sgemm_lab.multi_gpu.engine import COPY, NCCL, Engine
from sgemm_lab.multi_gpu.numpy_backend import run as run_in_numpy
from sgemm_lab.multi_gpu.plan import Plan, Tile
from sgemm_lab.multi_gpu.process_group import Team, alone, by_file, by_mpi
from sgemm_lab.multi_gpu.validity import check
from sgemm_lab.text import size_text

_MPI_RANKS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")
"""What Open MPI, MPICH and Intel's MPI tell each rank of."""
_TURNS = 5
MOST_IN_NUMPY = 2**33
"""Multiply-adds that NumPy does in seconds."""


@dataclass(frozen=True)
class Outcome:
    """What a product took, and how right it is."""

    gpus: int
    transport: str
    seconds: float
    tflops: float
    worst_share: float
    """The largest error of sampled rows, as a share of what rounding allows."""
    speaks: bool
    """Whether this process is the one that tells of it."""


def under_mpi() -> bool:
    """Say whether ``mpirun`` started this process as one of several."""
    return any(int(os.environ.get(name, "1")) > 1 for name in _MPI_RANKS)


def assemble(
    gpus: int, transport: str, meet: Path | None, rank: int, ranks: int, seconds: float
) -> Team:
    """Return the team: the ranks of ``mpirun``, those who meet by a file, or this process alone.

    Raises:
        LabError: it does not come together in so many seconds.
    """
    if under_mpi():
        return by_mpi(seconds)
    if meet is not None:
        return by_file(meet, rank, ranks, seconds)
    return alone(gpus, nccl=transport == NCCL, seconds=seconds)


def multiply(
    plan: Plan, team: Team, inside: str, transport: str, *, graph: bool, seconds: float
) -> Outcome:
    """Run a plan some times; tell the median, and check sampled rows against float64.

    A run may take so many seconds.

    Raises:
        LabError: it cannot run, takes too long, or C is wrong.
    """
    engine = Engine(plan, team, inside=inside, transport=transport, time_limit=seconds)
    program = engine.program()
    program.run()
    if graph:
        program.capture()
    took = statistics.median(program.run() for _ in range(_TURNS))
    engine.poison()
    program.run()
    program.release()
    worst = engine.check()
    if not worst <= 1:
        raise LabError(f"C is wrong: sampled rows are off {worst:.3g} times what rounding allows.")
    return Outcome(
        plan.gpus, transport, took, plan.flop / took / 1e12, worst, speaks=0 in team.devices
    )


def in_numpy(plan: Plan) -> float:
    """Run a plan in NumPy, a GPU after the other; return how wrong sampled rows are.

    It is the largest error as a share of what rounding allows.

    Raises:
        LabError: the product is too large for that, the plan is wrong, or C is.
    """
    m, n, k = plan.size
    if m * n * k > MOST_IN_NUMPY:
        raise LabError(
            f"{size_text(plan.size)} takes NumPy too long. Choose a smaller size, such as 1000."
        )
    check(plan)
    a, b = (np.empty(shape, "float32") for shape in ((m, k), (k, n)))
    fill(np, a, Tile("A", 0, 0, m, k))
    fill(np, b, Tile("B", 0, 0, k, n))
    share = worst_share(np, run_in_numpy(plan, a, b), Tile("C", 0, 0, m, n), plan.size)
    if not share <= 1:
        raise LabError(f"C is wrong: it is off {share:.3g} times what rounding allows.")
    return share


def usual_transport(*, processes: bool) -> str:
    """Return who carries where nobody says: NCCL between processes, the copy engine within one."""
    return NCCL if processes else COPY
