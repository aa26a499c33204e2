"""Model of a software pipeline of one block on an SM: K tiles are loaded, then multiplied.

A block iterates over K tiles. Each is loaded into a buffer of shared memory and multiplied from
there. ``overlap.ts`` is the same in JavaScript; a test compares the two.

Rules, with all times in clocks of the SM:

* K tile w uses buffer w mod ``stages``. Its load is issued when K tile w - ``stages`` has been
  multiplied. One buffer is a serial kernel, two are double buffering.
* After ``latency`` the data arrive and occupy the memory pipe of the SM for ``load``. Latencies of
  several loads overlap; the pipe serves the loads in order of issue.
* K tiles are multiplied in order, each for ``compute`` clocks.

Barriers and other instructions are free, so the model is a bound.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pipeline:
    """Durations in clocks, and numbers of K tiles (``windows``) and stages."""

    latency: float
    """From the issue of a load to the arrival of its first data."""
    load: float
    """Clocks of the memory pipe per K tile."""
    compute: float
    """Clocks of the SM's arithmetic per K tile."""
    windows: int
    """K tiles of the block."""
    stages: int = 1
    """Buffers of the block in shared memory."""


@dataclass(frozen=True)
class Window:
    """Times of one K tile in clocks: issue, arrival, end of load, begin and end of product."""

    number: int
    buffer: int
    asked: float
    comes: float
    """Arrival of the first data."""
    there: float
    begins: float
    done: float


def schedule(pipeline: Pipeline) -> list[Window]:
    """Return the K tiles of a pipeline, in order."""
    found: list[Window] = []
    pipe_free = done = 0.0
    for number in range(pipeline.windows):
        asked = found[number - pipeline.stages].done if number >= pipeline.stages else 0.0
        comes = max(asked + pipeline.latency, pipe_free)
        there = pipe_free = comes + pipeline.load
        begins = max(there, done)
        done = begins + pipeline.compute
        buffer = number % pipeline.stages
        found.append(Window(number, buffer, asked, comes, there, begins, done))
    return found
