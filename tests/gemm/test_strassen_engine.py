"""The engine of Strassen's product: launches, their addresses and their order."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pretended_engine import Library, Watched, on_gpu, pretend

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.strassen.plan import LEAN, TWICE, WIDE, Plan


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        pretend(patch)
        yield


@pytest.mark.parametrize("schedules", [(), (WIDE,), (LEAN, WIDE), (WIDE, TWICE), (LEAN, LEAN)])
@pytest.mark.parametrize("size", [(32, 24, 40), (9, 13, 11)])
def test_it_runs_the_passes_of_its_plan(
    size: tuple[int, int, int], schedules: tuple[str, ...]
) -> None:
    m, n, k = size
    random = np.random.default_rng(4)
    a, b = (on_gpu(random.integers(-3, 4, shape)) for shape in ((m, k), (k, n)))
    c = on_gpu(np.full((m, n), np.nan))
    engine = Watched(Plan(size, schedules))
    engine(a, b, c)
    assert (np.asarray(c) == np.asarray(a) @ np.asarray(b)).all()
    assert engine.waiting == []


def test_its_parts_can_run_alone() -> None:
    size = (16, 16, 16)
    a, b, c = (on_gpu(np.ones((16, 16))) for _ in range(3))
    engine = Watched(Plan(size, (WIDE,)))
    engine.only_additions(a, b, c)
    assert engine.waiting == []
    products: list[Any] = []
    engine._leaf = lambda *leaves: products.append(leaves)
    engine.only_products(a, b, c)
    assert len(products) == 7
    assert len(engine.waiting) == 3


def test_sizes_and_memory_that_do_not_fit_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = (on_gpu(np.ones((4, 4))) for _ in range(3))
    with pytest.raises(LabError, match=r"The plan is for M, N, K = \(8, 8, 8\)"):
        Watched(Plan((8, 8, 8), ()))(a, b, c)

    class FullError(Exception):
        pass

    def full(*_: object, **__: object) -> None:
        raise FullError

    monkeypatch.setattr(Library, "empty", staticmethod(full))
    monkeypatch.setattr(
        Library.cuda, "memory", type("m", (), {"OutOfMemoryError": FullError}), False
    )
    with pytest.raises(LabError, match="cannot hold a workspace of 768 B"):
        Watched(Plan((4, 4, 4), (LEAN,)))
