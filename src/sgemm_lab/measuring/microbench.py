"""Microbenchmarks of a GPU: latency, bandwidth and arithmetic rate.

The kernels are in ``micro/*.cu``. Latencies are in clock cycles of an SM, bandwidths in GB/s
(10⁹ B/s), rates in GFLOP/s.
"""

from collections.abc import Callable, Iterator
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.cuda.micro import load_micro
from sgemm_lab.records.gpu_record import Reading

KB, MB = 1024, 1024**2

LATENCY_FOOTPRINTS = tuple(2**power for power in range(14, 31))
"""Footprints of the pointer chase in bytes: from 16 KB (fits any L1) to 1 GB (fits no L2)."""

READ_FOOTPRINTS = tuple(2**power * MB for power in range(2, 11))
STRIDES = (1, 2, 4, 8, 16, 32)
WIDTHS = (4, 8, 16)
"""Bytes of one load of one thread."""

_THREADS = 256
_FMA_ROUNDS = 20_000
_FMA_PER_ROUND = 4 * 16
_LINE = 128
_LARGE = 1024 * MB
"""Bytes that no L2 cache holds."""

SHARERS = (1, 2, 4)
"""Neighbouring blocks that copy the same pieces by TMA."""
_TMA_PIECE, _TMA_SLOTS = 16 * KB, 8
"""As in ``micro/tma.cu``."""
_TMA_FOOTPRINT = 16 * MB


def microbenchmarks(progress: Callable[[str], None] = lambda _: None) -> Iterator[Reading]:
    """Run the microbenchmarks.

    A footprint that the GPU's memory cannot hold is skipped; ``progress`` is called with a message.
    """
    bench = _Bench(require_gpu())
    plan: list[tuple[str, Callable[..., Reading], tuple[int, ...]]] = [
        ("latency of FMA, constant and shared memory", bench.latency_fma, ()),
        ("latency of constant memory", bench.latency_constant, ()),
        ("latency of shared memory", bench.latency_shared, ()),
        *(("latency over a footprint", bench.latency_global, (f,)) for f in LATENCY_FOOTPRINTS),
        ("rate of FMA", bench.fma_rate, ()),
        ("bandwidth of shared memory", bench.read_shared, ()),
        ("bandwidth of L1", bench.read_l1, ()),
        *(("bandwidth over a footprint", bench.read_past_l1, (f,)) for f in READ_FOOTPRINTS),
        ("bandwidth of a copy", bench.copy, ()),
        *(("bandwidth with a stride", bench.read_strided, (s,)) for s in STRIDES),
        *(("bandwidth by width of a load", bench.read_wide, (w, 1)) for w in WIDTHS),
        *(("bandwidth by width of a load", bench.read_wide, (w, 4)) for w in WIDTHS),
    ]
    if bench.has_tma:
        plan += [("bandwidth of L2 by TMA", bench.read_by_tma, (one,)) for one in SHARERS]
    for what, measure, arguments in plan:
        progress(" ".join([what, *(f"{a:,}" for a in arguments)]))
        try:
            yield measure(*arguments)
        except bench.cupy.cuda.memory.OutOfMemoryError:
            progress(f"{what} is left out: the GPU's memory cannot hold it")


