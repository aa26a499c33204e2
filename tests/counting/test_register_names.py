"""What a kernel's source calls its registers."""

import re
from pathlib import Path
from typing import Any

import pytest
from in_node import in_node

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.counting.register_names import register_names

V = {"name": "v", "vector": True}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("acc += As[ty][k] * Bs[k][tx];", ["acc", "As[ty][k]", "Bs[k][tx]"]),
        ("    acc[i][j] += fragA[i] * fragB[j];", ["acc[i][j]", "fragA[i]", "fragB[j]"]),
        ("acc[i] += As[ty * TM + i][k] * b;", ["acc[i]", "As[ty * TM + i][k]", "b"]),
        ("s += B[k * N + c] * A[r * K + k];", ["s", "A[r * K + k]", "B[k * N + c]"]),
        ("acc = fmaf(a, b, acc);", ["sum", "a", "b"]),
        ("acc += a * b * c;", ["acc", "a", "b"]),
        ("", ["sum", "a", "b"]),
    ],
)
def test_a_sum_and_its_factors(line: str, names: list[str]) -> None:
    found = register_names([], line)
    assert [found["sum"], found["a"], found["b"]] == names


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (["float4 a, b;", "a = load4(&Ablock[rA * K], left);"], {"name": "a", "vector": True}),
        (["const float4 v = load4(&A[k], left);"], V),
        (["const float x = A[row * K + k];"], {"name": "x", "vector": False}),
        (["__shared__ float As[8][8];", "As[ty][tx] = A[row * K + k];"], None),
        (["__shared__ float As[8][8];", "const float x = As[ty][tx];"], None),
        (["auto& As = *reinterpret_cast<float(*)[8][8]>(shared);", "a[i] = As[k][i];"], None),
        (["// float4 v = A[0];"], None),
    ],
)
def test_what_has_been_fetched_has_a_name_or_none(source: list[str], name: object) -> None:
    assert register_names(source, "")["fetched_a"] == name


def test_fragments_of_the_books_kernels_have_their_names() -> None:
    kernels = [kernel for kernel in load_kernels() if "float fragA" in kernel.source]
    assert len(kernels) > 8
    for kernel in kernels:
        (line,) = (
            text for text in kernel.source.splitlines() if re.search(r"acc\[i\]\[j\] \+=", text)
        )
        found = register_names(kernel.source.splitlines(), line)
        assert found["sum"] == "acc[i][j]"
        # From "register_prefetch" on, fragments are held twice; the first index says which.
        assert found["a"] in ("fragA[i]", "fragA[k % 2][i]")
        assert found["b"] in ("fragB[j]", "fragB[k % 2][j]")


def test_typescript_gives_every_line_of_the_book_the_same_names() -> None:
    cases: list[list[Any]] = []
    for kernel in load_kernels():
        source = kernel.source.splitlines()
        lines = [line for line in source if "+=" in line] or [""]
        cases += [["names", source, line] for line in lines]
    meant = [register_names(source, line) for _, source, line in cases]
    assert in_node(Path(__file__).with_name("tracing.js"), cases) == meant
