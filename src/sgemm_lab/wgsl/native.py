"""The same programs without a page, on Vulkan or Metal, through the package ``wgpu``.

What is measured has the form that the page saves, so that the page can open it too.
"""

import json
import math
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.wgsl.loop_unrolling import written_out
from sgemm_lab.wgsl.programs import all_programs, load_programs, roof_sources

FORM: str = json.loads(Path(__file__).with_name("form.json").read_text(encoding="utf-8"))
"""The form of the result."""

# What has no underscore the page knows too.
AWKWARD_SIZES: tuple[Size, ...] = (
    (1, 1, 1), (3, 5, 7), (128, 128, 24), (33, 7, 129), (97, 203, 61), (130, 4, 6), (129, 132, 20),
)  # fmt: skip
"""One element, full tiles, less than a tile, and more; K and N multiples of 4 and not."""
_MORE_SIZES: tuple[Size, ...] = (
    (255, 257, 254), (1, 1000, 33), (1000, 1, 33), (260, 132, 20),
)  # fmt: skip
"""Those that a page, which multiplies in JavaScript, has no time for."""
ROUNDED_SIZE: Size = (97, 203, 61)
"""Where a program in half precision is held to what rounding may do."""
ROUNDS = 7
_SAMPLE_S = 0.05
_MOST_TIMES = 50
COPY_BYTES = 2**27
"""Far more than any cache holds."""
BLOCKS = 2048
"""Of ``multiply_add.wgsl``: enough to fill every card."""
THREADS = 256
PER_ROUND = 256
"""Multiply-adds of one thread in one round of it: eight times eight sums of four floats."""
MOST_ROUNDS = 2**20

_FEATURES: dict[str, str] = json.loads(
    Path(__file__).with_name("features.json").read_text(encoding="utf-8")
)
"""What it is for a card to lack a feature, as a sentence goes on after a colon."""
_WGPU_NAMES = {"shader-f16": "shader-f16", "subgroups": "subgroup"}
"""What the package calls the features of WebGPU that a program may need."""

_BINDINGS = ("read-only-storage", "read-only-storage", "storage", "uniform",
             "read-only-storage", "read-only-storage")  # fmt: skip

Progress = Callable[[str], None]


class NativeCard:
    """A card through ``wgpu``."""

    def __init__(self) -> None:
        """Open it.

        Raises:
            MissingToolError: ``wgpu`` or a driver is not here.
        """
        try:
            import wgpu
        except ImportError:
            raise MissingToolError(
                "wgpu is not installed, which runs WGSL. Install it with 'pip install wgpu'."
            ) from None
        self._wgpu: Any = wgpu
        try:
            adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        except Exception as fault:  # the package raises many kinds, some its own
            raise MissingToolError(f"No card is here for WGSL: {fault}.") from None
        self.name = str(adapter.info["device"])
        self.features = frozenset(
            name for name, theirs in _WGPU_NAMES.items() if theirs in adapter.features
        )
        """Features of WebGPU that this card has, of those that a program may need."""
        asked = ["timestamp-query", *(_WGPU_NAMES[name] for name in sorted(self.features))]
        self._device: Any = adapter.request_device_sync(required_features=asked)
        self._queries = self._device.create_query_set(type="timestamp", count=2)
        self._resolved = self._device.create_buffer(
            size=16, usage=wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        )

    def buffer(self, size: int, kind: str = "STORAGE") -> Any:
        """Return memory on the card, in bytes, which holds zeros."""
        use = self._wgpu.BufferUsage
        usage = use.COPY_DST | use.COPY_SRC | getattr(use, kind)
        return self._device.create_buffer(size=16 * math.ceil(size / 16), usage=usage)

    def write(self, buffer: Any, values: Any) -> None:
        """Copy an array to the card."""
        self._device.queue.write_buffer(buffer, 0, values)

    def read(self, buffer: Any, count: int) -> Any:
        """Return the first floats of a buffer."""
        return np.frombuffer(self._device.queue.read_buffer(buffer, 0, 4 * count), np.float32)

    def compile(self, source: str, kinds: Sequence[str]) -> Any:
        """Compile a program for bindings of these kinds.

        Raises:
            LabError: it does not compile.
        """
        device = self._device
        try:
            module = device.create_shader_module(code=source)
            layout = device.create_bind_group_layout(
                entries=[
                    {"binding": i, "visibility": "COMPUTE", "buffer": {"type": kind}}
                    for i, kind in enumerate(kinds)
                ]
            )
            return device.create_compute_pipeline(
                layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
                compute={"module": module},
            ), layout
        except self._wgpu.GPUError as fault:
            raise LabError(f"The program does not compile: {fault}") from None

    def seconds(
        self, compiled: Any, buffers: Sequence[Any], grid: tuple[int, int], times: int = 1
    ) -> float:
        """Run a program several times in a row; return the seconds of one time."""
        pipeline, layout = compiled
        entries = [
            {"binding": i, "resource": {"buffer": buffer}} for i, buffer in enumerate(buffers)
        ]
        group = self._device.create_bind_group(layout=layout, entries=entries)
        encoder = self._device.create_command_encoder()
        work = encoder.begin_compute_pass(
            timestamp_writes={
                "query_set": self._queries,
                "beginning_of_pass_write_index": 0,
                "end_of_pass_write_index": 1,
            }
        )
        work.set_pipeline(pipeline)
        work.set_bind_group(0, group)
        for _ in range(times):
            work.dispatch_workgroups(*grid)
        work.end()
        encoder.resolve_query_set(self._queries, 0, 2, self._resolved, 0)
        self._device.queue.submit([encoder.finish()])
        ticks = np.frombuffer(self._device.queue.read_buffer(self._resolved, 0, 16), np.uint64)
        return float(ticks[1] - ticks[0]) / 1e9 / times


