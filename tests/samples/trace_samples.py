"""Launches to step through: the book's own kernels at toy sizes."""

from functools import cache
from pathlib import Path

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.step_trace import StepTrace, trace_steps
from sgemm_lab.kernel import parse_kernel

WRONG = Path(__file__).parents[1] / "wrong_kernels"


@cache
def toy(name: str, m: int, n: int, k: int) -> StepTrace:
    return trace_steps(load_kernel(name), (m, n, k))


def sliding_window() -> StepTrace:
    return toy("sliding_window:TILE=2,BK=2", 4, 4, 8)


def register_cache() -> StepTrace:
    return toy("register_cache:BM=4,BN=4,BK=4,TM=4,TN=4", 8, 8, 8)


@cache
def wrong(name: str) -> StepTrace:
    return failing(name, (4, 4, 4), TILE=2)


def failing(name: str, size: tuple[int, int, int], **constants: int) -> StepTrace:
    kernel = parse_kernel(name, (WRONG / f"{name}.cu").read_text())
    return trace_steps(kernel.with_constants(**constants), size)


def misaligned() -> StepTrace:
    """Row 1 of A begins at byte 24: a float4 load there faults."""
    return failing("misaligned_vector", (4, 4, 6), TILE=4, BK=4)


def outside() -> StepTrace:
    """A has 3 rows and the tile 2: the blocks below read past the end of A."""
    return failing("outside_load", (3, 4, 4), TILE=2)


def late_fault() -> StepTrace:
    """A column too many reads past the end of B, in its last row."""
    return failing("outside_store", (3, 3, 3))
