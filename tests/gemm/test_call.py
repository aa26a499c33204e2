"""Arguments of ``matmul``, on a fake GPU: NumPy multiplies."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_cupy import CUPY, TORCH, Streams, Tensor, at, on_gpu
from hypothesis import given
from hypothesis import strategies as st

import sgemm_lab
from sgemm_lab import lab
from sgemm_lab.cuda.arrays import MAX_DIMENSION
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.gemm import array_libraries, call
from sgemm_lab.lab.output import Unavailable

ELSEWHERE = SimpleNamespace(id=1)


class Multiplies:
    """A dispatcher that keeps the addresses and the stream of each launch."""

    def __init__(self) -> None:
        self.launches: list[tuple[int, int, int]] = []
        self.streams: list[int] = []
        self.tunes: list[str | None] = []

    def tuned(self, _device: int, tune: str | None) -> Any:
        self.tunes.append(tune)
        return self

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        assert all(array.flags.c_contiguous for array in (a, b, c))
        self.launch(a.data.ptr, b.data.ptr, c.data.ptr, (*a.shape[:1], b.shape[1], a.shape[1]))

    def launch(self, a: int, b: int, c: int, size: Any, stream: Any = None) -> None:
        m, n, k = size
        self.launches.append((a, b, c))
        self.streams.append(stream.ptr if stream else Streams.current)
        at(c, m, n)[...] = at(a, m, k) @ at(b, k, n)


def pretend(patch: pytest.MonkeyPatch) -> Multiplies:
    multiply = Multiplies()
    patch.setattr(call, "require_gpu", lambda: CUPY)
    patch.setattr(call, "dispatcher_for", multiply.tuned)
    patch.setitem(sys.modules, "cupy", CUPY)
    patch.setitem(sys.modules, "torch", TORCH)
    array_libraries._library.cache_clear()
    call._gpu.cache_clear()
    return multiply


@pytest.fixture
def asked() -> Iterator[Multiplies]:
    """What reaches the kernels."""
    with pytest.MonkeyPatch.context() as patch:
        yield pretend(patch)
    array_libraries._library.cache_clear()
    call._gpu.cache_clear()


def whole(*shape: int) -> Any:
    return on_gpu(np.random.default_rng(sum(shape)).integers(-4, 5, shape))


def test_the_result_is_a_new_array_or_out(asked: Multiplies) -> None:
    a, b = on_gpu([[1, 2], [3, 4], [5, 6]]), on_gpu([[1, 0, 2, 0], [0, 1, 0, 2]])
    expected = np.asarray(a) @ np.asarray(b)
    assert (sgemm_lab.matmul(a, b) == expected).all()
    out = on_gpu(np.full((3, 4), np.nan))
    assert sgemm_lab.matmul(a, b, out) is out
    assert (out == expected).all()
    assert (lab.matmul(a, b, out=out) == expected).all()
    assert len(asked.launches) == 3


dimension = st.integers(0, 5)


@given(dimension, dimension, dimension)
def test_empty_sizes_need_no_kernel(m: int, n: int, k: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        multiply = pretend(patch)
        a, b = on_gpu(np.ones((m, k))), on_gpu(np.ones((k, n)))
        c = sgemm_lab.matmul(a, b)
    assert c.shape == (m, n)
    assert (c == k).all()
    assert len(multiply.launches) == (m * n * k > 0)


def test_only_non_contiguous_arrays_are_copied(asked: Multiplies) -> None:
    x = on_gpu(np.arange(12).reshape(3, 4))
    assert (sgemm_lab.matmul(x.T, x) == x.T @ x).all()
    ((a, b, _),) = asked.launches
    assert b == x.data.ptr
    assert a != x.data.ptr


def test_two_transposed_views_are_multiplied_without_a_copy(asked: Multiplies) -> None:
    x, y = whole(5, 3), whole(4, 5)
    c = sgemm_lab.matmul(x.T, y.T)
    assert (c == x.T @ y.T).all()
    assert [launch[:2] for launch in asked.launches] == [(y.data.ptr, x.data.ptr)]


def test_factors(asked: Multiplies) -> None:
    a, b, c = whole(4, 5), whole(5, 6), whole(4, 6)
    product = np.asarray(a) @ np.asarray(b)
    for alpha, beta in ((2, 0), (1, 1), (0.5, -2), (1, 0)):
        out = c.copy()
        assert sgemm_lab.matmul(a, b, out, alpha=alpha, beta=beta) is out
        assert (out == alpha * product + beta * c).all()
    assert (sgemm_lab.matmul(a, b, alpha=3) == 3 * product).all()
    with pytest.raises(LabError, match=r"beta is 1, and there is no out to add to"):
        sgemm_lab.matmul(a, b, beta=1)
    for wrong in (float("nan"), "2"):
        with pytest.raises(LabError, match=r"alpha is .+. Give a number"):
            sgemm_lab.matmul(a, b, alpha=wrong)  # type: ignore[arg-type]


def test_the_way_to_choose_reaches_the_dispatcher(asked: Multiplies) -> None:
    a, b, c = whole(4, 5), whole(5, 6), whole(4, 6)
    sgemm_lab.matmul(a, b)
    sgemm_lab.matmul(a, b, tune="first")
    sgemm_lab.matmul(a, b, c, beta=1, tune="first+cublas")
    assert asked.tunes == [None, "first", "first+cublas"]


def test_what_a_factor_of_zero_excludes_is_not_read(asked: Multiplies) -> None:
    nan = on_gpu(np.full((4, 4), np.nan))
    one, out = on_gpu(np.ones((4, 4))), on_gpu(np.ones((4, 4)))
    assert (sgemm_lab.matmul(nan, nan, out, alpha=0, beta=2) == 2).all()
    assert asked.launches == []
    assert (sgemm_lab.matmul(one, one, nan, alpha=2) == 8).all()


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4, 5), (3, 5, 6)), ((3, 4, 5), (5, 6)), ((4, 5), (3, 5, 6)), ((0, 4, 5), (0, 5, 6))],
)
def test_batches(left: Any, right: Any, asked: Multiplies) -> None:
    a, b = whole(*left), whole(*right)
    c = sgemm_lab.matmul(a, b)
    assert c.shape == np.matmul(a, b).shape
    assert (c == np.matmul(a, b)).all()
    each = left[0] if len(right) == 3 and len(left) == 3 else 1 if len(left) == 3 else 3
    assert len(asked.launches) == each
    out = on_gpu(np.ones(c.shape))
    assert (sgemm_lab.matmul(a, b, out, alpha=2, beta=3) == 2 * np.matmul(a, b) + 3).all()


def test_invalid_arrays_raise_errors(asked: Multiplies) -> None:
    a, b = on_gpu(np.ones((4, 5))), on_gpu(np.ones((5, 6)))
    away = on_gpu(np.ones((4, 5)))
    away.device = ELSEWHERE
    huge = np.broadcast_to(on_gpu(np.zeros((1, 1))), (MAX_DIMENSION + 1, 5), subok=True)
    for left, right, out, sentence in (
        (np.ones((4, 5)), b, None, r"a is a numpy.ndarray, not an array on the GPU. .+asarray\(a"),
        (a, [[1.0]], None, "b is a builtins.list, not an array on the GPU"),
        (a, on_gpu(b, "float64"), None, r"b holds float64. .+ b.astype\('float32'\)"),
        (a[0], b, None, r"a has 1 dimension\(s\). .+ a\[None, :\]"),
        (a, a, None, "a is 4×5 and b is 4×5. a must have as many columns as b has rows"),
        (away, b, None, "a is on GPU 1, and the current one is GPU 0"),
        (huge, b, None, "a is 16777217×5. A dimension can be at most 16,777,216"),
        (a, b, on_gpu(np.ones((6, 4))), "out is 6×4. The product of a and b is 4×6"),
        (a, b, on_gpu(np.ones((6, 4))).T, "out is not C-contiguous"),
        (a, b, on_gpu(np.ones((4, 6)), "float16"), "out holds float16"),
    ):
        with pytest.raises(LabError, match=sentence):
            sgemm_lab.matmul(left, right, out)
    assert asked.launches == []


def test_out_must_not_overlap_an_input(asked: Multiplies) -> None:
    x, other = on_gpu(np.arange(16).reshape(4, 4)), on_gpu(np.eye(4))
    for a, b, name in ((x, other, "a"), (other, x, "b")):
        with pytest.raises(LabError, match=rf"out shares memory with {name}. Give a separate"):
            sgemm_lab.matmul(a, b, out=x)
    assert asked.launches == []
    # A transposed view is copied before: nothing of it is still to be read.
    expected = np.array(x.T)
    assert (sgemm_lab.matmul(x.T, other, out=x) == expected).all()


@pytest.mark.parametrize("place", [0, 2])
def test_out_may_touch_an_input_end_to_end(asked: Multiplies, place: int) -> None:
    parts = on_gpu(np.arange(48).reshape(3, 4, 4))
    out, other = parts[place], on_gpu(np.eye(4))
    expected = np.array(parts[1])
    assert (sgemm_lab.matmul(parts[1], other, out=out) == expected).all()
    assert (parts[1] == expected).all()


def test_without_a_gpu_an_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingToolError("There is no GPU.")

    monkeypatch.setattr(call, "require_gpu", missing)
    with pytest.raises(MissingToolError):
        sgemm_lab.matmul(np.ones((1, 1)), np.ones((1, 1)))
    assert isinstance(lab.matmul(np.ones((1, 1)), np.ones((1, 1))), Unavailable)


# Other libraries.


def test_tensors_are_multiplied_on_the_stream_of_torch(asked: Multiplies) -> None:
    a, b = Tensor(whole(4, 5)), Tensor(whole(5, 6))
    out = Tensor(on_gpu(np.ones((4, 6))))
    found = sgemm_lab.matmul(a, b)
    assert isinstance(found, Tensor)
    assert (found.array == a.array @ b.array).all()
    assert sgemm_lab.matmul(a, b, out) is out
    turned = sgemm_lab.matmul(Tensor(whole(5, 4).T), b, alpha=2)
    assert isinstance(turned, Tensor)
    assert (turned.array == 2 * whole(5, 4).T @ b.array).all()
    assert asked.streams == [7, 7, 7]
    assert Streams.current == 0


def test_bad_tensors_are_refused(asked: Multiplies) -> None:
    good, other = Tensor(on_gpu(np.ones((5, 5)))), Tensor(on_gpu(np.ones((5, 5))))
    away = Tensor(on_gpu(np.ones((5, 5))))
    away.is_cuda, away.device = False, SimpleNamespace(type="cpu")
    learned = Tensor(on_gpu(np.ones((5, 5))))
    learned.requires_grad = True
    for a, b, out, sentence in (
        (away, good, None, r"a is a torch.Tensor on the CPU.+ a.cuda\(\)"),
        (good, Tensor(on_gpu(np.ones((5, 5)), "float64")), None, r"b holds float64.+b.to\(torch"),
        (learned, good, None, r"a requires a gradient.+a.detach\(\)"),
        (good, other, good, "out shares memory with a"),
        (good, Tensor(on_gpu(np.ones((4, 5)))), None, "a must have as many columns as b has rows"),
        (good, other, Tensor(on_gpu(np.ones((5, 4)))), "out is 5×4"),
    ):
        with pytest.raises(LabError, match=sentence):
            sgemm_lab.matmul(a, b, out)


class Foreign:
    """An array of a library that is not known, with the CUDA array interface."""

    def __init__(self, array: Any) -> None:
        self.__cuda_array_interface__ = {"array": array}


def test_any_library_with_the_array_interface_is_read(asked: Multiplies) -> None:
    a, b = whole(4, 5), whole(5, 6)
    found = sgemm_lab.matmul(Foreign(a), Foreign(b))
    assert isinstance(found, CUPY.ndarray)
    assert (found == a @ b).all()


class JaxArray:
    """An array of the fake JAX."""

    dtype = "float32"

    def __init__(self, array: Any, platform: str = "gpu") -> None:
        self.array = array
        self._platform = platform

    def devices(self) -> Any:
        return [SimpleNamespace(platform=self._platform)]


JaxArray.__module__, JaxArray.__name__ = "jaxlib._jax", "ArrayImpl"


def test_arrays_of_jax_are_exchanged_by_dlpack(
    asked: Multiplies, monkeypatch: pytest.MonkeyPatch
) -> None:
    dlpack = SimpleNamespace(from_dlpack=JaxArray)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(dlpack=dlpack))
    monkeypatch.setattr(CUPY, "from_dlpack", lambda x: x.array, raising=False)
    a, b = whole(4, 5), whole(5, 6)
    found = sgemm_lab.matmul(JaxArray(a), JaxArray(b))
    assert isinstance(found, JaxArray)
    assert (found.array == a @ b).all()
    with pytest.raises(LabError, match=r"out is an array that cannot be changed. Omit out"):
        sgemm_lab.matmul(JaxArray(a), JaxArray(b), found)
    with pytest.raises(LabError, match=r"a is a jax.Array on the CPU"):
        sgemm_lab.matmul(JaxArray(a, "cpu"), JaxArray(b))
