"""Model of a software pipeline on one SM: K tiles are loaded, then multiplied, with n stages.

A block iterates over K tiles. Each is loaded into a buffer of shared memory and multiplied from
there. ``overlap.ts`` is the same in JavaScript; a test compares the two.

Rules, with all times in clocks of the SM:

* K tile w uses buffer w mod ``stages``. Its load is issued when K tile w - ``stages`` has been
  multiplied. One buffer is a serial kernel, two are double buffering.
* After ``latency`` the data arrive and occupy the memory pipe of the SM for ``load``. Latencies of
  several loads overlap; the pipe serves the loads in order of issue.
* K tiles of a block are multiplied in order, each for ``compute`` clocks of the SM's arithmetic.
  Blocks that multiply concurrently share it evenly.

Barriers and other instructions are free, so the model is a bound.
"""

from dataclasses import dataclass, replace

STEADY = 60
"""K tiles before and during the measurement of the steady state: a multiple of 1 to 6 buffers."""
SLACK = 1e-6
"""Tolerance for rounding, in clocks."""


@dataclass(frozen=True)
class Pipeline:
    """Durations in clocks, and numbers of K tiles (``windows``), stages and blocks."""

    latency: float
    """From the issue of a load to the arrival of its first data."""
    load: float
    """Clocks of the memory pipe per K tile."""
    compute: float
    """Clocks of the SM's arithmetic per K tile."""
    windows: int
    """K tiles of a block."""
    stages: int = 1
    """Buffers of a block in shared memory."""
    blocks: int = 1
    """Resident blocks of the SM."""


@dataclass(frozen=True)
class Piece:
    """An interval in which a K tile is multiplied with a share of the arithmetic."""

    start: float
    end: float
    share: float


@dataclass(frozen=True)
class Window:
    """Times of one K tile of one block in clocks: issue, arrival, end of load and of product."""

    block: int
    number: int
    buffer: int
    asked: float
    comes: float
    """Arrival of the first data."""
    there: float
    pieces: tuple[Piece, ...]
    """Intervals of the product; empty if it takes no time."""
    done: float


def schedule(pipeline: Pipeline) -> list[Window]:
    """Simulate a pipeline; return its K tiles in the order of their products."""
    waiting: list[list[tuple[float, float, float]]] = [[] for _ in range(pipeline.blocks)]
    done: list[list[float]] = [[] for _ in range(pipeline.blocks)]
    left: dict[int, float] = {}
    pieces: dict[int, list[Piece]] = {}
    finished: list[Window] = []
    now = pipe_free = 0.0
    while len(finished) < pipeline.windows * pipeline.blocks:
        for block in range(pipeline.blocks):
            asked = len(done[block]) + len(waiting[block])
            while asked < min(pipeline.windows, len(done[block]) + pipeline.stages):
                comes = max(now + pipeline.latency, pipe_free)
                pipe_free = comes + pipeline.load
                waiting[block].append((now, comes, pipe_free))
                asked += 1
            if block not in left and waiting[block] and waiting[block][0][2] <= now:
                left[block], pieces[block] = pipeline.compute, []
        arrivals = [w[0][2] for b, w in enumerate(waiting) if w and b not in left]
        ends = [now + clocks * len(left) for clocks in left.values()]
        then = min(arrivals + ends)
        share = 1 / max(1, len(left))
        for block in list(left):
            if then > now:
                _extend(pieces[block], Piece(now, then, share))
            left[block] -= (then - now) * share
            if left[block] <= SLACK:
                number = len(done[block])
                asked_at, comes, there = waiting[block].pop(0)
                finished.append(
                    Window(
                        block, number, number % pipeline.stages, asked_at, comes, there,
                        tuple(pieces[block]), then,
                    )
                )  # fmt: skip
                done[block].append(then)
                del left[block]
        now = then
    return finished


def steady_pace(pipeline: Pipeline) -> float:
    """Return the clocks per K tile of a block in the steady state."""
    ends = [w.done for w in schedule(replace(pipeline, windows=2 * STEADY)) if w.block == 0]
    return (ends[-1] - ends[STEADY - 1]) / STEADY


def _extend(pieces: list[Piece], piece: Piece) -> None:
    """Append a piece, or extend the last one if the share is unchanged."""
    if pieces and pieces[-1].share == piece.share:
        piece = Piece(pieces.pop().start, piece.end, piece.share)
    pieces.append(piece)
