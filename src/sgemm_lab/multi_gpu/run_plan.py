"""Run one product by a plan: on all GPUs of this process, or as one of several ranks."""

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
from sgemm_lab.multi_gpu.process_group import (
    ProcessGroup,
    join_by_file,
    join_by_mpi,
    single_process,
)
from sgemm_lab.multi_gpu.validity import check
from sgemm_lab.text import size_text

_MPI_RANKS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")
"""Variables with the number of ranks, of Open MPI, MPICH and Intel's MPI."""
_TURNS = 5
MOST_IN_NUMPY = 2**33
"""Multiply-adds that NumPy computes within seconds."""


@dataclass(frozen=True)
class Outcome:
    """Time and error of a product."""

    gpus: int
    transport: str
    seconds: float
    tflops: float
    worst_share: float
    """Largest error of sampled rows over the rounding bound."""
    speaks: bool
    """Whether this process prints the result (rank 0)."""


def is_mpi_rank() -> bool:
    """Whether ``mpirun`` started this process as one of several ranks."""
    return any(int(os.environ.get(name, "1")) > 1 for name in _MPI_RANKS)


def join_process_group(
    gpus: int, transport: str, meet: Path | None, rank: int, ranks: int, seconds: float
) -> ProcessGroup:
    """Join the process group: by ``mpirun``, by a file, or with this process alone.

    Raises:
        LabError: the ranks do not join within ``seconds``.
    """
    if is_mpi_rank():
        return join_by_mpi(seconds)
    if meet is not None:
        return join_by_file(meet, rank, ranks, seconds)
    return single_process(gpus, nccl=transport == NCCL, seconds=seconds)


def multiply(
    plan: Plan, group: ProcessGroup, inside: str, transport: str, *, graph: bool, seconds: float
) -> Outcome:
    """Run a plan several times; return the median, and check sampled rows against float64.

    Raises:
        LabError: it cannot run, a run takes longer than ``seconds``, or C is wrong.
    """
    engine = Engine(plan, group, inside=inside, transport=transport, time_limit=seconds)
    program = engine.program()
    program.run()
    if graph:
        program.capture()
    took = statistics.median(program.run() for _ in range(_TURNS))
    engine.fill_nan()
    program.run()
    program.release()
    worst = engine.check()
    if not worst <= 1:
        raise LabError(f"C is wrong: sampled rows have {worst:.3g} times the rounding bound.")
    return Outcome(
        plan.gpus, transport, took, plan.flop / took / 1e12, worst, speaks=0 in group.devices
    )


def in_numpy(plan: Plan) -> float:
    """Run a plan in NumPy; return the largest error of sampled rows over the rounding bound.

    Raises:
        LabError: the product is too large, or the plan or C is wrong.
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
        raise LabError(f"C is wrong: its error is {share:.3g} times the rounding bound.")
    return share


def default_transport(*, processes: bool) -> str:
    """Return the default transport: NCCL between processes, copy engines within one."""
    return NCCL if processes else COPY
