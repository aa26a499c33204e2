"""A fake CuPy: its arrays are NumPy's."""

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


def on_gpu(array: Any, dtype: str = "float32") -> Any:
    return np.asarray(array, dtype).view(GpuArray)


CUPY = SimpleNamespace(
    ndarray=GpuArray,
    empty=lambda shape, dtype: on_gpu(np.full(shape, np.nan), dtype),
    ascontiguousarray=lambda x: x if x.flags.c_contiguous else on_gpu(np.ascontiguousarray(x)),
    cuda=SimpleNamespace(Device=lambda: HERE),
)
