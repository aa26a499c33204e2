"""A fake CuPy: its arrays are NumPy's. A fake PyTorch: its tensors hold such an array."""

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

HERE = SimpleNamespace(id=0)


class GpuArray(np.ndarray[Any, Any]):
    """A NumPy array with CuPy's attributes."""

    device = HERE

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)


# ``matmul`` knows a library by the package and the name of its array's class.
GpuArray.__module__, GpuArray.__name__ = "cupy", "ndarray"


def on_gpu(array: Any, dtype: str = "float32") -> Any:
    return np.asarray(array, dtype).view(GpuArray)


class Streams:
    """CuPy's current stream, by its handle."""

    current = 0

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr

    def __enter__(self) -> None:
        Streams.current = self.ptr

    def __exit__(self, *_: object) -> None:
        Streams.current = 0


def _asarray(x: Any) -> Any:
    return x.array if isinstance(x, Tensor) else on_gpu(x.__cuda_array_interface__["array"])


CUPY = SimpleNamespace(
    ndarray=GpuArray,
    dtype=np.dtype,
    float32=np.float32,
    asarray=_asarray,
    empty=lambda shape, dtype: on_gpu(np.full(shape, np.nan), dtype),
    ascontiguousarray=lambda x: x if x.flags.c_contiguous else on_gpu(np.ascontiguousarray(x)),
    cuda=SimpleNamespace(
        Device=lambda: HERE, runtime=SimpleNamespace(getDevice=lambda: 0), ExternalStream=Streams
    ),
)


class Tensor:
    """A tensor of the fake PyTorch."""

    requires_grad = False
    is_cuda = True
    device = SimpleNamespace(type="cuda", index=0)

    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype = sys.intern(f"torch.{array.dtype}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape  # type: ignore[no-any-return]

    @property
    def T(self) -> "Tensor":  # noqa: N802
        return Tensor(self.array.T)

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    def get_device(self) -> int:
        return 0

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def new_empty(self, shape: Any, dtype: str) -> "Tensor":
        return Tensor(CUPY.empty(shape, dtype.removeprefix("torch.")))

    def detach(self) -> "Tensor":
        return self


Tensor.__module__ = "torch"

TORCH = SimpleNamespace(
    float32=sys.intern("torch.float32"),
    is_grad_enabled=lambda: True,
    _C=SimpleNamespace(_cuda_getCurrentRawStream=lambda _device: 7),
)


def at(address: int, rows: int, columns: int) -> Any:
    """Return the matrix at an address."""
    floats = (ctypes.c_float * (rows * columns)).from_address(address)
    return np.frombuffer(floats, "float32").reshape(rows, columns)
