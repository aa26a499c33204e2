"""Arguments of ``matmul``, on a fake GPU: NumPy multiplies."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_cupy import CUPY, on_gpu
from hypothesis import given
from hypothesis import strategies as st
from record_samples import DEVICE
from table_samples import point, table

import sgemm_lab
from sgemm_lab import lab
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.gemm.dispatch import product
from sgemm_lab.gemm.dispatch.product import GpuDispatcher, nearest_table_warning
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.output import Unavailable

ELSEWHERE = SimpleNamespace(id=1)


@pytest.fixture
def asked() -> Iterator[list[Any]]:
    """The arrays that reach the kernels."""
    with pytest.MonkeyPatch.context() as patch:
        yield pretend(patch)


def pretend(patch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []

    def multiply(a: Any, b: Any, c: Any) -> None:
        assert all(array.flags.c_contiguous for array in (a, b, c))
        calls.append((a, b, c))
        c[...] = a @ b

    patch.setattr(product, "require_gpu", lambda: CUPY)
    patch.setattr(product, "dispatcher", lambda _: multiply)
    return calls


def test_the_result_is_a_new_array_or_out(asked: list[Any]) -> None:
    a, b = on_gpu([[1, 2], [3, 4], [5, 6]]), on_gpu([[1, 0, 2, 0], [0, 1, 0, 2]])
    expected = np.asarray(a) @ np.asarray(b)
    assert (sgemm_lab.matmul(a, b) == expected).all()
    out = on_gpu(np.full((3, 4), np.nan))
    assert sgemm_lab.matmul(a, b, out) is out
    assert (out == expected).all()
    assert (lab.matmul(a, b, out=out) == expected).all()
    assert len(asked) == 3


dimension = st.integers(0, 5)


@given(dimension, dimension, dimension)
def test_empty_sizes_need_no_kernel(m: int, n: int, k: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        calls = pretend(patch)
        a, b = on_gpu(np.ones((m, k))), on_gpu(np.ones((k, n)))
        c = sgemm_lab.matmul(a, b)
    assert c.shape == (m, n)
    assert (c == k).all()
    assert len(calls) == (m * n * k > 0)


def test_only_non_contiguous_arrays_are_copied(asked: list[Any]) -> None:
    x = on_gpu(np.arange(12).reshape(3, 4))
    sgemm_lab.matmul(x.T, x)
    a, b, _ = asked[0]
    assert b is x
    assert (a == x.T).all()
    assert not np.shares_memory(a, x)


def test_invalid_arrays_raise_errors(asked: list[Any]) -> None:
    a, b = on_gpu(np.ones((4, 5))), on_gpu(np.ones((5, 6)))
    away = on_gpu(np.ones((4, 5)))
    away.device = ELSEWHERE
    for left, right, out, sentence in (
        (
            np.ones((4, 5)),
            b,
            None,
            r"a is a numpy.ndarray, not an array on the GPU. .+asarray\(a\)",
        ),
        (a, [[1.0]], None, "b is a builtins.list, not an array on the GPU"),
        (a, on_gpu(b, "float64"), None, r"b holds float64. .+ b.astype\('float32'\)"),
        (a[0], b, None, r"a has 1 dimension\(s\). .+ a\[None, :\]"),
        (a, a, None, "a is 4×5 and b is 4×5. a must have as many columns as b has rows"),
        (away, b, None, "a is on GPU 1, and the current one is GPU 0"),
        (a, b, on_gpu(np.ones((6, 4))), "out is 6×4. The product of a and b is 4×6"),
        (a, b, on_gpu(np.ones((6, 4))).T, "out is not C-contiguous"),
        (a, b, on_gpu(np.ones((4, 6)), "float16"), "out holds float16"),
    ):
        with pytest.raises(LabError, match=sentence):
            sgemm_lab.matmul(left, right, out)
    assert asked == []


def test_out_must_not_overlap_an_input(asked: list[Any]) -> None:
    x, other = on_gpu(np.arange(16).reshape(4, 4)), on_gpu(np.eye(4))
    for a, b, name in ((x, other, "a"), (other, x, "b")):
        with pytest.raises(LabError, match=f"out shares memory with {name}. Give a separate"):
            sgemm_lab.matmul(a, b, out=x)
    assert asked == []
    # A transposed view is copied before: nothing of it is still to be read.
    expected = np.array(x.T)
    assert (sgemm_lab.matmul(x.T, other, out=x) == expected).all()


@pytest.mark.parametrize("place", [0, 2])
def test_out_may_touch_an_input_end_to_end(asked: list[Any], place: int) -> None:
    parts = on_gpu(np.arange(48).reshape(3, 4, 4))
    out, other = parts[place], on_gpu(np.eye(4))
    expected = np.array(parts[1])
    assert (sgemm_lab.matmul(parts[1], other, out=out) == expected).all()
    assert (parts[1] == expected).all()


def test_without_a_gpu_an_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingToolError("There is no GPU.")

    monkeypatch.setattr(product, "require_gpu", missing)
    with pytest.raises(MissingToolError):
        sgemm_lab.matmul(np.ones((1, 1)), np.ones((1, 1)))
    assert isinstance(lab.matmul(np.ones((1, 1)), np.ones((1, 1))), Unavailable)


TABLE = table(
    point("thread_tile", (64, 64, 64), 1e-5),
    point("large_tile", (64, 64, 64), 2e-5),
    point("large_tile", (63, 63, 63), 1e-5),
)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the loaded kernels; ``large_tile`` does not run on the old GPU."""
    names: list[str] = []

    class Loaded:
        compiled = None

        def __init__(self, kernel: Kernel) -> None:
            names.append(kernel.name)
            self.kernel = kernel

        def __call__(self, a: Any, b: Any, c: Any) -> None:
            c[...] = a @ b

    monkeypatch.setattr(product, "LoadedKernel", Loaded)
    monkeypatch.setattr(product, "device_sms", lambda: 132)
    monkeypatch.setattr(product, "_is_supported", lambda _: True)
    monkeypatch.setattr(product, "fit_refusal", lambda *_: None)
    return names


