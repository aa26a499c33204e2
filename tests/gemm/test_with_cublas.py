"""Where cuBLAS is taken by its times at shapes near by."""

from types import SimpleNamespace
from typing import Any

import pytest

from sgemm_lab.gemm.dispatch import library
from sgemm_lab.gemm.dispatch.library import LibraryRatio, WithCublas
from sgemm_lab.records.dispatch_table import LibraryShape

BEHIND, AHEAD = (128, 6528, 7480), (4096, 4096, 4096)
SHAPES = [
    LibraryShape(*BEHIND, 0.75),
    LibraryShape(*AHEAD, 1.13),
    LibraryShape(127, 6530, 7483, 0.9),
]
ADDRESSES = 16, 32, 48


def test_a_measured_shape_has_nearly_its_own_ratio() -> None:
    ratio = LibraryRatio(SHAPES[:2])
    assert ratio(BEHIND) == pytest.approx(0.75, rel=0.03)
    assert ratio(AHEAD) == pytest.approx(1.13, rel=0.03)


def test_at_a_measured_shape_no_margin_is_asked_for() -> None:
    barely, near = (16384, 16384, 16384), (16384, 16384, 15360)
    ratio = LibraryRatio([LibraryShape(*barely, 1.04), LibraryShape(*BEHIND, 0.99)])
    taken = [ratio.favours_library(size) for size in (barely, near, BEHIND)]
    assert taken == [False, True, True]


def test_far_from_all_shapes_both_are_expected_to_be_as_fast() -> None:
    assert LibraryRatio(SHAPES)((1, 1, 100_000)) == pytest.approx(1)
    assert LibraryRatio([])((64, 64, 64)) == 1


def test_rows_that_float4_cannot_read_are_another_place() -> None:
    aligned, other = (LibraryRatio(SHAPES)((128, n, 7480)) for n in (6528, 6529))
    assert aligned < other < 1


@pytest.fixture
def multiply(monkeypatch: pytest.MonkeyPatch) -> tuple[WithCublas, list[str]]:
    launched: list[str] = []

    class Cublas:
        def __init__(self, *_: Any) -> None: ...
        def launch(self, *_: Any) -> None:
            launched.append("cublas")

    kernels: Any = SimpleNamespace(
        library_shapes=SHAPES, launch=lambda *_: launched.append("kernel")
    )
    monkeypatch.setattr(library, "require_gpu", lambda: None)
    monkeypatch.setattr(library, "has_cublas", lambda: True)
    monkeypatch.setattr(library, "Cublas", Cublas)
    return WithCublas(kernels), launched


def test_cublas_is_taken_where_it_was_faster(multiply: tuple[WithCublas, list[str]]) -> None:
    product, launched = multiply
    for size in (BEHIND, AHEAD, BEHIND):
        product.launch(*ADDRESSES, size)
    assert launched == ["cublas", "kernel", "cublas"]


def test_matrices_at_odd_addresses_are_left_to_the_kernels(
    multiply: tuple[WithCublas, list[str]],
) -> None:
    product, launched = multiply
    product.launch(20, 32, 48, BEHIND)
    assert launched == ["kernel"]


def test_without_cublas_the_kernels_multiply(
    multiply: tuple[WithCublas, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, launched = multiply
    monkeypatch.setattr(library, "has_cublas", lambda: False)
    kernels: Any = SimpleNamespace(
        library_shapes=SHAPES, launch=lambda *_: launched.append("kernel")
    )
    WithCublas(kernels).launch(*ADDRESSES, BEHIND)
    assert launched == ["kernel"]
