"""One entry for each class of widget: what the tests of all of them draw, change and weigh."""

from collections.abc import Callable
from typing import Any, NamedTuple

import frame_samples
import gpu_samples
import ladder_samples
import occupancy_samples
from choice_samples import FITTED
from flight_samples import RING
from frame_samples import FRAMES
from latency_hiding_samples import CASES
from request_samples import GLOBAL, SHARED
from score_samples import ROWS
from tile_samples import CHIPS, KERNELS
from trace_samples import sliding_window
from widget_samples import GPUS, POINTS

from sgemm_lab import lab
from sgemm_lab.widgets import (
    Banks,
    BarrierRing,
    Coalescing,
    Frames,
    GpuTiles,
    KernelChoice,
    LabWidget,
    LatencyHiding,
    Roofline,
    Scoreboard,
    Steps,
    TileWaves,
    Timeline,
)

LARGE = "register_cache:BM=128,BN=128,TM=8,TN=8"


class Sample(NamedTuple):
    """A widget to try."""

    make: Callable[[], LabWidget]
    """Small, of sample data."""
    book: Callable[[], object]
    """As the book shows it, for what is timed and weighed; of several one with much in it."""
    changes: tuple[str, list[Any]]
    """A key of the state, and values that each redraw everything."""
    painted: bool = False
    """Whether it writes on coloured ground inside the picture."""
    on_axes: bool = False
    """Whether it has axes that move after a change only."""


SAMPLES = {
    "roofline": Sample(
        lambda: Roofline(GPUS, POINTS),
        lambda: lab.roofline("register_cache", LARGE, "transposed", "float4_tile", "split"),
        ("gpu", ["a100", "t4", "h200"]),
        on_axes=True,
    ),
    "coalescing": Sample(
        lambda: Coalescing(GLOBAL),
        lambda: lab.coalescing("sliding_window", "float4_by_row", "float4", size=128),
        ("chosen", [2, 1, 3, 0]),
        painted=True,
    ),
    "banks": Sample(
        lambda: Banks(SHARED),
        lambda: lab.banks(LARGE, "transposed", "float4_tile", "split"),
        ("chosen", [2, 1, 3, -1, 0]),
        painted=True,
    ),
    "steps": Sample(
        lambda: Steps(sliding_window(), step=5),
        lambda: lab.step("double_buffer:BM=64,BN=64,BK=4", (8, 8, 12)),
        ("step", [0, 4, 6, 11, 33]),
        painted=True,
    ),
    "occupancy": Sample(
        occupancy_samples.example, lab.occupancy, ("registers", [128, 255, 1]), painted=True
    ),
    "timeline": Sample(
        lambda: Timeline(stages=2),
        lambda: lab.timeline("double_buffer", stages=1),
        ("stages", [2, 3, 1]),
        painted=True,
    ),
    "kernel choice": Sample(
        lambda: KernelChoice(FITTED), lab.kernel_choice, ("m", [1, 256, 16384, 1000])
    ),
    "tile waves": Sample(
        lambda: TileWaves(CHIPS, KERNELS, size=2048),
        lambda: lab.tile_waves("column_order", "stream_k", "tiled", even=["stream_k"], size=8192),
        ("size", [64, 4096, 8192, 2048]),
    ),
    "scoreboard": Sample(
        lambda: Scoreboard(ROWS),
        lab.scoreboard,
        ("sort", ["kernel", "of_bound", "error", "gflops"]),
    ),
    "ladder": Sample(
        ladder_samples.ladder,
        lab.ladder,
        ("size", [[256, 256, 256], [1, 4096, 4096], [4096, 4096, 4096]]),
    ),
    "frames": Sample(
        lambda: Frames(FRAMES, "k"), lambda: frame_samples.window(), ("frame", [1, 2, 0])
    ),
    "latency_hiding": Sample(
        lambda: LatencyHiding(CASES), lab.latency_hiding, ("workers", [8, 16, 1])
    ),
    "tiles on GPUs": Sample(
        lambda: GpuTiles(gpu_samples.PLANS, plan=1, round=1),
        lambda: lab.gpu_tiles(("rows", 4), ("summa", 4), ("cannon", 4), ("cannon", 9)),
        ("plan", [0, 1]),
    ),
    "barrier ring": Sample(
        lambda: BarrierRing(RING),
        lambda: lab.barrier_ring("producers", stages=4, tiles=8),
        ("time", [0.0, 900.0, 3200.0, 9000.0]),
        painted=True,
    ),
}


def of_book(name: str) -> LabWidget:
    """The widget as the book shows it."""
    found = SAMPLES[name].book()
    assert isinstance(found, LabWidget)
    return found
