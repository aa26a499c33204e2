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
        if stream.gpus.tape is not None:
            stream.gpus.tape.append(("record", stream, self))
            return
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
        if self.gpus.tape is not None:
            self.gpus.tape.append(("wait", self, event))
            return
        wanted = event.records  # as CUDA does: what is recorded later does not count
        self.steps.append((lambda: event.passed >= wanted, lambda: None))

    def give(self, work: Callable[[], None]) -> None:
        if self.gpus.tape is not None:
            self.gpus.tape.append(("work", self, work))
            return
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


class Call:
    """A send or a receive of NCCL."""

    def __init__(
        self, gpus: Gpus, sends: bool, ends: tuple[int, int], place: int, size: int
    ) -> None:
        self.gpus, self.sends, self.ends, self.place, self.size = gpus, sends, ends, place, size
        self.here = self.done = False

    def matches(self, other: Call) -> bool:
        open_ = other.here and not other.done
        return open_ and other.sends != self.sends and (other.ends, other.size) == (
            self.ends, self.size,
        )  # fmt: skip

    def is_done(self) -> bool:
        """Whether its stream can continue: the matching call is here and the bytes are copied."""
        self.here = True
        if not self.done and (other := next(filter(self.matches, self.gpus.calls), None)):
            source, to = (self, other) if self.sends else (other, self)
            ctypes.memmove(to.place, source.place, self.size)
            self.done = other.done = True
        return self.done


class Communicator:
    """A fake NCCL communicator: a send waits for its receive."""

    def __init__(self, gpus: Gpus, rank: int) -> None:
        self.gpus, self.rank = gpus, rank

    def send(self, pointer: int, count: int, kind: int, peer: int, stream: int) -> None:
        call = Call(self.gpus, True, (self.rank, peer), pointer, count * kind)
        self.gpus.group.append((stream, call))

    def recv(self, pointer: int, count: int, kind: int, peer: int, stream: int) -> None:
        call = Call(self.gpus, False, (peer, self.rank), pointer, count * kind)
        self.gpus.group.append((stream, call))


Tape = list[tuple[str, Stream, Any]]
"""The work captured on streams: kind, stream, and an event or work."""


class Graph:
    """A replay of a tape: each launch has separate events, like the edges of a CUDA graph."""

    def __init__(self, gpus: Gpus, number: int) -> None:
        self.tape, self.free = gpus.tapes.pop(number), lambda: None

    def launch(self, origin: Stream) -> None:
        events: dict[int, Event] = {}
        begun = Event()
        begun.record(origin)
        for stream in {id(stream): stream for _, stream, _ in self.tape}.values():
            stream.wait_event(begun)
        for kind, stream, what in self.tape:
            if kind == "work":
                stream.give(what)
            elif kind == "record":
                events[id(what)] = Event()
                events[id(what)].record(stream)
            else:
                stream.wait_event(events[id(what)])  # KeyError: another graph's, which CUDA refuses


class CudaError(Exception):
    status = 704


class Gpus:
    """A fake CuPy with NCCL."""

    NCCL_FLOAT32, NCCL_UINT8 = 4, 1

    def __init__(self, count: int, seed: int = 0, memory: int = 2**33, peers: bool = True) -> None:
        self.current, self.streams = 0, []
        self.group: list[tuple[int, Call]] = []
        self.calls: list[Call] = []
        self.random = random.Random(seed)
        self.arrays: list[Array] = []
        self.tape: Tape | None = None
        self.tapes: dict[int, Tape] = {}
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
                streamCaptureModeRelaxed=2,
                streamBeginCapture=self.begin_capture,
                streamEndCapture=self.end_capture,
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

    def groupStart(self) -> None:  # noqa: N802 (NCCL's name)
        assert not self.group

    def groupEnd(self) -> None:  # noqa: N802
        group, self.group = self.group, []
        self.calls += [call for _, call in group]
        for stream in {number for number, _ in group}:
            mine = [call for number, call in group if number == stream]

            def all_done(mine: list[Call] = mine) -> bool:
                done = [call.is_done() for call in mine]  # all of a group are there at once
                return all(done)

            self.streams[stream - 1].steps.append((all_done, lambda: None))

    def begin_capture(self, _stream: int, _mode: int) -> None:
        assert self.tape is None
        self.tape = []

    def end_capture(self, stream: int) -> int:
        assert self.tape is not None
        self.tapes[stream], self.tape = self.tape, None
        return stream

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
