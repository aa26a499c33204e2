"""Run a plan on GPUs with overlapping products and transfers.

One thread queues all work. Products run on one stream of a GPU, transfers on another
with higher priority. If a GPU computes several tiles of C, products alternate between two streams:
blocks of the next product fill the SMs that the last wave of the current one leaves idle. Events
signal that a buffer is filled or free, as with double buffering in a kernel. The dependencies
follow from the plan's buffers; see ``_Dependencies``.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.elements import fill, worst_share
from sgemm_lab.multi_gpu.graphs import Graph
from sgemm_lab.multi_gpu.model import MULTIPLY, TRANSFER, Span
from sgemm_lab.multi_gpu.nccl import communicators, nccl_library
from sgemm_lab.multi_gpu.plan import Multiply, Plan, Receive
from sgemm_lab.multi_gpu.single_gpu import CUBLAS, local_product, scratch_bytes
from sgemm_lab.multi_gpu.topology import check_count, check_memory, enable_peer_access

NCCL, COPY = "nccl", "copy"
TRANSPORTS = (NCCL, COPY)
"""Transports of tiles: NCCL, or the copy engines."""

TIME_LIMIT = 60.0
"""Time limit of a plan in seconds. The largest recorded one takes less than one."""
_NOT_READY = 600
"""cudaErrorNotReady (CUDA Runtime API, cudaError): a stream has pending work."""
MOST_GRAPHS = 2
"""Maximum number of graphs per run. With two, independent GPUs do not wait for each other. The
launch of four takes the host longer than this saves: ``records/notes.md``."""
_HIGH = -5
"""Priority of the stream of transfers: the highest."""

Place = tuple[int, str]
"""A buffer of a GPU."""


class NotInTimeError(LabError):
    """The GPUs did not finish in time."""


class _Worker:
    """One GPU: its streams, its buffers, its product."""

    def __init__(self, plan: Plan, device: int, inside: str) -> None:
        self._cupy = cupy = require_gpu()
        self.device, self.share = device, plan.shares[device]
        added = [math.prod(step.size[:2]) for step in self.share.products if step.adds]
        scratch = max(added, default=0)
        # Blocks of the book's stream-K kernels wait for each other and must all be resident, so a
        # concurrent product could deadlock.
        lanes = 2 if inside == CUBLAS and len(self.share.results) > 1 else 1
        with cupy.cuda.Device(device):
            check_memory(plan, device, lanes * scratch_bytes(inside, scratch))
            self.work = [cupy.cuda.Stream(non_blocking=True) for _ in range(lanes)]
            self.moving = cupy.cuda.Stream(non_blocking=True, priority=_HIGH)
            self.products = [local_product(inside, stream, scratch) for stream in self.work]
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

    def event(self, *, timing: bool = False) -> Any:
        """Return a new event of this GPU."""
        with self._cupy.cuda.Device(self.device):
            return self._cupy.cuda.Event(disable_timing=not timing)


class Engine:
    """Buffers of a plan on the GPUs of this process, and programs that run the plan."""

    def __init__(
        self,
        plan: Plan,
        *,
        inside: str = CUBLAS,
        transport: str = COPY,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        """Allocate all buffers, and generate the initial tiles of A and B.

        Args:
            plan: GPU i of the plan is device i.
            inside: one of ``single_gpu.LOCAL_PRODUCTS``.
            transport: one of ``TRANSPORTS``.
            time_limit: of a run, in seconds.

        Raises:
            LabError: too few GPUs, not enough memory, no peer access, no NCCL, or an unknown
                product or transport.
        """
        if transport not in TRANSPORTS:
            raise LabError(f"There is no transport '{transport}'. Take {' or '.join(TRANSPORTS)}.")
        check_count(plan.gpus)
        self.plan, self.transport, self.time_limit = plan, transport, time_limit
        self.communicators: list[Any] = []
        if transport == NCCL and plan.gpus > 1:
            self.communicators = communicators(plan.gpus)
        else:
            enable_peer_access(plan.gpus)
        cupy = require_gpu()
        try:
            self.workers = [_Worker(plan, gpu, inside) for gpu in range(plan.gpus)]
        except cupy.cuda.memory.OutOfMemoryError:
            raise LabError(
                "The GPUs' memory cannot hold the matrices. Take a smaller size or more GPUs."
            ) from None

    def program(
        self, *, overlap: bool = True, transfers: bool = True, timed: bool = False
    ) -> "Program":
        """Return the plan as a program that can be queued repeatedly.

        Args:
            overlap: whether transfers overlap products.
            transfers: False omits them; GPUs then multiply the current content of their buffers.
            timed: record start and end of each step for ``Program.spans``.
        """
        return Program(self, overlap=overlap, transfers=transfers, timed=timed)

    def check(self) -> float:
        """Return the largest error of sampled rows of C over the rounding bound."""
        cupy, found = require_gpu(), 0.0
        for worker in self.workers:
            with cupy.cuda.Device(worker.device):
                found = max(found, worker.worst_share(self.plan))
        return found

    def fill_nan(self) -> None:
        """Fill C with NaN, so that a check covers only later writes."""
        cupy = require_gpu()
        for worker in self.workers:
            with cupy.cuda.Device(worker.device):
                worker.fill_nan()
                cupy.cuda.Device().synchronize()


def wait(streams: Iterable[Any], seconds: float) -> None:
    """Wait until streams have finished.

    Raises:
        NotInTimeError: they did not finish within ``seconds``.
        LabError: a GPU failed.
    """
    query = require_gpu().cuda.runtime.streamQuery
    end = time.perf_counter() + seconds
    for stream in streams:
        while (status := query(stream.ptr)) == _NOT_READY:
            if time.perf_counter() > end:
                raise NotInTimeError(
                    f"The GPUs did not finish in {seconds:g} seconds. One may be busy with another "
                    "program. Start again."
                )
        if status:
            raise LabError(f"GPU {stream.device_id} failed (CUDA error {status}). Start again.")


@dataclass
class _Done:
    """Completion of a step. The event is created on the first wait."""

    stream: Any
    worker: _Worker
    event: Any = None

    def required_event(self) -> Any:
        if self.event is None:
            self.event = self.worker.event()
        return self.event


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
    """Work to queue: waits, then the work, then events."""

    device: int
    waits: list[tuple[Any, _Done]]
    """Streams with the steps that they wait for."""
    work: Callable[[], None]
    done: list[_Done]
    marks: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """For timing: a stream, and the events before and after the work."""

    @property
    def devices(self) -> set[int]:
        """The GPUs of the work and of its waits."""
        return {done.worker.device for done in (*self.done, *(done for _, done in self.waits))}

    def queue(self, set_device: Callable[[int], None]) -> None:
        for stream, done in self.waits:
            stream.wait_event(done.required_event())
        for stream, before, _ in self.marks:
            before.record(stream)
        set_device(self.device)
        self.work()
        for stream, _, after in self.marks:
            after.record(stream)
        for done in self.done:
            if done.event is not None:
                done.event.record(done.stream)


class Program:
    """The steps of a plan, queued on streams or replayed as a CUDA graph."""

    def __init__(self, engine: Engine, *, overlap: bool, transfers: bool, timed: bool) -> None:
        self._cupy = require_gpu()
        self._engine, self._overlap, self._timed = engine, overlap, timed
        self._dependencies = _Dependencies()
        self._actions: list[_Action] = []
        self._marked: list[tuple[Span, _Worker, Any, Any]] = []
        self._graphs: list[tuple[Any, Graph]] = []
        self._nccl = nccl_library() if engine.communicators else None
        for number, (products, receives) in enumerate(engine.plan.by_round()):
            for gpu, step in products:
                self._add_product(gpu, step)
            if transfers and receives:
                add = self._add_copies if engine.transport == COPY else self._add_exchange
                add(number, receives)
        self._zeros = [worker.event(timing=True) for worker in engine.workers] if timed else []

    @property
    def streams(self) -> list[Any]:
        """All streams of the program."""
        return [s for w in self._engine.workers for s in self._streams_of(w)]

    def queue(self) -> None:
        """Queue every step without waiting."""
        here = self._cupy.cuda.runtime.getDevice()
        for worker, zero in zip(self._engine.workers, self._zeros, strict=False):
            zero.record(worker.work[0])
        self._queue(self._actions)
        self._cupy.cuda.runtime.setDevice(here)

    def capture(self) -> None:
        """Capture CUDA graphs, which ``run`` then replays. The program must have run once before.

        Independent GPUs get separate graphs, since one graph would synchronize them at its start
        and its end.
        """
        groups = self._connected_devices()
        for devices in groups if len(groups) <= MOST_GRAPHS else [set().union(*groups)]:
            workers = [w for w in self._engine.workers if w.device in devices]
            actions = [action for action in self._actions if action.devices <= devices]
            self._graphs.append((workers[0].work[0], self._captured(workers, actions)))

    def release(self) -> None:
        """Free the graphs, before NCCL's communicators are destroyed and the process ends."""
        while self._graphs:
            self._graphs.pop()[1].free()

    def run(self, times: int = 1) -> float:
        """Run the plan; return seconds from the first GPU's start to the last one's end.

        With ``times`` above 1 the runs are sequential and the result is per run, which amortizes
        the host's overhead.

        Raises:
            NotInTimeError: it took longer than the engine's time limit.
            LabError: a GPU failed.
        """
        limit = self._engine.time_limit
        begin = time.perf_counter()
        if self._graphs:
            for _ in range(times):
                for origin, graph in self._graphs:
                    self._cupy.cuda.runtime.setDevice(origin.device_id)
                    graph.launch(origin)
            wait([origin for origin, _ in self._graphs], limit)
        else:
            for _ in range(times):
                self.queue()
                wait(self.streams, limit)
        return (time.perf_counter() - begin) / times

    def spans(self) -> list[Span]:
        """Return start and end of each step of the latest run, by each GPU's own clock.

        The clocks start within some microseconds of each other.
        """
        between = self._cupy.cuda.get_elapsed_time
        found = []
        for span, worker, before, after in self._marked:
            with self._cupy.cuda.Device(worker.device):
                zero = self._zeros[span.gpu]
                start, end = (between(zero, event) * 1e-3 for event in (before, after))
            found.append(Span(span.gpu, span.what, span.round, span.label, start, end))
        return found

    def _queue(self, actions: Iterable[_Action]) -> None:
        for action in actions:
            action.queue(self._cupy.cuda.runtime.setDevice)

    def _connected_devices(self) -> list[set[int]]:
        """Return the connected components of the GPUs under dependencies."""
        groups = [{worker.device} for worker in self._engine.workers]
        for action in self._actions:
            touched = [group for group in groups if group & action.devices]
            groups = [group for group in groups if group not in touched]
            groups.append(set().union(*touched))
        return sorted(groups, key=min)

    def _captured(self, workers: list[_Worker], actions: list[_Action]) -> Graph:
        """Capture actions on the streams of some GPUs; the first stream is the origin."""
        cupy, runtime = self._cupy, self._cupy.cuda.runtime
        owned = [(worker, stream) for worker in workers for stream in self._streams_of(worker)]
        (first, origin), *others = owned
        begun = first.event()
        ended = [(stream, worker.event()) for worker, stream in others]
        with cupy.cuda.Device(first.device):
            runtime.streamBeginCapture(origin.ptr, runtime.streamCaptureModeRelaxed)
            try:
                begun.record(origin)
                for _, stream in others:
                    stream.wait_event(begun)
                self._queue(actions)
                runtime.setDevice(first.device)
                for stream, event in ended:
                    event.record(stream)
                    origin.wait_event(event)
            finally:
                pointer = runtime.streamEndCapture(origin.ptr)
            return Graph(pointer)

    def _streams_of(self, worker: _Worker) -> list[Any]:
        return [*worker.work, worker.moving] if self._overlap else worker.work[:1]

    def _add_product(self, gpu: int, step: Multiply) -> None:
        worker = self._engine.workers[gpu]
        m, n, k = step.size
        a, b = worker.view(step.a, m, k), worker.view(step.b, k, n)
        c = worker.view(step.c, m, n)
        lane = worker.lane(step.c) if self._overlap else 0
        done = _Done(worker.work[lane], worker)
        waits = self._waits(done, [(gpu, step.a), (gpu, step.b)], [(gpu, step.c)])

        def work() -> None:
            worker.products[lane](a, b, c, step.adds)

        span = Span(gpu, MULTIPLY, step.round, step.c, 0.0, 0.0)
        self._add(_Action(worker.device, waits, work, [done]), [(span, done)])

    def _add_copies(self, _round: int, receives: list[tuple[int, Receive]]) -> None:
        """Add one copy per tile, on the receiver's stream of transfers."""
        runtime = self._cupy.cuda.runtime
        for gpu, step in receives:
            worker, source = self._engine.workers[gpu], self._engine.workers[step.source]
            buffer = self._engine.plan.source_buffer(gpu, step)
            stream = self._transfer_stream(worker)
            done = _Done(stream, worker)
            waits = self._waits(done, [(step.source, buffer)], [(gpu, step.buffer)])
            # memcpyPeerAsync cannot be captured; this copy can, and infers the devices.
            given = (
                worker.arrays[step.buffer].data.ptr, source.arrays[buffer].data.ptr,
                step.tile.bytes, runtime.memcpyDefault, stream.ptr,
            )  # fmt: skip

            def work(given: tuple[int, ...] = given) -> None:
                runtime.memcpyAsync(*given)

            span = Span(gpu, TRANSFER, step.round, str(step.tile), 0.0, 0.0)
            self._add(_Action(worker.device, waits, work, [done]), [(span, done)])

    def _add_exchange(self, number: int, receives: list[tuple[int, Receive]]) -> None:
        """Add all sends and receives of a round as one NCCL group."""
        workers, plan = self._engine.workers, self._engine.plan
        calls: list[Callable[[], None]] = []
        reads: dict[int, list[Place]] = {}
        writes: dict[int, list[Place]] = {}
        for gpu, step in receives:
            buffer = plan.source_buffer(gpu, step)
            calls.append(self._nccl_call("send", step.source, buffer, step, gpu))
            reads.setdefault(step.source, []).append((step.source, buffer))
            calls.append(self._nccl_call("recv", gpu, step.buffer, step, step.source))
            writes.setdefault(gpu, []).append((gpu, step.buffer))
        participants = sorted({*reads, *writes})
        waits, all_done = [], []
        for gpu in participants:
            done = _Done(self._transfer_stream(workers[gpu]), workers[gpu])
            waits += self._waits(done, reads.get(gpu, []), writes.get(gpu, []))
            all_done.append(done)
        nccl: Any = self._nccl

        def work() -> None:
            nccl.groupStart()
            for call in calls:
                call()
            nccl.groupEnd()

        labels = {g: ", ".join(str(s.tile) for to, s in receives if to == g) for g in participants}
        spans = [
            (Span(gpu, TRANSFER, number, labels[gpu], 0.0, 0.0), done)
            for gpu, done in zip(participants, all_done, strict=True)
        ]
        device = workers[participants[0]].device
        self._add(_Action(device, waits, work, all_done), spans)

    def _nccl_call(
        self, name: str, gpu: int, buffer: str, step: Receive, peer: int
    ) -> Callable[[], None]:
        worker = self._engine.workers[gpu]
        call = getattr(self._engine.communicators[gpu], name)
        nccl: Any = self._nccl
        given = (
            worker.arrays[buffer].data.ptr, step.tile.elements, nccl.NCCL_FLOAT32, peer,
            self._transfer_stream(worker).ptr,
        )  # fmt: skip
        return lambda: call(*given)

    def _transfer_stream(self, worker: _Worker) -> Any:
        return worker.moving if self._overlap else worker.work[0]

    def _waits(
        self, done: _Done, reads: Iterable[Place], writes: Iterable[Place]
    ) -> list[tuple[Any, _Done]]:
        """Add a step to the dependencies; return the waits of its stream."""
        earlier = self._dependencies.step(done, reads, writes)
        for one in earlier:
            one.required_event()  # so that it is recorded from the first run on
        return [(done.stream, one) for one in earlier]

    def _add(self, action: _Action, spans: list[tuple[Span, _Done]]) -> None:
        if self._timed:
            for span, done in spans:
                before, after = (done.worker.event(timing=True) for _ in range(2))
                action.marks.append((done.stream, before, after))
                self._marked.append((span, done.worker, before, after))
        self._actions.append(action)
