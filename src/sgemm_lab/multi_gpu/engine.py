"""Run a plan on GPUs with overlapping products and copies.

One thread queues all work. Products run on one stream of a GPU, copies of tiles by the copy engines
on another with higher priority. If a GPU computes several tiles of C, products alternate between
two streams: blocks of the next product fill the SMs that the last wave of the current one leaves
idle. Events signal that a buffer is filled or free, as with double buffering in a kernel. The
dependencies follow from the plan's buffers; see ``_Dependencies``.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.measuring.interleaved import WORKSPACE_BYTES
from sgemm_lab.measuring.stream_cublas import StreamCublas
from sgemm_lab.multi_gpu.elements import fill, worst_share
from sgemm_lab.multi_gpu.plan import Multiply, Plan, Receive
from sgemm_lab.multi_gpu.topology import check_memory, enable_peer_access

TIME_LIMIT = 60.0
"""Time limit of a plan in seconds. The largest recorded one takes less than one."""
_NOT_READY = 600
"""cudaErrorNotReady (CUDA Runtime API, cudaError): a stream has pending work."""
_HIGH = -5
"""Priority of the stream of copies: the highest."""

Place = tuple[int, str]
"""A buffer of a GPU."""


class _Worker:
    """One GPU: its streams, its buffers, its products by cublasSgemm in FP32, without TF32."""

    def __init__(self, plan: Plan, device: int) -> None:
        self._cupy = cupy = require_gpu()
        self.device, self.share = device, plan.shares[device]
        lanes = 2 if len(self.share.results) > 1 else 1
        with cupy.cuda.Device(device):
            check_memory(plan, device, lanes * WORKSPACE_BYTES)
            self.work = [cupy.cuda.Stream(non_blocking=True) for _ in range(lanes)]
            self.moving = cupy.cuda.Stream(non_blocking=True, priority=_HIGH)
            self.products = [cublas_on(stream) for stream in self.work]
            self.arrays = {n: cupy.empty(c, "float32") for n, c in self.share.buffers.items()}
            for name, tile in self.share.own.items():
                fill(cupy, self.view(name, tile.rows, tile.columns), tile)
            self.fill_nan()
            cupy.cuda.Device().synchronize()

    def lane(self, c: str) -> int:
        """Return the index of the stream for products of a tile of C."""
        return list(self.share.results).index(c) % len(self.work)

    def view(self, buffer: str, rows: int, columns: int) -> Any:
        """Return the first elements of a buffer as a matrix."""
        return self.arrays[buffer][: rows * columns].reshape(rows, columns)

    def fill_nan(self) -> None:
        """Fill every tile of C with NaN."""
        for name in self.share.results:
            self.arrays[name].fill(math.nan)

    def worst_share(self, plan: Plan) -> float:
        """Return the largest error of sampled rows over the rounding bound."""
        shares = [
            worst_share(self._cupy, self.view(name, tile.rows, tile.columns), tile, plan.size)
            for name, tile in self.share.results.items()
        ]
        return max((math.inf if math.isnan(share) else share for share in shares), default=0.0)

    def event(self) -> Any:
        """Return a new event of this GPU."""
        with self._cupy.cuda.Device(self.device):
            return self._cupy.cuda.Event(disable_timing=True)


def cublas_on(stream: Any) -> Callable[[Any, Any, Any, bool], None]:
    """Return what queues c = a·b on a stream, or c += a·b if the last argument is true."""
    cublas = StreamCublas(stream.ptr)

    def multiply(a: Any, b: Any, c: Any, adds: bool) -> None:
        (m, k), n = a.shape, b.shape[1]
        cublas.launch(a.data.ptr, b.data.ptr, c.data.ptr, (m, n, k), adds=adds)

    return multiply


@dataclass
class _Done:
    """Completion of a step. It has an event where another stream waits for it."""

    stream: Any
    worker: _Worker
    event: Any = None

    def require_event(self) -> None:
        if self.event is None:
            self.event = self.worker.event()


@dataclass
class _Dependencies:
    """The last writer and readers of each buffer, for waits between streams."""

    writer: dict[Place, _Done] = field(default_factory=dict)
    readers: dict[Place, list[_Done]] = field(default_factory=dict)

    def step(self, done: _Done, reads: Iterable[Place], writes: Iterable[Place]) -> list[_Done]:
        """Add a step; return the steps on other streams that it must wait for."""
        earlier: list[_Done] = []
        for place in reads:
            earlier += [self.writer[place]] if place in self.writer else []
            self.readers.setdefault(place, []).append(done)
        for place in writes:
            earlier += [self.writer[place]] if place in self.writer else []
            earlier += self.readers.pop(place, [])
            self.writer[place] = done
        others = {id(e): e for e in earlier if e.stream.ptr != done.stream.ptr}
        return list(others.values())


@dataclass
class _Action:
    """Work to queue: waits for other streams, then the work, then an event."""

    done: _Done
    waits: list[_Done]
    work: Callable[[], None]

    def queue(self, set_device: Callable[[int], None]) -> None:
        for earlier in self.waits:
            self.done.stream.wait_event(earlier.event)
        set_device(self.done.worker.device)
        self.work()
        if self.done.event is not None:
            self.done.event.record(self.done.stream)


class Engine:
    """Buffers of a plan on the GPUs of this process, and the steps to queue."""

    def __init__(self, plan: Plan, *, time_limit: float = TIME_LIMIT) -> None:
        """Allocate all buffers, and generate the initial tiles of A and B.

        GPU i of the plan is device i. A run may take ``time_limit`` seconds.

        Raises:
            LabError: not enough memory, or no peer access.
        """
        self.plan, self.time_limit = plan, time_limit
        enable_peer_access(plan.gpus)
        self._cupy = cupy = require_gpu()
        try:
            self.workers = [_Worker(plan, gpu) for gpu in range(plan.gpus)]
        except cupy.cuda.memory.OutOfMemoryError:
            raise LabError(
                "The GPUs' memory cannot hold the matrices. Take a smaller size or more GPUs."
            ) from None
        self._dependencies = _Dependencies()
        self._actions: list[_Action] = []
        for products, receives in plan.by_round():
            for gpu, multiply in products:
                self._add_product(gpu, multiply)
            for gpu, receive in receives:
                self._add_copy(gpu, receive)

    @property
    def streams(self) -> list[Any]:
        """All streams."""
        return [stream for one in self.workers for stream in (*one.work, one.moving)]

    def run(self) -> float:
        """Run the plan; return seconds from the first GPU's start to the last one's end."""
        begin, runtime = time.perf_counter(), self._cupy.cuda.runtime
        here = runtime.getDevice()
        for action in self._actions:
            action.queue(runtime.setDevice)
        runtime.setDevice(here)
        wait(self.streams, self.time_limit)
        return time.perf_counter() - begin

    def check(self) -> float:
        """Return the largest error of sampled rows of C over the rounding bound."""
        found = 0.0
        for worker in self.workers:
            with self._cupy.cuda.Device(worker.device):
                found = max(found, worker.worst_share(self.plan))
        return found

    def fill_nan(self) -> None:
        """Fill C with NaN, so that a check covers only later writes."""
        for worker in self.workers:
            with self._cupy.cuda.Device(worker.device):
                worker.fill_nan()
                self._cupy.cuda.Device().synchronize()

    def _add_product(self, gpu: int, step: Multiply) -> None:
        worker = self.workers[gpu]
        m, n, k = step.size
        a, b = worker.view(step.a, m, k), worker.view(step.b, k, n)
        c, lane = worker.view(step.c, m, n), worker.lane(step.c)

        def work() -> None:
            worker.products[lane](a, b, c, step.adds)

        done = _Done(worker.work[lane], worker)
        self._add(done, work, [(gpu, step.a), (gpu, step.b)], (gpu, step.c))

    def _add_copy(self, gpu: int, step: Receive) -> None:
        """Add the copy of a tile, on the receiver's stream of copies."""
        runtime = self._cupy.cuda.runtime
        worker, source = self.workers[gpu], self.workers[step.source]

        def work() -> None:
            runtime.memcpyAsync(
                worker.arrays[step.buffer].data.ptr, source.arrays[step.source_buffer].data.ptr,
                step.tile.bytes, runtime.memcpyDefault, worker.moving.ptr,
            )  # fmt: skip

        reads = [(step.source, step.source_buffer)]
        self._add(_Done(worker.moving, worker), work, reads, (gpu, step.buffer))

    def _add(
        self, done: _Done, work: Callable[[], None], reads: Iterable[Place], writes: Place
    ) -> None:
        earlier = self._dependencies.step(done, reads, [writes])
        for one in earlier:
            one.require_event()  # so that it is recorded from the first run on
        self._actions.append(_Action(done, earlier, work))


def wait(streams: Iterable[Any], seconds: float) -> None:
    """Wait until streams have finished, for so many seconds at most; else raise a LabError."""
    query = require_gpu().cuda.runtime.streamQuery
    end = time.perf_counter() + seconds
    for stream in streams:
        while (status := query(stream.ptr)) == _NOT_READY:
            if time.perf_counter() > end:
                raise LabError(
                    f"The GPUs did not finish in {seconds:g} seconds. One may be busy with another "
                    "program. Start again."
                )
        if status:
            raise LabError(f"GPU {stream.device_id} failed (CUDA error {status}). Start again.")
