"""A plan on GPUs: two streams and two buffers each, products and transfers at once.

One thread queues everything for the GPUs that its process drives. Products go to one stream of a
GPU, transfers to another of higher priority. Where a GPU makes several tiles of C, two streams take
turns with the products: the blocks of the next fill the SMs that the last ones of this leave idle.
An event after each step that others wait for tells that a buffer is filled (ready) or no longer
read (free): the double buffer of a kernel, one level up. Which step waits for which follows from
the plan's buffers; see ``_Order``.
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
from sgemm_lab.multi_gpu.plan import Multiply, Plan, Receive
from sgemm_lab.multi_gpu.process_group import Team, nccl_library
from sgemm_lab.multi_gpu.single_gpu import CUBLAS, local_product, scratch_bytes
from sgemm_lab.multi_gpu.topology import check_memory, enable_peer_access
from sgemm_lab.multi_gpu.validity import check

NCCL, COPY = "nccl", "copy"
TRANSPORTS = (NCCL, COPY)
"""Who carries tiles: NCCL, everywhere; or the copy engines, within one process."""

TIME_LIMIT = 120.0
"""Seconds that a plan may take. The largest of the record takes less than one."""
MOST_GRAPHS = 2
"""Graphs that a run launches at most. Two spare small products the wait of two GPUs for each other.
The launch of four takes the host longer than it spares: ``records/notes.md``."""
_HIGH = -5
"""Priority of the stream of transfers: CUDA's highest, or the highest that there is."""

Place = tuple[int, str]
"""A buffer of a GPU."""


