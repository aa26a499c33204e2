"""The dispatcher, with kernels that the tests pretend to load."""

import warnings
from dataclasses import replace
from typing import Any

import pytest
from record_samples import DEVICE
from table_samples import fit, point, table

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch import product
from sgemm_lab.gemm.dispatch.product import GpuDispatcher, other_gpu_warning
from sgemm_lab.kernel import Kernel

TABLES = [
    table(
        point("double_buffer", (96, 96, 96), 1e-5),
        fits=(fit("thread_tile", 1e-6, other=3e-6), fit("double_buffer", 2e-6, other=2e-6)),
    )
]
"""``thread_tile`` is the faster one for aligned matrices."""


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the loaded kernels; ``double_buffer`` does not run on the old GPU."""
    names: list[str] = []

    class Loaded:
        compiled = None

        def __init__(self, kernel: Kernel) -> None:
            names.append(kernel.name)
            self.kernel = kernel

        def launch(self, *_: Any) -> None:
            pass

    monkeypatch.setattr(product, "LoadedKernel", Loaded)
    monkeypatch.setattr(product, "_is_supported", lambda _: True)
    monkeypatch.setattr(product, "fit_refusal", lambda *_: None)
    return names


def test_each_kernel_is_loaded_once_and_alignment_counts(loads: list[str]) -> None:
    multiply, size = GpuDispatcher(DEVICE, TABLES), (64, 64, 64)
    multiply.launch(16, 32, 48, size)
    multiply.launch(64, 32, 48, size)
    assert loads == ["thread_tile"]
    multiply.launch(16, 32, 52, size)
    assert loads == ["thread_tile", "double_buffer"]
    assert multiply.kernel_for(size).name == "thread_tile"
    assert multiply.kernel_for((64, 63, 64)).name == "double_buffer"
    assert multiply.predicted(size) == 1e-6
    assert multiply.named("thread_tile") is multiply.best(size, True, 1)[0].loaded
    assert multiply.named("nothing") is None


def test_the_sizes_that_are_remembered_are_limited(
    loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product, "MOST_PLANS", 3)
    multiply = GpuDispatcher(DEVICE, TABLES)
    for n in range(1, 9):
        multiply.launch(16, 32, 48, (n, n, n))
    assert len(multiply._plans) <= 3


def test_a_gpu_without_a_table_gets_a_warning(loads: list[str]) -> None:
    l4 = replace(DEVICE, name="NVIDIA L4")
    with pytest.warns(
        UserWarning, match="No kernels were tuned on NVIDIA L4: matmul uses the table"
    ):
        GpuDispatcher(l4, TABLES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GpuDispatcher(DEVICE, TABLES)
    said = other_gpu_warning(l4, DEVICE.name)
    assert said.endswith("'sgemm-lab tune' makes a table for this GPU.")


def test_a_kernel_that_does_not_fit_is_skipped(
    loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        product, "fit_refusal", lambda kernel, *_: "No." if kernel.name == "thread_tile" else None
    )
    multiply = GpuDispatcher(DEVICE, TABLES)
    assert multiply.kernel_for((64, 64, 64)).name == "double_buffer"
    assert loads == ["thread_tile", "double_buffer"]
    monkeypatch.setattr(product, "fit_refusal", lambda *_: "No.")
    with pytest.raises(LabError, match=r"None of the kernels .+ runs on this GPU"):
        GpuDispatcher(DEVICE, TABLES).kernel_for((64, 64, 64))
