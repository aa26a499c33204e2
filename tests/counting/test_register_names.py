"""What a kernel's source calls its registers."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from in_node import in_node

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.files import PACKAGE

V = {"name": "v", "vector": True}


def names_of(*cases: tuple[Sequence[str], str]) -> list[dict[str, Any]]:
    """The names of registers, for sources and a line of each."""
    entry = PACKAGE / "counting" / "register_names.ts"
    return in_node(entry, [["registerNames", *case] for case in cases])


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
    (found,) = names_of(([], line))
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
    (found,) = names_of((source, ""))
    assert found["fetched_a"] == name


def test_fragments_of_the_books_kernels_have_their_names() -> None:
    kernels = [kernel for kernel in load_kernels() if "float fragA" in kernel.source]
    assert len(kernels) > 8
    cases = []
    for kernel in kernels:
        source = kernel.source.splitlines()
        (line,) = (text for text in source if re.search(r"acc\[i\]\[j\] \+=", text))
        cases.append((source, line))
    for found in names_of(*cases):
        assert found["sum"] == "acc[i][j]"
        # From "register_prefetch" on, fragments are held twice; the first index says which.
        assert found["a"] in ("fragA[i]", "fragA[k % 2][i]")
        assert found["b"] in ("fragB[j]", "fragB[k % 2][j]")