class _Worker:
    """One GPU of this process: its streams, its buffers, its product."""

    def __init__(self, plan: Plan, gpu: int, device: int, inside: str) -> None:
        self._cupy = cupy = require_gpu()
        self.device, self.share = device, plan.shares[gpu]
        added = [math.prod(step.size[:2]) for step in self.share.products if step.adds]
        scratch = max(added, default=0)
        # Blocks of the book's even shares wait for each other: all of them must be on the GPU, so
        # another product beside them could hang both.
        lanes = 2 if inside == CUBLAS and len(self.share.results) > 1 else 1
        with cupy.cuda.Device(device):
            check_memory(plan, gpu, device, lanes * scratch_bytes(inside, scratch))
            self.work = [cupy.cuda.Stream(non_blocking=True) for _ in range(lanes)]
            self.moving = cupy.cuda.Stream(non_blocking=True, priority=_HIGH)
            self.products = [local_product(inside, stream, scratch) for stream in self.work]
            self.arrays = {n: cupy.empty(c, "float32") for n, c in self.share.buffers.items()}
            for name, tile in self.share.own.items():
                fill(cupy, self.view(name, tile.rows, tile.columns), tile)
            self.poison()
            cupy.cuda.Device().synchronize()

    def lane(self, c: str) -> int:
        """Return which of the streams of products makes a tile of C: its own each time."""
        return list(self.share.results).index(c) % len(self.work)

    def view(self, buffer: str, rows: int, columns: int) -> Any:
        """Return the part of a buffer that a tile takes, as a matrix."""
        return self.arrays[buffer][: rows * columns].reshape(rows, columns)

    def poison(self) -> None:
        """Put NaN into every tile of C."""
        for name in self.share.results:
            self.arrays[name].fill(math.nan)

    def worst_share(self, plan: Plan) -> float:
        """Return how wrong its sampled rows are, as a share of what rounding allows."""
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
    """A plan's buffers on the GPUs of a team, and programs that run it."""

    def __init__(
        self,
        plan: Plan,
        team: Team,
        *,
        inside: str = CUBLAS,
        transport: str = NCCL,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        """Allocate everything, and make the tiles of A and B that each GPU owns.

        Args:
            plan: for as many GPUs as the team has.
            team: NCCL's communicators, where NCCL carries.
            inside: whose product: one of ``local.INSIDES``.
            transport: one of ``TRANSPORTS``.
            time_limit: seconds that a run may take.

        Raises:
            LabError: the plan is wrong, too few GPUs, too little memory, no peer access, or no
                such product or transport.
        """
        check(plan)
        if plan.gpus != team.gpus:
            raise LabError(f"The plan is for {plan.gpus} GPUs, and the team has {team.gpus}.")
        if transport not in TRANSPORTS:
            raise LabError(f"There is no transport '{transport}'. Take {' or '.join(TRANSPORTS)}.")
        if transport == COPY and not team.is_whole:
            raise LabError("Copy engines work within one process. Between processes take NCCL.")
        if transport == NCCL and plan.gpus > 1 and not team.communicators:
            raise LabError("NCCL has not brought this team together. Make one with nccl=True.")
        self.plan, self.team, self.transport = plan, team, transport
        self.time_limit = time_limit
        if transport == COPY:
            enable_peer_access(list(team.devices.values()))
        cupy = require_gpu()
        try:
            self.workers = {g: _Worker(plan, g, d, inside) for g, d in team.devices.items()}
        except cupy.cuda.memory.OutOfMemoryError:
            raise LabError(
                "The GPUs' memory cannot hold the matrices. Take a smaller size or more GPUs."
            ) from None

    def program(
        self, *, overlap: bool = True, transfers: bool = True, timed: bool = False
    ) -> "Program":
        """Return the plan as something that can be queued again and again.

        Args:
            overlap: products and transfers at once, or one after the other.
            transfers: without them a GPU multiplies whatever its buffers hold.
            timed: keep when each step began and ended; ``Program.spans`` tells.
        """
        return Program(self, overlap=overlap, transfers=transfers, timed=timed)

    def check(self) -> float:
        """Return how wrong sampled rows of C are, as a share of what rounding allows; 1 is most."""
        cupy, found = require_gpu(), 0.0
        for worker in self.workers.values():
            with cupy.cuda.Device(worker.device):
                found = max(found, worker.worst_share(self.plan))
        return self.team.largest(found)

    def poison(self) -> None:
        """Put NaN into C, so that a check sees only what is written from now on."""
        cupy = require_gpu()
        for worker in self.workers.values():
            with cupy.cuda.Device(worker.device):
                worker.poison()
                cupy.cuda.Device().synchronize()


@dataclass
class _Done:
    """A step that is done when its event says so; the event is made when somebody waits for it."""

    stream: Any
    worker: _Worker
    event: Any = None

    def wanted(self) -> Any:
        if self.event is None:
            self.event = self.worker.event()
        return self.event


@dataclass
class _Order:
    """Who wrote and who read each buffer last: what follows on another stream waits for them."""

    writer: dict[Place, _Done] = field(default_factory=dict)
    readers: dict[Place, list[_Done]] = field(default_factory=dict)

    def step(self, done: _Done, reads: Iterable[Place], writes: Iterable[Place]) -> list[_Done]:
        """Enter a step; return the steps on other streams that it must wait for."""
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
    """Something to queue: waits first, then the work, then the events that others wait for."""

    device: int
    waits: list[tuple[Any, _Done]]
    """Streams, and what each waits for."""
    work: Callable[[], None]
    done: list[_Done]
    marks: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """Where times are kept: a stream, and the events before and after."""

    @property
    def devices(self) -> set[int]:
        """The GPUs that it ties together: where it is done, and what it waits for."""
        return {done.worker.device for done in (*self.done, *(done for _, done in self.waits))}

    def queue(self, set_device: Callable[[int], None]) -> None:
        for stream, done in self.waits:
            stream.wait_event(done.wanted())
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
    """The steps of a plan, ready to be queued; also as a CUDA graph."""

    def __init__(self, engine: Engine, *, overlap: bool, transfers: bool, timed: bool) -> None:
        self._cupy = require_gpu()
        self._engine, self._overlap, self._timed = engine, overlap, timed
        self._order = _Order()
        self._actions: list[_Action] = []
        self._marked: list[tuple[Span, _Worker, Any, Any]] = []
        self._graphs: list[tuple[Any, Graph]] = []
        self._nccl = nccl_library() if engine.team.communicators else None
        for number, (products, receives) in enumerate(engine.plan.by_round()):
            for gpu, step in products:
                if gpu in engine.workers:
                    self._add_product(gpu, step)
            if transfers and receives:
                add = self._add_copies if engine.transport == COPY else self._add_exchange
                add(number, receives)
        self._zeros = {g: w.event(timing=True) for g, w in engine.workers.items()} if timed else {}

    @property
    def streams(self) -> list[Any]:
        """All streams that it queues to."""
        return [s for w in self._engine.workers.values() for s in self._streams_of(w)]

    def queue(self) -> None:
        """Queue every step, and come back before any is done."""
        here = self._cupy.cuda.runtime.getDevice()
        for gpu, zero in self._zeros.items():
            zero.record(self._engine.workers[gpu].work[0])
        self._queue(self._actions)
        self._cupy.cuda.runtime.setDevice(here)

    def capture(self) -> None:
        """Make CUDA graphs of it, which ``run`` then replays.

        Two GPUs that no step ties together have a graph each: one that spans both waits for both of
        them at its beginning and its end. It must have run once before.
        """
        groups = self._tied()
        for devices in groups if len(groups) <= MOST_GRAPHS else [set().union(*groups)]:
            workers = [w for w in self._engine.workers.values() if w.device in devices]
            actions = [action for action in self._actions if action.devices <= devices]
            self._graphs.append((workers[0].work[0], self._captured(workers, actions)))

    def release(self) -> None:
        """Let the graphs go: before NCCL's communicators go, and before the process ends."""
        while self._graphs:
            self._graphs.pop()[1].free()

    def run(self, times: int = 1) -> float:
        """Run the plan; return seconds from the first GPU's start to the last one's end.

        Several times one after the other it is a time per run, which leaves out what the host takes
        to begin and to notice the end.

        Raises:
            NotInTimeError: it took longer than the engine's time limit.
            LabError: a GPU failed.
        """
        team = self._engine.team
        team.largest(0.0)  # where there are several processes, none begins before all are here
        begin = time.perf_counter()
        if self._graphs:
            for _ in range(times):
                for origin, graph in self._graphs:
                    self._cupy.cuda.runtime.setDevice(origin.device_id)
                    graph.launch(origin)
            team.wait([origin for origin, _ in self._graphs], self._engine.time_limit)
        else:
            for _ in range(times):
                team.with_others(self.queue)
                team.wait(self.streams, self._engine.time_limit)
        return team.largest(time.perf_counter() - begin) / times

    def spans(self) -> list[Span]:
        """Return when each step of the latest run began and ended, on each GPU's own clock.

        A GPU's clock begins when its first step may. GPUs begin within some microseconds.
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

    def _tied(self) -> list[set[int]]:
        """Return the GPUs of this process in groups that steps tie together, by their devices."""
        groups = [{worker.device} for worker in self._engine.workers.values()]
        for action in self._actions:
            touched = [group for group in groups if group & action.devices]
            groups = [group for group in groups if group not in touched]
            groups.append(set().union(*touched))
        return sorted(groups, key=min)

    def _captured(self, workers: list[_Worker], actions: list[_Action]) -> Graph:
        """Capture what actions queue on the streams of some GPUs; the first of them is origin."""
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
            worker.products[lane](a, b, c, adds=step.adds)

        span = Span(gpu, MULTIPLY, step.round, step.c, 0.0, 0.0)
        self._add(_Action(worker.device, waits, work, [done]), [(span, done)])

    def _add_copies(self, _round: int, receives: list[tuple[int, Receive]]) -> None:
        """Let each receiver fetch its tiles: one copy each, on its stream of transfers."""
        runtime = self._cupy.cuda.runtime
        for gpu, step in receives:
            worker, source = self._engine.workers[gpu], self._engine.workers[step.source]
            buffer = self._engine.plan.source_buffer(gpu, step)
            stream = self._transfer_stream(worker)
            done = _Done(stream, worker)
            waits = self._waits(done, [(step.source, buffer)], [(gpu, step.buffer)])
            # memcpyPeerAsync cannot be captured; this copy can, and finds out where memory lies.
            given = (
                worker.arrays[step.buffer].data.ptr, source.arrays[buffer].data.ptr,
                step.tile.bytes, runtime.memcpyDefault, stream.ptr,
            )  # fmt: skip

            def work(given: tuple[int, ...] = given) -> None:
                runtime.memcpyAsync(*given)

            span = Span(gpu, TRANSFER, step.round, str(step.tile), 0.0, 0.0)
            self._add(_Action(worker.device, waits, work, [done]), [(span, done)])

    def _add_exchange(self, number: int, receives: list[tuple[int, Receive]]) -> None:
        """Let NCCL carry the tiles of a round, all sends and receives of it in one group."""
        workers, plan = self._engine.workers, self._engine.plan
        calls: list[Callable[[], None]] = []
        reads: dict[int, list[Place]] = {}
        writes: dict[int, list[Place]] = {}
        for gpu, step in receives:
            if step.source in workers:
                buffer = plan.source_buffer(gpu, step)
                calls.append(self._nccl_call("send", step.source, buffer, step, gpu))
                reads.setdefault(step.source, []).append((step.source, buffer))
            if gpu in workers:
                calls.append(self._nccl_call("recv", gpu, step.buffer, step, step.source))
                writes.setdefault(gpu, []).append((gpu, step.buffer))
        taking_part = sorted({*reads, *writes})
        if not taking_part:
            return
        waits, all_done = [], []
        for gpu in taking_part:
            done = _Done(self._transfer_stream(workers[gpu]), workers[gpu])
            waits += self._waits(done, reads.get(gpu, []), writes.get(gpu, []))
            all_done.append(done)
        nccl: Any = self._nccl

        def work() -> None:
            nccl.groupStart()
            for call in calls:
                call()
            nccl.groupEnd()

        labels = {g: ", ".join(str(s.tile) for to, s in receives if to == g) for g in taking_part}
        spans = [
            (Span(gpu, TRANSFER, number, labels[gpu], 0.0, 0.0), done)
            for gpu, done in zip(taking_part, all_done, strict=True)
        ]
        device = workers[taking_part[0]].device
        self._add(_Action(device, waits, work, all_done), spans)

    def _nccl_call(
        self, name: str, gpu: int, buffer: str, step: Receive, peer: int
    ) -> Callable[[], None]:
        worker = self._engine.workers[gpu]
        call = getattr(self._engine.team.communicators[gpu], name)
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
        """Enter a step into the order; return what its stream must wait for."""
        earlier = self._order.step(done, reads, writes)
        for one in earlier:
            one.wanted()  # so that its event is recorded, from the first run on
        return [(done.stream, one) for one in earlier]

    def _add(self, action: _Action, spans: list[tuple[Span, _Done]]) -> None:
        if self._timed:
            for span, done in spans:
                before, after = (done.worker.event(timing=True) for _ in range(2))
                action.marks.append((done.stream, before, after))
                self._marked.append((span, done.worker, before, after))
        self._actions.append(action)
