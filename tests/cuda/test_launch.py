"""What may be given to a kernel, and what is said of anything else. NumPy stands in for CuPy."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import launch
from sgemm_lab.cuda.arrays import MAX_DIMENSION
from sgemm_lab.cuda.launch import MAX_GRID_Y, LoadedKernel, check_arrays, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, parse_kernel


class Array(np.ndarray[Any, Any]):
    """NumPy's array with an address as CuPy gives it."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)


def matrix(rows: int, columns: int, dtype: str = "float32") -> Any:
    return np.zeros((rows, columns), dtype).view(Array)


NO_ARRAY = "not an array on the GPU. Move it there with cupy.asarray(A)."
TALL = np.broadcast_to(np.float32(0), (MAX_DIMENSION + 1, 1))
REFUSED = {
    "another dtype": (
        (matrix(2, 5), matrix(5, 3, "float64"), matrix(2, 3)),
        "B holds float64. The kernels compute in float32: convert it with B.astype('float32').",
    ),
    "transposed": (
        (matrix(5, 2).T, matrix(5, 3), matrix(2, 3)),
        "A is not stored row by row without gaps (it is a transposed or sliced view). "
        "Copy it with cupy.ascontiguousarray(A).",
    ),
    "sliced": ((matrix(2, 5), matrix(5, 3), matrix(2, 6)[:, ::2]), "C is not stored row by row"),
    "no rows": ((matrix(0, 3), matrix(5, 3), matrix(2, 3)), "A is empty (0×3). Give it elements."),
    "no columns": ((matrix(3, 0), matrix(5, 3), matrix(2, 3)), "A is empty (3×0)."),
    "a vector": (
        (np.zeros(3, "float32"), matrix(5, 3), matrix(2, 3)),
        "A has 1 dimension(s). A matrix has two",
    ),
    "a batch": ((np.zeros((2, 3, 4), "float32"), matrix(5, 3), matrix(2, 3)), "A has 3 dimension"),
    "another K": (
        (matrix(2, 5), matrix(4, 3), matrix(2, 3)),
        "A is 2×5 and B is 4×3. A must have as many columns as B has rows.",
    ),
    "another C": (
        (matrix(2, 5), matrix(5, 3), matrix(3, 2)),
        "C is 3×2. The product of A and B is 2×3.",
    ),
    "a list": (([[1.0]], matrix(5, 3), matrix(2, 3)), f"A is a builtins.list, {NO_ARRAY}"),
    "too tall": (
        (TALL, matrix(1, 1), TALL),
        "A is 16777217×1. A dimension can be at most 16,777,216; multiply in parts.",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_no_kernel_can_take_is_refused(why: str) -> None:
    arrays, sentence = REFUSED[why]
    with pytest.raises(LabError) as caught:
        check_arrays(np, *arrays)
    assert str(caught.value).startswith(sentence)


def test_missing_cupy_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(LabError, match=r"CuPy is not installed.*pip install cupy-cuda12x"):
        require_gpu()


@pytest.fixture
def sms(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let the GPU have as many SMs."""
    monkeypatch.setattr(launch, "device_sms", lambda: 7)
    return 7


class Grids:
    """Stands in for machine code: keeps each launch's grid, shared memory and sizes."""

    def __init__(self) -> None:
        self.launches: list[tuple[tuple[int, int], tuple[int, int, int]]] = []
        self.max_dynamic_shared_size_bytes = 0
        self.own: list[Any] = []
        self.addresses: list[tuple[int, int]] = []

    def __call__(
        self, grid: Any, block: Any, arguments: Any, shared_bytes: int, stream: Any
    ) -> None:
        a, _, c, m, n, k, *self.own = arguments
        self.launches.append((grid, (int(m), int(n), int(k))))
        self.addresses.append((int(a), int(c)))


def loaded(kernel: Kernel) -> tuple[LoadedKernel, Grids]:
    fake = LoadedKernel.__new__(LoadedKernel)
    function = Grids()
    parts = {
        "_cupy": np, "kernel": kernel, "_function": function, "_raw": function,
        "_launches": {}, "_workspaces": {},
    }  # fmt: skip
    fake.__dict__.update(parts, compiled=SimpleNamespace(shared_bytes=0))
    return fake, function


def test_a_grid_can_follow_the_sms_of_the_gpu(sms: int) -> None:
    source = load_kernel("naive").source.replace(
        "grid: ceil(N / BN), ceil(M / BM)", "grid: min(SMS, ceil(N / BN)), ceil(M / BM)"
    )
    multiply, function = loaded(parse_kernel("mine", source))
    multiply(matrix(9, 2), matrix(2, 1000), matrix(9, 1000))
    multiply(matrix(9, 2), matrix(2, 65), matrix(9, 65))
    assert [grid[0] for grid, _ in function.launches] == [sms, 2]


class NumpyWithStreams:
    """NumPy in place of CuPy, and the present stream."""

    stream = 1
    synchronized = 0
    cuda = SimpleNamespace(get_current_stream=lambda: NumpyWithStreams.Stream())

    class Stream:
        @property
        def ptr(self) -> int:
            return NumpyWithStreams.stream

        def synchronize(self) -> None:
            NumpyWithStreams.synchronized += 1

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def test_each_stream_has_a_workspace_of_its_own_that_stays(
    sms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = load_kernel("naive").source.replace(
        "// block:", "// workspace: 4 * max(SMS, ceil(M / BM))\n// block:"
    )
    multiply, function = loaded(parse_kernel("mine", source))
    multiply.__dict__["_cupy"] = NumpyWithStreams()

    def workspace(rows: int, stream: int) -> Any:
        monkeypatch.setattr(NumpyWithStreams, "stream", stream)
        multiply(matrix(rows, 2), matrix(2, 65), matrix(rows, 65))
        (own,) = function.own
        return own

    first = workspace(9, stream=1)
    assert (first.nbytes, first.any()) == (4 * sms, False)
    assert workspace(17, stream=1) is first
    other = workspace(9, stream=2)
    assert other is not first
    assert workspace(9, stream=1) is first
    larger = workspace(8 * (sms + 5), stream=1)
    assert larger.nbytes == 4 * (sms + 5)
    assert workspace(9, stream=1) is larger
    assert workspace(9, stream=2) is other
    multiply.launch(0, 0, 0, (9, 65, 2), SimpleNamespace(ptr=3))  # of another library
    assert NumpyWithStreams.synchronized == 1
    multiply.launch(0, 0, 0, (9, 65, 2), SimpleNamespace(ptr=2))
    assert function.own == [other]
    assert NumpyWithStreams.synchronized == 1


@pytest.mark.usefixtures("sms")
def test_a_small_c_is_one_launch() -> None:
    multiply, function = loaded(load_kernel("naive"))
    multiply(matrix(9, 2), matrix(2, 65), matrix(9, 65))
    assert function.launches == [((2, 2), (9, 65, 2))]


@pytest.mark.usefixtures("sms")
def test_a_c_taller_than_a_grid_is_computed_in_bands() -> None:
    naive = load_kernel("naive")
    multiply, function = loaded(naive)
    rows_per_band = MAX_GRID_Y * naive.values["BM"]
    m = 2 * rows_per_band + 3
    a, c = matrix(m, 1), matrix(m, 1)
    multiply(a, matrix(1, 1), c)
    assert [size[0] for _, size in function.launches] == [rows_per_band, rows_per_band, 3]
    assert max(grid[1] for grid, _ in function.launches) == MAX_GRID_Y
    begins = [4 * rows_per_band * band for band in range(3)]
    assert function.addresses == [(a.data.ptr + i, c.data.ptr + i) for i in begins]


@pytest.mark.usefixtures("sms")
def test_a_tile_that_does_not_fit_the_gpu_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_shared_limit", lambda: 100_000)
    multiply, function = loaded(load_kernel("strip"))
    multiply(matrix(1, 300), matrix(300, 1), matrix(1, 1))
    assert function.max_dynamic_shared_size_bytes == 4 * 2 * 32 * 300
    with pytest.raises(LabError, match=r"wants 102,400 bytes.*has 100,000.*a smaller K"):
        multiply(matrix(1, 400), matrix(400, 1), matrix(1, 1))
    assert launch.fits(load_kernel("strip"), (1, 1, 390))
    assert not launch.fits(load_kernel("strip"), (1, 1, 391))


def test_a_machine_without_a_driver_is_known_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading CuPy takes longer than much else that a short answer waits for."""

    def refuse(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(launch.sys, "platform", "linux")
    monkeypatch.setattr(launch.ctypes, "CDLL", refuse)
    monkeypatch.setattr(launch, "require_gpu", lambda: pytest.fail("CuPy was asked."))
    assert not launch.has_gpu()