def test_each_kernel_is_loaded_once_and_alignment_counts(loads: list[str]) -> None:
    multiply = GpuDispatcher(DEVICE, TABLE)
    zone = on_gpu(np.ones(3 * 64 * 64 + 64))
    shift = -zone.ctypes.data % 64 // 4

    def matrix(first: int) -> Any:
        return zone[first : first + 64 * 64].reshape(64, 64)

    a, b, c = (on_gpu(matrix(shift + i * 64 * 64)) for i in range(3))
    multiply(a, b, c)
    multiply(a, b, c)
    assert loads == ["thread_tile"]
    multiply(a, b, on_gpu(matrix(shift + 2 * 64 * 64 + 1)))
    assert loads == ["thread_tile", "large_tile"]
    assert multiply.kernel_for((64, 64, 64)).name == "thread_tile"


def test_a_gpu_without_a_table_gets_a_warning(loads: list[str]) -> None:
    l4 = replace(DEVICE, name="NVIDIA L4")
    with pytest.warns(
        UserWarning, match="No kernels were tuned on NVIDIA L4: matmul uses the table"
    ):
        GpuDispatcher(l4, TABLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GpuDispatcher(DEVICE, TABLE)
    assert nearest_table_warning(l4, TABLE).endswith("'sgemm-lab tune' makes a table for this GPU.")


def test_an_old_gpu_uses_supported_kernels_only(
    loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product, "_is_supported", lambda kernel: kernel.name != "thread_tile")
    assert GpuDispatcher(DEVICE, TABLE).kernel_for((64, 64, 64)).name == "large_tile"
    monkeypatch.setattr(product, "_is_supported", lambda _: False)
    with pytest.raises(LabError, match=r"None of the kernels .+ runs on this GPU"):
        GpuDispatcher(DEVICE, TABLE)


def test_a_kernel_that_does_not_fit_is_skipped(
    loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        product, "fit_refusal", lambda kernel, *_: "No." if kernel.name == "thread_tile" else None
    )
    multiply = GpuDispatcher(DEVICE, TABLE)
    assert multiply.kernel_for((64, 64, 64)).name == "large_tile"
    assert multiply.kernel_for((63, 63, 63)).name == "large_tile"
    assert loads == ["thread_tile", "large_tile"]
    monkeypatch.setattr(product, "fit_refusal", lambda *_: "No.")
    with pytest.raises(LabError, match=r"None of the kernels .+ runs on this GPU"):
        GpuDispatcher(DEVICE, TABLE).kernel_for((64, 64, 64))
