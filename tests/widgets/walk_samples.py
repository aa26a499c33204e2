"""Launches to step through: the book's own kernels at toy sizes."""

from functools import cache
from pathlib import Path

from sgemm_lab.kernel import load_kernel, parse_kernel
from sgemm_lab.stepping import Walk, walk

WRONG = Path(__file__).parents[1] / "wrong_kernels"


@cache
def toy(name: str, m: int, n: int, k: int) -> Walk:
    return walk(load_kernel(name), (m, n, k))


def sliding_window() -> Walk:
    return toy("sliding_window:TILE=2,BK=2", 4, 4, 8)


def register_cache() -> Walk:
    return toy("register_cache:BM=4,BN=4,BK=4,TM=4,TN=4", 8, 8, 8)


@cache
def wrong(name: str) -> Walk:
    kernel = parse_kernel(name, (WRONG / f"{name}.cu").read_text()).with_constants(TILE=2)
    return walk(kernel, (4, 4, 4))
