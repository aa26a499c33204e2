"""Measure a few ways to compute one product, on the caller's stream and arrays.

Before each launch a memset empties the L2 cache, as the measurements of the model do. Meanwhile the
host queues the launch, so a slow host is not measured.
"""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from sgemm_lab.kernel import Size

_SECONDS = 5e-3
"""The GPU's time for the measurement of a shape; of a long product, ``_PRODUCTS`` times its own."""
_PRODUCTS = 4
_ROUNDS = 7
_EMPTYING = 5e-5
"""Seconds of a memset of twice the L2 cache."""
_NOISE = 0.02
"""By which the times of a trial are off. Of 0, 0.01, 0.02, 0.03 and 0.05 it gave the best choices
at 187 drawn shapes on the H200, with seeds 27182 and 777."""


class Plan(Protocol):
    """A way to compute a product, ready to be launched."""

    def launch(self, a: int, b: int, c: int, size: Size, stream: Any = None) -> None:
        """Compute c = a·b, as ``LoadedKernel.launch``."""


class Given(NamedTuple):
    """What ``Plan.launch`` takes."""

    a: int
    b: int
    c: int
    size: Size
    stream: Any


class Trial(NamedTuple):
    """The measurement of a product."""

    seconds: Mapping[str, float]
    """Time on the GPU by name, the most promising first: the lower quartile."""
    cost: float
    """Seconds that the measurement took."""

    @property
    def winner(self) -> str:
        """The name of the fastest; of the first, unless it is slower by more than ``_NOISE``."""
        first = next(iter(self.seconds))
        fastest = min(self.seconds, key=lambda name: self.seconds[name])
        return fastest if self.seconds[fastest] < (1 - _NOISE) * self.seconds[first] else first


def measure(cupy: Any, plans: Mapping[str, Plan], expected: float, given: Given) -> Trial:
    """Run plans in turns, and wait for them. They write C.

    The most promising plan comes first, and takes ``expected`` seconds. If there is not time for
    all, the last ones are not run. The stream of ``given`` is not being captured.

    Raises:
        cupy.cuda.memory.OutOfMemoryError: the GPU has no memory of twice its L2 cache left.
    """
    begin = time.perf_counter()
    allowed = max(_SECONDS, _PRODUCTS * expected)
    count = min(len(plans), max(2, int(allowed / (2 * expected))))
    tried = dict(list(plans.items())[:count])
    rounds = int(allowed / (count * (expected + _EMPTYING))) - 1  # one warms up
    rounds = min(_ROUNDS, max(1, rounds))
    emptying = cupy.empty(2 * int(cupy.cuda.Device().attributes["L2CacheSize"]), "uint8")
    if given.stream is not None:  # CuPy's own stream may still use this memory
        cupy.cuda.get_current_stream().synchronize()
    for plan in tried.values():
        plan.launch(*given)
    runtime, stream = cupy.cuda.runtime, stream_handle(cupy, given.stream)
    events: dict[str, list[tuple[Any, Any]]] = {name: [] for name in tried}
    for _ in range(rounds):
        for name, plan in tried.items():
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            runtime.memsetAsync(emptying.data.ptr, 0, emptying.nbytes, stream)
            runtime.eventRecord(start.ptr, stream)
            plan.launch(*given)
            runtime.eventRecord(stop.ptr, stream)
            events[name].append((start, stop))
    runtime.streamSynchronize(stream)
    seconds = {
        name: _lower_quartile([cupy.cuda.get_elapsed_time(*pair) * 1e-3 for pair in pairs])
        for name, pairs in events.items()
    }
    return Trial(seconds, time.perf_counter() - begin)


def _lower_quartile(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) // 4]


def stream_handle(cupy: Any, stream: Any) -> int:
    """Return the handle of a stream; None: of CuPy's current one."""
    return int(cupy.cuda.get_current_stream().ptr if stream is None else stream.ptr)


def is_captured(cupy: Any, stream: Any) -> bool:
    """Say whether a stream is being captured, or cannot be used because another one is."""
    try:
        return bool(cupy.cuda.runtime.streamIsCapturing(stream_handle(cupy, stream)))
    except cupy.cuda.runtime.CUDARuntimeError:
        return True