class Product:
    """The matrices of a product on a card."""

    def __init__(self, card: NativeCard, size: Size) -> None:
        self._card, self.size = card, size
        m, n, k = size
        self._a, self._b, self._c = (card.buffer(4 * count) for count in (m * k, k * n, m * n))
        self._sizes = card.buffer(12, "UNIFORM")
        card.write(self._sizes, np.array(size, np.uint32))

    def fill(self, a: Any, b: Any) -> None:
        """Take other inputs, float32 arrays of M×K and K×N."""
        self._card.write(self._a, a)
        self._card.write(self._b, b)

    def seconds(self, program: Kernel, compiled: Any, times: int = 1) -> float:
        """Return the seconds of one run of a program, of several in a row."""
        buffers = [self._a, self._b, self._c, self._sizes, self._a, self._b]
        grid = program.launch_shape(*self.size).grid
        return self._card.seconds(compiled, buffers, grid, times)

    def result(self, program: Kernel, compiled: Any) -> Any:
        """Return C after one run. Before, NaN stands in all of it."""
        m, n, _ = self.size
        self._card.write(self._c, np.full(m * n, np.nan, np.float32))
        self.seconds(program, compiled)
        return self._card.read(self._c, m * n).reshape(m, n)


def compiled_on(card: NativeCard, program: Kernel) -> Any:
    """Compile a step of the ladder."""
    # wgpu's compiler has subgroups without this line, and does not know the line.
    source = program.source.replace("enable subgroups;\n", "")
    return card.compile(written_out(source), _BINDINGS)


def check(card: NativeCard, program: Kernel, compiled: Any, sizes: Sequence[Size]) -> None:
    """Hold a program against exact products: small whole numbers, which a float adds exactly.

    One in half precision is held against fractions too, and there to what rounding may do at worst.

    Raises:
        LabError: it is wrong at one of the sizes.
    """
    for size in sizes:
        m, n, k = size
        a, b, exact = _whole_numbers(size)
        product = Product(card, size)
        product.fill(a, b)
        wrong = np.argwhere(product.result(program, compiled) != exact)
        if len(wrong):
            row, col = wrong[0]
            raise LabError(
                f"{program.name} is wrong at {m}×{n}×{k}: {len(wrong)} elements of C, "
                f"the first of them C[{row}][{col}]."
            )
    if program.arithmetic == "fp16":
        _check_rounded(card, program, compiled)


def _check_rounded(card: NativeCard, program: Kernel, compiled: Any) -> None:
    m, n, k = ROUNDED_SIZE
    draw = np.random.default_rng(3)
    a, b = (draw.random(shape, np.float32) - np.float32(0.5) for shape in ((m, k), (k, n)))
    product = Product(card, ROUNDED_SIZE)
    product.fill(a, b)
    off = np.abs(product.result(program, compiled) - a.astype(np.float64) @ b)
    if not (off <= half_precision_bound(a, b)).all():
        raise LabError(f"{program.name} is further off at {m}×{n}×{k} than rounding explains.")


def half_precision_bound(a: Any, b: Any) -> Any:
    """Return how far each element of C = A·B may be off in ``half_windows``.

    Two entries are rounded, a product, and up to 32 sums of a window; WGSL lets each be off by a
    whole unit in the last place, 2⁻¹⁰. What is smaller than 2⁻¹⁴ may become zero: two entries, a
    product, a sum. Entries are at most 1 here. ``exact.ts`` has the same.
    """
    return 36 * 2.0**-10 * (np.abs(a).astype(np.float64) @ np.abs(b)) + 4 * 2.0**-14 * a.shape[1]


