"""A model of how windows of K flow through one SM: loaded, then multiplied, with n buffers.

A block walks K in windows. Each window is loaded into a buffer of shared memory and multiplied from
there. ``overlap.js`` says the same in JavaScript; a test holds the two equal.

The rules, all times in clocks of the SM:

* Window w goes into buffer w mod ``stages``. Its load is asked for as soon as window w - ``stages``
  has been multiplied. One buffer is the serial kernel, two are double buffering.
* After ``latency`` the window comes in, which keeps the memory pipe of the SM busy for ``load``.
  Latencies of several loads overlap; the pipe serves one window after the other, as asked for.
* Windows of a block are multiplied in order, each for ``compute`` clocks of the SM's arithmetic.
  Blocks that multiply at the same time share it evenly, as warp schedulers do.

Barriers, and the instructions that are no arithmetic, cost nothing here. So the model is a bound.
"""

from dataclasses import dataclass, replace

LATENCY, LOAD, COMPUTE = "latency", "load", "compute"
"""What can bound a pipeline."""

STEADY = 60
"""Windows after which the pace is taken, over as many again: a multiple of 1 to 6 buffers."""
SLACK = 1e-6
"""Clocks that rounding may take."""


@dataclass(frozen=True)
class Pipeline:
    """How long things take, in clocks, and how many windows may be on their way."""

    latency: float
    """From asking for a window until it begins to come in."""
    load: float
    """How long the window keeps the memory pipe busy."""
    compute: float
    """How long the window keeps all the arithmetic of the SM busy."""
    windows: int
    """Windows that a block multiplies."""
    stages: int = 1
    """Buffers of a block in shared memory."""
    blocks: int = 1
    """Blocks that run on the SM at the same time."""


@dataclass(frozen=True)
class Piece:
    """A stretch of time in which a window is multiplied with a share of the arithmetic."""

    start: float
    end: float
    share: float


@dataclass(frozen=True)
class Window:
    """When what happens to one window of one block, in clocks."""

    block: int
    number: int
    buffer: int
    asked: float
    comes: float
    """The window begins to come in."""
    there: float
    pieces: tuple[Piece, ...]
    """When it is multiplied; empty if that takes no time."""
    done: float


@dataclass(frozen=True)
class Report:
    """What a pipeline reaches."""

    total: float
    """Clocks until the last window is multiplied."""
    share: float
    """Share of that time in which the arithmetic runs."""
    speedup: float
    """Time of the same with one buffer, over the time with these."""
    pace: float
    """Clocks from one window of a block to its next, once it runs steadily."""
    bound: str
    """What sets the pace: ``LATENCY``, ``LOAD`` or ``COMPUTE``."""
    enough: int | None
    """Buffers that hide the latency; None where even ``most`` of them do not."""
    barriers: int
    """Barriers per window: 2 with one buffer, which is guarded before and after, else 1."""


def schedule(pipeline: Pipeline) -> list[Window]:
    """Return what happens to every window, in the order in which they are multiplied."""
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


def report(pipeline: Pipeline, most: int = 6) -> Report:
    """Return what a pipeline reaches. ``most`` buffers at most are tried to hide the latency."""
    total = _total(pipeline)
    serial = _total(replace(pipeline, stages=1))
    pace, bound = _pace(pipeline)
    tries = (replace(pipeline, stages=stages) for stages in range(1, most + 1))
    return Report(
        total=total,
        share=pipeline.blocks * pipeline.windows * pipeline.compute / total if total else 0.0,
        speedup=serial / total if total else 1.0,
        pace=pace,
        bound=bound,
        enough=next((p.stages for p in tries if _pace(p)[1] != LATENCY), None),
        barriers=2 if pipeline.stages == 1 else 1,
    )


def _total(pipeline: Pipeline) -> float:
    return schedule(pipeline)[-1].done


def _pace(pipeline: Pipeline) -> tuple[float, str]:
    """Return the steady clocks per window of a block, and what sets them."""
    ends = [w.done for w in schedule(replace(pipeline, windows=2 * STEADY)) if w.block == 0]
    pace = (ends[-1] - ends[STEADY - 1]) / STEADY
    limits = {COMPUTE: pipeline.compute, LOAD: pipeline.load}
    for bound, clocks in limits.items():
        if pace <= pipeline.blocks * clocks + SLACK:
            return pace, bound
    return pace, LATENCY


def _extend(pieces: list[Piece], piece: Piece) -> None:
    """Add a piece; join it to the last one if the share has not changed."""
    if pieces and pieces[-1].share == piece.share:
        piece = Piece(pieces.pop().start, piece.end, piece.share)
    pieces.append(piece)
