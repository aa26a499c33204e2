"""Arrays of other libraries: how ``matmul`` reads them, makes results, and finds their stream.

A ``Library`` reads what it needs of an array that can be given to a kernel as it is. All other
arrays, and all errors, go through CuPy's view of the array, which shares its memory.
"""

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from sgemm_lab.errors import LabError


class Stream(NamedTuple):
    """A CUDA stream of another library, by its handle."""

    ptr: int


class Library:
    """The arrays of one library on the current GPU; here of any with the CUDA array interface."""

    mutable = True
    """Whether a result can be written into an array."""

    def address(self, x: Any, device: int) -> int:
        """Return where a row-major float32 array on the GPU ``device`` begins; 0 for any other."""
        return 0

    def empty(self, shape: tuple[int, ...], like: Any) -> Any:
        """Return a new float32 array on the GPU of ``like``: of this library, or of CuPy."""
        return _cupy().empty(shape, "float32")

    def stream(self, device: int) -> Stream | None:
        """Return the library's current stream; None: it is CuPy's."""
        return None

    def view(self, name: str, x: Any) -> Any:
        """Return a CuPy array with the memory of an array of this library."""
        return _cupy().asarray(x)

    def result(self, x: Any) -> Any:
        """Return an array of this library with the memory of one that ``empty`` returned."""
        return x


def library_of(name: str, x: Any) -> Library:
    """Return the library of an array."""
    kind: Any = type(x)
    return _library(kind) or _unknown(name, x)


def _unknown(name: str, x: Any) -> Library:
    if hasattr(x, "__cuda_array_interface__"):
        return Library()
    kind = f"{type(x).__module__}.{type(x).__name__}"
    raise LabError(
        f"{name} is a {kind}, not an array on the GPU. "
        f"Move it there with cupy.asarray({name}, dtype='float32')."
    )


@lru_cache(maxsize=64)
def _library(kind: Any) -> Library | None:
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        make = _LIBRARIES.get((root, base.__name__))
        if make is not None:
            return make()
    return None


class _Cupy(Library):
    def __init__(self) -> None:
        self._float32 = _cupy().dtype("float32")

    def address(self, x: Any, device: int) -> int:
        if x.dtype == self._float32 and x.flags.c_contiguous and x.device.id == device:
            return int(x.data.ptr)
        return 0

    def empty(self, shape: tuple[int, ...], like: Any) -> Any:
        return _cupy().empty(shape, self._float32)

    def view(self, name: str, x: Any) -> Any:
        return x


class _Torch(Library):
    def __init__(self) -> None:
        self._torch = sys.modules["torch"]
        self._streams: dict[int, Stream] = {}

    def address(self, x: Any, device: int) -> int:
        if (
            x.dtype is self._torch.float32
            and x.is_cuda
            and not x.requires_grad
            and x.is_contiguous()
            and x.get_device() == device
        ):
            return int(x.data_ptr())
        return 0

    def empty(self, shape: tuple[int, ...], like: Any) -> Any:
        return like.new_empty(shape, dtype=self._torch.float32)

    def stream(self, device: int) -> Stream | None:
        handle = self._torch._C._cuda_getCurrentRawStream(device)
        found = self._streams.get(handle)
        if found is None:
            found = self._streams[handle] = Stream(handle)
        return found

    def view(self, name: str, x: Any) -> Any:
        if not x.is_cuda:
            place = x.device.type.upper()
            raise LabError(
                f"{name} is a torch.Tensor on the {place}, not an array on the GPU. "
                f"Move it there with {name}.cuda()."
            )
        if x.dtype is not self._torch.float32:
            kind = str(x.dtype).removeprefix("torch.")
            raise LabError(
                f"{name} holds {kind}. The kernels compute in float32: convert it with "
                f"{name}.to(torch.float32)."
            )
        if x.requires_grad and self._torch.is_grad_enabled():
            raise LabError(
                f"{name} requires a gradient, and matmul computes none. Give {name}.detach(), or "
                "call matmul within torch.no_grad()."
            )
        return _cupy().asarray(x.detach())


class _Jax(Library):
    """DLPack orders the streams of JAX and CuPy, in both directions."""

    mutable = False

    def view(self, name: str, x: Any) -> Any:
        if not any(one.platform in ("gpu", "cuda") for one in x.devices()):
            raise LabError(
                f"{name} is a jax.Array on the CPU, not an array on the GPU. "
                f"Move it there with jax.device_put({name}, jax.devices('gpu')[0])."
            )
        if str(x.dtype) != "float32":
            raise LabError(
                f"{name} holds {x.dtype}. The kernels compute in float32: "
                f"convert it with {name}.astype('float32')."
            )
        return _cupy().from_dlpack(x)

    def result(self, x: Any) -> Any:
        return sys.modules["jax"].dlpack.from_dlpack(x)


class _Numba(Library):
    def result(self, x: Any) -> Any:
        return sys.modules["numba.cuda"].as_cuda_array(x)


_LIBRARIES: dict[tuple[str, str], Callable[[], Library]] = {
    ("cupy", "ndarray"): _Cupy,
    ("torch", "Tensor"): _Torch,
    ("jaxlib", "ArrayImpl"): _Jax,
    ("numba", "DeviceNDArray"): _Numba,
}
"""Libraries by the package and the name of their array's class."""


def _cupy() -> Any:
    return sys.modules["cupy"]
