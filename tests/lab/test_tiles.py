"""Which elements a thread owns, read off the requests of the real kernels."""

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.lab.tiles import intervals, part_of, runs_text


@pytest.mark.parametrize(
    ("name", "thread", "rows", "columns"),
    [
        ("float4_tile", 255, [(120, 127)], [(120, 127)]),
        ("float4_tile", 17, [(8, 15)], [(8, 15)]),
        ("split", 0, [(0, 3), (64, 67)], [(0, 3), (64, 67)]),
        ("split", 255, [(60, 63), (124, 127)], [(60, 63), (124, 127)]),
        ("register_cache", 1, [(0, 3)], [(4, 7)]),
    ],
)
def test_a_thread_reads_the_rows_and_columns_that_it_owns(
    name: str, thread: int, rows: list[tuple[int, int]], columns: list[tuple[int, int]]
) -> None:
    part = part_of(load_kernel(name), thread)
    assert (part.rows, part.columns) == (rows, columns)
    assert (part.read_rows, part.read_columns) == (rows, columns)


def test_runs_of_neighbours() -> None:
    assert intervals([2, 1, 0, 9, 8]) == [(0, 2), (8, 9)]
    assert intervals([]) == []
    assert runs_text([(0, 3), (7, 7)]) == "0–3 and 7"


def test_the_picture_says_who_owns_what() -> None:
    said = repr(lab.owners("float4_tile", "split", threads=(0, 255)))
    assert "in split thread 255 owns rows 60–63 and 124–127" in said
