"""Is a plan right? Checked on the data alone, before anything runs.

Three things are asked. Every receive has its send, in the same round, and the other way round. Each
step finds in its buffers what it was promised, and nothing is overwritten before it was used. Each
product that C is made of is done exactly once.
"""

from collections import Counter

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.plan import Multiply, Plan, Receive, Send, Share, Tile


class PlanError(LabError):
    """A plan would not compute A·B. The message says what is wrong with it, and on which GPU."""


def check(plan: Plan) -> None:
    """Check a plan.

    Raises:
        PlanError: the first thing that is wrong with it, as a sentence.
    """
    _check_pairs(plan)
    for gpu, share in enumerate(plan.shares):
        _check_buffers(gpu, share)
    _check_products(plan)


def _check_pairs(plan: Plan) -> None:
    sends: Counter[tuple[int, int, int, Tile]] = Counter()
    receives: Counter[tuple[int, int, int, Tile]] = Counter()
    for gpu, share in enumerate(plan.shares):
        rounds = [step.round for step in share.steps]
        if rounds != sorted(rounds):
            raise PlanError(f"GPU {gpu} has its rounds out of order.")
        for step in share.steps:
            if isinstance(step, Send):
                sends[step.round, gpu, step.to, step.tile] += 1
            elif isinstance(step, Receive):
                receives[step.round, step.source, gpu, step.tile] += 1
    for key in sends - receives:
        raise PlanError(_transfer_text(key, "is sent, and not received"))
    for key in receives - sends:
        raise PlanError(_transfer_text(key, "is received, and not sent"))
    for (number, source, to, tile), count in receives.items():
        if count > 1 or source == to or not 0 <= source < plan.gpus or not tile.elements:
            raise PlanError(_transfer_text((number, source, to, tile), "makes no sense"))


def _transfer_text(key: tuple[int, int, int, Tile], what: str) -> str:
    number, source, to, tile = key
    return f"In round {number} {tile} {what}: from GPU {source} to GPU {to}."


def _check_buffers(gpu: int, share: Share) -> None:
    """Follow what the buffers of a GPU hold, step by step."""
    holds = dict(share.own)
    unused: set[str] = set()
    for step in share.steps:
        if isinstance(step, Receive):
            if step.buffer in share.own or step.buffer in share.results:
                raise PlanError(f"GPU {gpu} receives into '{step.buffer}', which is not free.")
            if step.buffer in unused:
                raise PlanError(
                    f"GPU {gpu} overwrites {holds[step.buffer]} in '{step.buffer}' in round "
                    f"{step.round} before it was used."
                )
            holds[step.buffer] = step.tile
            unused.add(step.buffer)
        elif isinstance(step, Send):
            if holds.get(step.buffer) != step.tile:
                raise PlanError(
                    f"GPU {gpu} is to send {step.tile} out of '{step.buffer}' in round "
                    f"{step.round}, where {holds.get(step.buffer, 'nothing')} is."
                )
            unused.discard(step.buffer)
        else:
            _check_factors(gpu, share, step, holds)
            unused -= {step.a, step.b}
    for buffer in sorted(unused):
        raise PlanError(f"GPU {gpu} never uses {holds[buffer]}, which it receives.")


def _check_factors(gpu: int, share: Share, step: Multiply, holds: dict[str, Tile]) -> None:
    m, n, k = step.size
    c = share.results.get(step.c)
    if c is None or (c.rows, c.columns) != (m, n):
        raise PlanError(f"GPU {gpu} has no {m}×{n} tile of C in '{step.c}'.")
    wanted = (
        (step.a, Tile("A", c.row, step.term, m, k)),
        (step.b, Tile("B", step.term, c.column, k, n)),
    )
    for buffer, tile in wanted:
        if holds.get(buffer) != tile:
            raise PlanError(
                f"GPU {gpu} is to multiply {tile} in round {step.round}, and '{buffer}' holds "
                f"{holds.get(buffer, 'nothing')}."
            )


def _check_products(plan: Plan) -> None:
    """Check that the tiles of C cover it once, and that each gets all K terms once."""
    m, n, k = plan.size
    tiles: list[Tile] = []
    for gpu, share in enumerate(plan.shares):
        for buffer, tile in share.results.items():
            mine = [step for step in share.products if step.c == buffer]
            _check_terms(f"{tile} on GPU {gpu}", mine, k)
            tiles.append(tile)
    covered = sum(tile.elements for tile in tiles)
    if covered != m * n:
        raise PlanError(f"The tiles of C have {covered} elements together, and C has {m * n}.")
    for i, tile in enumerate(tiles):
        inside = tile.row + tile.rows <= m and tile.column + tile.columns <= n
        if not inside or any(_overlap(tile, other) for other in tiles[:i]):
            raise PlanError(f"{tile} is not in C, or made twice.")


def _check_terms(what: str, steps: list[Multiply], k: int) -> None:
    if [step.adds for step in steps] != [i > 0 for i in range(len(steps))]:
        raise PlanError(f"For {what} the first product must write, and all others add.")
    end = 0
    for term, count in sorted((step.term, step.size[2]) for step in steps):
        if term != end:
            raise PlanError(f"{what} lacks terms of K, or has some twice, at {min(term, end)}.")
        end = term + count
    if end != k:
        raise PlanError(f"{what} has {end} terms of K, and needs {k}.")


def _overlap(one: Tile, other: Tile) -> bool:
    rows = one.row < other.row + other.rows and other.row < one.row + one.rows
    columns = one.column < other.column + other.columns and other.column < one.column + one.columns
    return rows and columns
