"""``matmul`` with an error bound, on a fake GPU: NumPy multiplies."""

import sys
from typing import Any

import numpy as np
import pytest
from fake_cupy import CUPY, at, on_gpu
from record_samples import DEVICE

import sgemm_lab
from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm import array_libraries, call, product
from sgemm_lab.gemm.policy import Algorithm
from sgemm_lab.gemm.strassen.plan import make_plan
from sgemm_lab.kernel import Kernel, Size


class Multiplies:
    """Multiplies in NumPy and records its name."""

    def __init__(self, name: str, names: list[str]) -> None:
        self.name, self._names = name, names

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        self._names.append(self.name)
        c[...] = a @ b

    def launch(self, a: int, b: int, c: int, size: Size, stream: Any) -> None:
        m, n, k = size
        self(at(a, m, k), at(b, k, n), at(c, m, n))

    def kernel_for(self, _: Any) -> Kernel:
        return load_kernel("producers")


def _over(leaf: Any) -> str:
    return f" over {leaf.name}" if leaf else ""


def forget() -> None:
    for function in (product._choose, product._records, product._loaded, call._gpu):
        function.cache_clear()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The names of the products that ran."""
    names: list[str] = []
    monkeypatch.setitem(sys.modules, "cupy", CUPY)
    array_libraries._library.cache_clear()
    dispatcher = Multiplies("dispatcher", names)
    for room in (call, product):
        monkeypatch.setattr(room, "require_gpu", lambda: CUPY)
        monkeypatch.setattr(room, "dispatcher_for", lambda *_: dispatcher)
    monkeypatch.setattr(product, "dispatcher", lambda _: dispatcher)
    monkeypatch.setattr(product, "has_gpu", lambda: True)
    monkeypatch.setattr(product, "current_device", lambda: DEVICE)
    monkeypatch.setattr(product, "LoadedKernel", lambda kernel, **_: Multiplies(kernel.name, names))
    monkeypatch.setattr(
        product,
        "GpuProduct",
        lambda plan, leaf: Multiplies(f"{plan.levels} levels{_over(leaf)}", names),
    )
    forget()
    yield names
    forget()
    array_libraries._library.cache_clear()


def test_the_chosen_algorithm_runs(ran: list[str]) -> None:
    a, b = on_gpu(np.ones((1024, 1024))), on_gpu(np.ones((1024, 1024)))
    out = on_gpu(np.zeros((1024, 1024)))
    for error, by in ((None, "dispatcher"), ("fp32", "dispatcher"), (2e-7, None)):
        assert sgemm_lab.matmul(a, b, out, error=error) is out
        assert (out == 1024).all()
        assert ran.pop() == (by or sgemm_lab.choice(1024, 1024, 1024, error=error).name)
    small = on_gpu(np.ones((3, 100)))
    assert (sgemm_lab.matmul(small, small.T, error="fp32") == 100).all()
    assert ran == ["dispatcher"]


def test_strassens_product_runs_where_it_is_chosen(
    ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (8, 8, 8)
    plan = make_plan(size, 2, 10**6)
    ones = on_gpu(np.ones((8, 8)))
    for kernel, by in (("producers", "2 levels"), ("promoted", "2 levels over promoted")):
        way = Algorithm(size, load_kernel(kernel), plan, 1e-6, 1.0, "NVIDIA H200")
        monkeypatch.setattr(product, "choose", lambda *_, way=way: way)
        forget()
        assert (sgemm_lab.matmul(ones, ones, error=1e-5, workspace=10**6) == 8).all()
        assert ran.pop() == by
    assert sgemm_lab.choice(*size, error=1e-5).workspace_bytes == plan.workspace_bytes > 0


def test_a_choice_on_a_gpu_names_the_dispatchers_kernel(ran: list[str]) -> None:
    assert sgemm_lab.choice(100, 100, 100).name == "producers"
    assert sgemm_lab.choice(4096, 4096, 4096, error="fp32").name == "wgmma_3xfp16"
    assert ran == []


def test_without_a_gpu_the_choice_is_for_the_recorded_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product, "has_gpu", lambda: False)
    way = sgemm_lab.choice(4096, 4096, 4096, error="fp32")
    assert (way.name, way.gpu) == ("wgmma_3xfp16", "NVIDIA H200")
    assert lab.choice(4096, 4096, 4096, error="fp32") == way


def test_an_invalid_bound_is_an_error_even_for_an_empty_product(ran: list[str]) -> None:
    empty = on_gpu(np.ones((0, 4)))
    assert sgemm_lab.matmul(empty, empty.T, error=1e-5).shape == (0, 0)
    for ask in (
        lambda: sgemm_lab.matmul(empty, empty.T, error="tf32"),
        lambda: sgemm_lab.choice(4, 4, 4, error=[1e-5]),  # type: ignore[arg-type]
    ):
        with pytest.raises(LabError, match="Give a positive number"):
            ask()
    for extent in (0, 2.5, 2**25):
        with pytest.raises(LabError, match=r"N is .+ Give a whole number from 1 to 16,777,216"):
            sgemm_lab.choice(4, extent, 4)  # type: ignore[arg-type]
    assert ran == []
