"""Fake GPUs for tests: streams, events and copies with NumPy arrays, in any allowed order.

A stream is a queue of what was given to it. Whoever waits lets the queues go on, one step of a
random one at a time; so what an engine forgot to wait for comes out wrong.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

READY, WORKING = 0, 600


class Array(np.ndarray):
    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)


class Event:
    def __init__(self, **_: Any) -> None:
        self.records = 0
        self.passed = 0

    def record(self, stream: Stream) -> None:
        self.records += 1
        number = self.records

        def passes() -> None:
            self.passed = max(self.passed, number)

        stream.steps.append((lambda: True, passes))


class Stream:
    def __init__(self, gpus: Gpus, priority: int) -> None:
        self.gpus, self.priority = gpus, priority
        self.device_id = gpus.current
        self.ptr = len(gpus.streams) + 1
        self.steps: list[tuple[Callable[[], bool], Callable[[], None]]] = []
        self.held = False
        gpus.streams.append(self)

    def wait_event(self, event: Event) -> None:
        wanted = event.records  # as CUDA does: what is recorded later does not count
        self.steps.append((lambda: event.passed >= wanted, lambda: None))

    def give(self, work: Callable[[], None]) -> None:
        self.steps.append((lambda: True, work))

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None: ...


class Device:
    def __init__(self, gpus: Gpus, number: int | None) -> None:
        self.gpus, self.id = gpus, gpus.current if number is None else number

    def __enter__(self) -> Device:
        self.before, self.gpus.current = self.gpus.current, self.id
        return self

    def __exit__(self, *_: Any) -> None:
        self.gpus.current = self.before

    def synchronize(self) -> None: ...


class CudaError(Exception):
    status = 704


class Gpus:
    """A fake CuPy."""

    def __init__(self, count: int, seed: int = 0, memory: int = 2**33, peers: bool = True) -> None:
        self.current, self.streams = 0, []
        self.random = random.Random(seed)
        self.arrays: list[Array] = []
        self.cuda = SimpleNamespace(
            Device=lambda number=None: Device(self, number),
            Stream=lambda non_blocking, priority=0: Stream(self, priority),
            Event=Event,
            memory=SimpleNamespace(OutOfMemoryError=MemoryError),
            runtime=SimpleNamespace(
                getDeviceCount=lambda: count,
                getDevice=lambda: self.current,
                setDevice=lambda number: setattr(self, "current", number),
                memGetInfo=lambda: (memory, memory),
                deviceCanAccessPeer=lambda one, other: peers,
                deviceEnablePeerAccess=lambda other: None,
                CUDARuntimeError=CudaError,
                memcpyDefault=4,
                memcpyAsync=self.copy,
                streamQuery=self.query,
            ),
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def get_default_memory_pool(self) -> Any:
        return SimpleNamespace(free_all_blocks=lambda: None)

    def empty(self, shape: Any, dtype: str) -> Array:
        array = np.empty(shape, dtype).view(Array)
        self.arrays.append(array)  # copies know addresses only
        return array

    def copy(self, to: int, source: int, count: int, _kind: int, stream: int) -> None:
        self.streams[stream - 1].give(lambda: ctypes.memmove(to, source, count))

    def query(self, pointer: int) -> int:
        """Run one step of a random stream; return whether a stream has finished."""
        for stream in self.random.sample(self.streams, len(self.streams)):
            if stream.steps and not stream.held and stream.steps[0][0]():
                stream.steps.pop(0)[1]()
                break
        return WORKING if self.streams[pointer - 1].steps else READY


def product(stream: Stream) -> Callable[..., None]:
    """Return a product that queues its work on a stream."""

    def multiply(a: Any, b: Any, c: Any, adds: bool) -> None:
        def work() -> None:
            c[:] = c + a @ b if adds else a @ b

        stream.give(work)

    return multiply
