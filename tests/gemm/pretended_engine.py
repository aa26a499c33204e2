"""A fake GPU in NumPy for Strassen's product: passes are checked at launch, then run."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_cupy import GpuArray

from sgemm_lab.gemm.strassen import engine
from sgemm_lab.gemm.strassen.engine import launch_of
from sgemm_lab.gemm.strassen.numpy_backend import Memory
from sgemm_lab.gemm.strassen.plan import Multiply, View


def on_gpu(array: Any) -> Any:
    return np.ascontiguousarray(array, dtype="float32").view(GpuArray)


class Library:
    """The part of CuPy that the engine and the measurements use."""

    ndarray = np.ndarray
    float32, int32, uint64, nan = np.float32, np.int32, np.uint64, np.nan
    cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=0))
    random, linalg = np.random, np.linalg
    where, asarray = staticmethod(np.where), staticmethod(np.asarray)

    @staticmethod
    def empty(shape: Any, dtype: str) -> Any:
        return on_gpu(np.full(shape, np.nan))

    @staticmethod
    def zeros(shape: Any, dtype: str) -> Any:
        return np.zeros(shape, dtype).view(GpuArray)

    @staticmethod
    def full(shape: Any, value: float, dtype: str) -> Any:
        return on_gpu(np.full(shape, value))


class Watched(engine.GpuProduct):
    """A product whose passes run in NumPy, after a check of their arguments."""

    def _run(self, a: Any, b: Any, c: Any, **parts: bool) -> None:
        a, b, c = (array.view(GpuArray) for array in (a, b, c))
        self.places = {"A": a, "B": b, "C": c, "work": self._work}
        self.waiting = [s for s in self.plan.steps if not isinstance(s, Multiply)]
        self.blocks: set[tuple[int, int]] = set()
        self._passes = {entry: self._pass(entry) for entry in engine.ENTRIES}
        super()._run(a, b, c, **parts)

    def _pass(self, entry: str) -> Any:
        def launch(grid: tuple[int, int], block: tuple[int, int], given: tuple[Any, ...]) -> None:
            step = self.waiting.pop(0)
            wanted, arguments = launch_of(step)
            assert (entry, block) == (wanted, engine.BLOCK)
            assert grid[0] * block[0] * 4 >= step.half[1]
            for one, told in zip(arguments, given, strict=True):
                if isinstance(one, View):
                    assert told.dtype == "uint64"
                    assert told == self.places[one.place].data.ptr + 4 * one.offset
                else:
                    assert told == (one or 0)
                    assert told.dtype == ("uint64" if one is None else "int32")
            Memory({name: flat.reshape(-1) for name, flat in self.places.items()}).add(step)

        return launch


def multiply(a: Any, b: Any, c: Any) -> None:
    assert all(one.flags.c_contiguous for one in (a, b, c))
    c[:] = a @ b


def pretend(patch: pytest.MonkeyPatch) -> None:
    library = Library()
    patch.setattr(engine, "require_gpu", lambda: library)
    patch.setattr(engine, "load_pass", lambda _device, _entry: None)
    patch.setattr(engine, "dispatcher", lambda _device: multiply)