@cache
def _whole_numbers(size: Size) -> tuple[Any, Any, Any]:
    """Return A and B of small whole numbers, and their product."""
    draw = np.random.default_rng(1)
    m, n, k = size
    a = draw.integers(-8, 9, (m, k)).astype(np.float32)
    b = draw.integers(-8, 9, (k, n)).astype(np.float32)
    return a, b, a @ b


def measure(size: int, progress: Progress, programs: Sequence[Kernel] = ()) -> dict[str, Any]:
    """Check and time the ladder in WGSL at M = N = K = ``size``, and measure the card itself.

    Args:
        size: of the product.
        progress: hears what is done.
        programs: in place of the book's steps.

    Raises:
        MissingToolError: ``wgpu`` or a driver is not here.
        LabError: a program is wrong on this card.
    """
    card = NativeCard()
    progress(f"{card.name}, through wgpu")
    copy, multiply_add = copy_speed(card), multiply_add_speed(card)
    progress(f"Copies {copy:.0f} GB/s, multiplies and adds {multiply_add:.0f} GFLOP/s")
    asked = programs or all_programs()
    lacking = [one for one in asked if one.needs and one.needs not in card.features]
    for program in lacking:
        progress(f"{program.name} is left out: {_FEATURES[program.needs or '']}")
    steps = [(one, compiled_on(card, one)) for one in asked if one not in lacking]
    sizes = (*AWKWARD_SIZES, *_MORE_SIZES, (size, size, size))
    for program, compiled in steps:
        check(card, program, compiled, sizes)
        progress(f"{program.name} is exact at {len(sizes)} sizes")
    draw = np.random.default_rng(2)
    product = Product(card, (size, size, size))
    product.fill(*(draw.random((size, size), np.float32) - np.float32(0.5) for _ in "AB"))
    times = [_times(product.seconds(*step)) for step in steps]
    seconds: list[list[float]] = [[] for _ in steps]
    for _ in range(ROUNDS):
        for samples, step, often in zip(seconds, steps, times, strict=True):
            samples.append(product.seconds(*step, often))
    return {
        "form": FORM,
        "card": card.name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "clock": "timestamps",
        "size": size,
        "copy_gbs": copy,
        "multiply_add_gflops": multiply_add,
        "left_out": [{"name": one.name, "why": _FEATURES[one.needs or ""]} for one in lacking],
        "rungs": [
            {"name": program.name, "fingerprint": _base_fingerprint(program), "seconds": samples}
            for (program, _), samples in zip(steps, seconds, strict=True)
        ],
    }


def copy_speed(card: NativeCard) -> float:
    """Return GB/s, read and written bytes together."""
    compiled = card.compile(roof_sources()["copy"], ["read-only-storage", "storage"])
    buffers = [card.buffer(COPY_BYTES), card.buffer(COPY_BYTES)]
    grid = (COPY_BYTES // 16 // THREADS, 1)
    times = _times(card.seconds(compiled, buffers, grid))
    samples = [card.seconds(compiled, buffers, grid, times) for _ in range(ROUNDS)]
    return 2 * COPY_BYTES / statistics.median(samples) / 1e9


def multiply_add_speed(card: NativeCard) -> float:
    """Return GFLOP/s of multiply-adds alone."""
    compiled = card.compile(written_out(roof_sources()["multiply_add"]), ["uniform", "storage"])
    buffers = [card.buffer(8, "UNIFORM"), card.buffer(4 * BLOCKS * THREADS)]

    def timed(rounds: int) -> float:
        card.write(buffers[0], np.array([(rounds, 0.5)], "<u4,<f4"))
        return card.seconds(compiled, buffers, (BLOCKS, 1))

    rounds = 1
    while timed(rounds) < _SAMPLE_S / 2 and rounds < MOST_ROUNDS:
        rounds *= 2
    samples = [timed(rounds) for _ in range(ROUNDS)]
    return 2 * PER_ROUND * rounds * BLOCKS * THREADS / statistics.median(samples) / 1e9


def _times(once: float) -> int:
    return max(1, min(_MOST_TIMES, math.ceil(_SAMPLE_S / max(once, 1e-7))))


def _base_fingerprint(program: Kernel) -> str:
    base = next((one for one in load_programs() if one.name == program.base_name), program)
    return base.fingerprint
