"""Walks in JavaScript: the same data as in Python, for the toys of the chapters and for faults."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from in_node import in_node
from walk_samples import WRONG

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.counting.register_names import register_names
from sgemm_lab.counting.step_trace import walk
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size, parse_kernel

ENTRY = Path(__file__).with_name("walking.js")
CHAPTERS = Path(__file__).parents[2] / "chapters"
_EMBEDDED = re.compile(r'lab\.step\("([^"]+)", size=\((\d+), (\d+), (\d+)\)\)')

PRODUCERS = load_kernel("producers:BM=64,BN=64,TM=4,TN=4,WM=16,WN=32,STAGES=2")


def embedded() -> list[tuple[Kernel, Size]]:
    """Return what the chapters step through."""
    pages = [page.read_text(encoding="utf-8") for page in sorted(CHAPTERS.glob("*.md"))]
    found = [match for page in pages for match in _EMBEDDED.findall(page)]
    return [(load_kernel(name), (int(m), int(n), int(k))) for name, m, n, k in found]


def wrong(name: str, **constants: int) -> Kernel:
    return parse_kernel(name, (WRONG / f"{name}.cu").read_text()).with_constants(**constants)


def faulty() -> list[tuple[Kernel, Size]]:
    return [
        (wrong("missing_second_barrier", TILE=2), (4, 4, 4)),
        (wrong("misaligned_vector", TILE=4, BK=4), (4, 4, 6)),
        (wrong("outside_load", TILE=2), (3, 4, 4)),
        (wrong("outside_store"), (3, 3, 3)),
        (wrong("dropped_tail", TILE=2), (4, 4, 3)),
    ]


def b_first() -> Kernel:
    tiled = load_kernel("tiled:TILE=2")
    text = tiled.source.replace("As[ty][k] * Bs[k][tx]", "Bs[k][tx] * As[ty][k]")
    return parse_kernel("b_first", text)


def others() -> list[tuple[Kernel, Size]]:
    """Edges, products with a side of one, shared memory without a shape, and what is refused."""
    return [
        (load_kernel("naive"), (3, 5, 1)),
        (load_kernel("strip:TILE=2"), (4, 4, 8)),
        (load_kernel("tiled:TILE=2"), (3, 5, 3)),
        (b_first(), (4, 4, 4)),
        (load_kernel("naive"), (4, 40, 8)),
        (load_kernel("large_tile"), (8, 8, 8)),
        (load_kernel("producers"), (8, 8, 8)),
    ]


def in_parts() -> list[tuple[Kernel, Size]]:
    """Warps that wait for some others only: of two parties and of one, right, racing and stuck."""
    stuck = PRODUCERS.source.replace("waitFor(&emptied[now], 1 - phase);", "")
    early = PRODUCERS.source.replace("waitFor(&filled[0], 0);", "")
    return [
        (PRODUCERS, (4, 4, 20)),
        (PRODUCERS, (6, 12, 9)),
        (parse_kernel("early", early), (4, 4, 20)),
        (parse_kernel("stuck", stuck), (4, 4, 20)),
        (load_kernel("small_tile:TM=4,WM=16,STAGES=2"), (4, 4, 20)),
    ]


def in_python(kernel: Kernel, size: Size) -> Any:
    try:
        return json.loads(json.dumps(walk(kernel, size)))
    except LabError as error:
        return {"raised": type(error).__name__, "message": str(error)}


@pytest.mark.parametrize("drawn", [embedded, faulty, others, in_parts])
def test_walks_are_the_same_in_both_languages(drawn: Any) -> None:
    kernels = drawn()
    assert len(kernels) >= 5
    mine = in_node(
        ENTRY,
        [["walked", one.name, one.source, kernel_ptx(one), size] for one, size in kernels],
    )
    for (kernel, size), found in zip(kernels, mine, strict=True):
        meant = in_python(kernel, size)
        where = f"{kernel.name} at {size}"
        assert found.keys() == meant.keys(), f"{where}: {found.get('message')}"
        for key in meant:
            assert found[key] == meant[key], f"{where}: {key}"


def test_register_names_are_the_same_for_every_line_of_the_book() -> None:
    cases: list[list[Any]] = []
    for kernel in load_kernels():
        source = kernel.source.splitlines()
        lines = [line for line in source if "+=" in line] or [""]
        cases += [["names", source, line] for line in lines]
    meant = [register_names(source, line) for _, source, line in cases]
    assert in_node(ENTRY, cases) == meant