class _Bench:
    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.sms = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
        self.sink = cupy.zeros(4, dtype="float32")

    # Latencies: one thread, cycles per step.

    def latency_fma(self) -> Reading:
        factor = self.cupy.float32(0.5)
        return self._latency("chain_fma", "latency.fma", 0, 4096, factor)

    def latency_constant(self) -> Reading:
        return self._latency("chase_constant", "latency.constant", 0, 4096)

    def latency_shared(self) -> Reading:
        return self._latency("chase_shared", "latency.shared", 0, 4096)

    def latency_global(self, footprint: int) -> Reading:
        nodes = footprint // _LINE
        ring = self.cupy.asarray(random_ring(nodes, _LINE // 8))
        ring += self.cupy.uint64(ring.data.ptr)
        end = self.cupy.zeros(1, dtype="uint64")
        function = load_micro("latency", "chase_global")
        cycles = self.cupy.zeros(1, dtype="int64")
        # One pass to warm the caches; large footprints need none.
        warm_up, steps = min(nodes, 1_000_000), 4096
        samples = []
        for _ in range(3):
            sizes = (self.cupy.int32(warm_up), self.cupy.int32(steps))
            function((1,), (1,), (ring, *sizes, cycles, end))
            samples.append(float(cycles.get()[0]) / steps)
        return Reading("latency.global", footprint, "cycles", tuple(samples))

    def _latency(
        self, entry: str, benchmark: str, parameter: int, steps: int, *extra: Any
    ) -> Reading:
        function = load_micro("latency", entry)
        cycles = self.cupy.zeros(1, dtype="int64")
        samples = []
        for _ in range(5):
            function((1,), (1,), (self.cupy.int32(steps), *extra, cycles, self.sink))
            samples.append(float(cycles.get()[0]) / steps)
        # The first run also fetched the instructions.
        return Reading(benchmark, parameter, "cycles", tuple(samples[1:]))

    # Bandwidths and rates: the whole GPU, amount per second.

    def fma_rate(self) -> Reading:
        function = load_micro("arithmetic", "fma_rate")
        blocks = self.sms * 8
        arguments = (self.cupy.int32(_FMA_ROUNDS), self.cupy.float32(0.5), self.sink)
        flop = 2 * _FMA_ROUNDS * _FMA_PER_ROUND * blocks * _THREADS
        seconds = self._time(lambda: function((blocks,), (_THREADS,), arguments))
        return Reading("rate.fma", 0, "GFLOP/s", tuple(flop / s / 1e9 for s in seconds))

    def read_shared(self) -> Reading:
        blocks, rounds = self.sms * 8, 20_000
        arguments = (self.cupy.int32(rounds), self.sink)
        moved = blocks * _THREADS * rounds * 8 * 16
        return self._bandwidth("shared", 0, "read_shared", blocks, arguments, moved)

    def read_l1(self) -> Reading:
        # Four slices of 16 KB on each SM: together they fit into any L1.
        blocks, slice_bytes, rounds = self.sms * 4, 16 * KB, 20_000
        data = self._zeros(blocks * slice_bytes)
        arguments = (data, self.cupy.int32(slice_bytes // 16), self.cupy.int32(rounds), self.sink)
        moved = blocks * slice_bytes * rounds
        return self._bandwidth("l1", slice_bytes, "read_l1", blocks, arguments, moved)

    def read_past_l1(self, footprint: int) -> Reading:
        rounds = max(1, 4096 * MB // footprint)
        vectors, count = self.cupy.int64(footprint // 16), self.cupy.int32(rounds)
        arguments = (self._zeros(footprint), vectors, count, self.sink)
        moved = footprint * rounds
        return self._bandwidth("read", footprint, "read_past_l1", self.sms * 8, arguments, moved)

    def copy(self) -> Reading:
        source = self._zeros(_LARGE)
        arguments = (source, self.cupy.empty_like(source), self.cupy.int64(_LARGE // 16))
        return self._bandwidth("copy", _LARGE, "copy", self.sms * 16, arguments, 2 * _LARGE)

    def read_strided(self, stride: int) -> Reading:
        count = _LARGE // 4 // stride
        sizes = self.cupy.int64(count), self.cupy.int32(stride)
        arguments = (self._zeros(_LARGE), *sizes, self.sink)
        return self._bandwidth(
            "strided", stride, "read_strided", self.sms * 8, arguments, 4 * count
        )

    def read_wide(self, width: int, loads: int) -> Reading:
        """Read 1 GB; a thread has 1 or 4 loads of ``width`` bytes in flight."""
        entry = f"read_{width}" + ("_by_four" if loads == 4 else "")
        arguments = (self._zeros(_LARGE), self.cupy.int64(_LARGE // width), self.sink)
        return self._bandwidth(f"loads{loads}", width, entry, self.sms * 8, arguments, _LARGE)

    def _zeros(self, size: int) -> Any:
        """Return an array of ``size`` bytes."""
        return self.cupy.zeros(size // 4, dtype="float32")

    @property
    def has_tma(self) -> bool:
        """Whether the GPU can copy by TMA."""
        return int(self.cupy.cuda.Device().compute_capability) >= 90

    def read_by_tma(self, sharers: int) -> Reading:
        """Copy pieces of a footprint in L2; ``sharers`` neighbouring blocks copy the same ones."""
        function = load_micro("tma", "read_by_tma")
        function.max_dynamic_shared_size_bytes = shared = _TMA_PIECE * _TMA_SLOTS
        data = self.cupy.zeros(_TMA_FOOTPRINT, dtype="uint8")
        blocks, rounds = self.sms // sharers * sharers, 8192
        arguments = (data, *map(self.cupy.int32, (_TMA_FOOTPRINT // _TMA_PIECE, rounds, sharers)))
        seconds = self._time(lambda: function((blocks,), (32,), arguments, shared_mem=shared))
        gbs = tuple(blocks * rounds * _TMA_PIECE / s / 1e9 for s in seconds)
        return Reading("bandwidth.tma", sharers, "GB/s", gbs)

    def _bandwidth(
        self, name: str, parameter: int, entry: str, blocks: int, arguments: Any, moved: int
    ) -> Reading:
        function = load_micro("bandwidth", entry)
        seconds = self._time(lambda: function((blocks,), (_THREADS,), arguments))
        gbs = tuple(moved / s / 1e9 for s in seconds)
        return Reading(f"bandwidth.{name}", parameter, "GB/s", gbs)

    def _time(self, launch: Callable[[], None]) -> list[float]:
        """Return the seconds of 7 launches, after 2 warm-up launches."""
        start, stop = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        seconds = []
        for _ in range(9):
            start.record()
            launch()
            stop.record()
            stop.synchronize()
            seconds.append(float(self.cupy.cuda.get_elapsed_time(start, stop)) * 1e-3)
        return seconds[2:]


def random_ring(nodes: int, node_elements: int) -> Any:
    """Return one ring through all nodes in random order, as a flat NumPy array of uint64.

    Element ``i * node_elements`` holds the byte offset of the successor of node i.
    """
    import numpy as np

    order = np.random.default_rng(seed=1).permutation(nodes).astype(np.uint64)
    ring = np.zeros(nodes * node_elements, dtype=np.uint64)
    ring[order * node_elements] = np.roll(order, -1) * node_elements * 8
    return ring
