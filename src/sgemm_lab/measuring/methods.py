"""Effects of the measuring method: one product measured as in the book, and with common mistakes.

The product is cuBLAS's, C = A·B in FP32, M = N = K. Each method changes one thing. The methods of a
size are interleaved, so nothing else differs.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.judge import Rounding
from sgemm_lab.cuda.launch import LoadedKernel, require_gpu
from sgemm_lab.measuring.interleaved import (
    Budget,
    Product,
    Progress,
    cublas,
    input_set_count,
    time_interleaved,
    watch_card,
)
from sgemm_lab.records.gpu_record import Reading

METHODS = {
    "book": "as the book measures",
    "cached": "the same matrices again and again",
    "waiting": "the host waits after each launch",
    "zeros": "A and B hold zeros",
    "tf32": "TF32 allowed",
}

SIZES = (512, 1024, 4096)
LAUNCHED = "double_buffer"
"""The kernel whose first launches are timed individually."""
LAUNCH_SIZE = 1024
BOUND_SIZE = 1024
POWER_SIZE = 4096

_LAUNCHES = 20
_POWER_BUDGET = Budget(seconds=3.0, max_samples=100_000)
_SEED = 2


def effects(progress: Progress = lambda _: None) -> Iterator[Reading]:
    """Measure every effect on this machine's GPU.

    Names of the readings are ``effect.`` with one of ``METHODS`` (GFLOP/s per size), ``launches``
    (GFLOP/s of the first launches, timed individually), ``watts.`` or ``clock.`` with ``random`` or
    ``zeros`` (from nvidia-smi; none without it), or ``bound.`` with ``book`` or ``tf32`` (the
    largest error over K·u·|A|·|B|). The parameter is the size.
    """
    cupy = require_gpu()
    for size in SIZES:
        progress(f"measuring methods at {size}³")
        for measured in time_interleaved(_methods(cupy, size), (size, size, size)):
            gflops = tuple(measured.flop / s / 1e9 for s in measured.seconds)
            yield Reading(f"effect.{measured.kernel}", size, "GFLOP/s", gflops)
    progress("the first launches of a kernel")
    yield _first_launches(cupy)
    for inputs, matrix in (("random", _random), ("zeros", _zeros)):
        progress(f"power with matrices of {inputs}")
        yield from _power(cupy, inputs, matrix)
    progress("errors of FP32 and of TF32")
    for method in ("book", "tf32"):
        yield _bound(cupy, method)


def _random(cupy: Any, size: int) -> Any:
    generator = cupy.random.default_rng(seed=_SEED)
    return generator.random((size, size), dtype="float32") - cupy.float32(0.5)


def _zeros(cupy: Any, size: int) -> Any:
    return cupy.zeros((size, size), dtype="float32")


def _methods(cupy: Any, size: int) -> dict[str, Product]:
    """Return the product of each method. Some replace the matrices that they are given."""
    multiply = cublas()
    matrices = (_random(cupy, size), _random(cupy, size), _zeros(cupy, size))
    l2_bytes = int(cupy.cuda.Device().attributes["L2CacheSize"])
    count = input_set_count(3 * 4 * size * size, l2_bytes)
    rotated = itertools.cycle([(_zeros(cupy, size), _zeros(cupy, size)) for _ in range(count)])

    def cached(_a: Any, _b: Any, _c: Any) -> None:
        multiply(*matrices)

    def waiting(a: Any, b: Any, c: Any) -> None:
        multiply(a, b, c)
        cupy.cuda.get_current_stream().synchronize()

    def zeros(_a: Any, _b: Any, c: Any) -> None:
        multiply(*next(rotated), c)

    found: tuple[Product, ...] = (multiply, cached, waiting, zeros, cublas(tf32=True))
    return dict(zip(METHODS, found, strict=True))


def _first_launches(cupy: Any) -> Reading:
    """Time the first launches of a kernel individually, as a naive benchmark does."""
    size = LAUNCH_SIZE
    kernel = LoadedKernel(load_kernel(LAUNCHED))
    a, b, c = _random(cupy, size), _random(cupy, size), _zeros(cupy, size)
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    cupy.cuda.get_current_stream().synchronize()
    gflops = []
    for _ in range(_LAUNCHES):
        start.record()
        kernel(a, b, c)
        stop.record()
        stop.synchronize()
        gflops.append(2 * size**3 / (cupy.cuda.get_elapsed_time(start, stop) * 1e-3) / 1e9)
    return Reading("effect.launches", size, "GFLOP/s", tuple(gflops))


def _power(cupy: Any, inputs: str, matrix: Callable[[Any, int], Any]) -> Iterator[Reading]:
    size, multiply = POWER_SIZE, cublas()
    a, b = matrix(cupy, size), matrix(cupy, size)
    with watch_card() as card:
        time_interleaved(
            {inputs: lambda _a, _b, c: multiply(a, b, c)}, (size, size, size), _POWER_BUDGET
        )
    if card.power_w:
        yield Reading(f"effect.watts.{inputs}", size, "W", tuple(card.power_w))
    if card.clock_mhz:
        yield Reading(f"effect.clock.{inputs}", size, "MHz", tuple(card.clock_mhz))


def _bound(cupy: Any, method: str) -> Reading:
    size = BOUND_SIZE
    generator = cupy.random.default_rng(seed=_SEED)
    a, b = (generator.random((size, size), dtype="float32") - cupy.float32(0.5) for _ in range(2))
    c = _zeros(cupy, size)
    cublas(tf32=method == "tf32")(a, b, c)
    share = float(Rounding(a, b).shares(c).max())
    return Reading(f"effect.bound.{method}", size, "of the bound", (share,))
