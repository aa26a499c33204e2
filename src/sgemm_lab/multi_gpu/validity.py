"""Check the correctness of a plan without running it.

Each receive must have a send in the same round, and vice versa. Each step must find its tiles in
its buffers, and no tile may be overwritten before its use. Each term of C must be computed exactly
once.
"""

from collections import Counter

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.plan import Multiply, Plan, Receive, Send, Share, Tile


class PlanError(LabError):
    """A plan does not compute A·B. The message names the error and the GPU."""


def check(plan: Plan) -> None:
    """Check a plan.

    Raises:
        PlanError: the first error found.
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
        raise PlanError(_transfer_text(key, "is sent, but not received"))
    for key in receives - sends:
        raise PlanError(_transfer_text(key, "is received, but not sent"))
    for (number, source, to, tile), count in receives.items():
        if count > 1 or source == to or not 0 <= source < plan.gpus or not tile.elements:
            raise PlanError(_transfer_text((number, source, to, tile), "is an invalid transfer"))


def _transfer_text(key: tuple[int, int, int, Tile], fault: str) -> str:
    number, source, to, tile = key
    return f"In round {number} {tile} {fault}: from GPU {source} to GPU {to}."


def _check_buffers(gpu: int, share: Share) -> None:
    """Track the content of a GPU's buffers step by step."""
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
                    f"GPU {gpu} sends {step.tile} from '{step.buffer}' in round "
                    f"{step.round}, but that holds {holds.get(step.buffer, 'nothing')}."
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
    needed = (
        (step.a, Tile("A", c.row, step.term, m, k)),
        (step.b, Tile("B", step.term, c.column, k, n)),
    )
    for buffer, tile in needed:
        if holds.get(buffer) != tile:
            raise PlanError(
                f"GPU {gpu} multiplies {tile} in round {step.round}, but '{buffer}' holds "
                f"{holds.get(buffer, 'nothing')}."
            )


def _check_products(plan: Plan) -> None:
    """Check that the tiles of C cover it once, and that each gets all K terms once."""
    m, n, k = plan.size
    tiles: list[Tile] = []
    for gpu, share in enumerate(plan.shares):
        for buffer, tile in share.results.items():
            products = [step for step in share.products if step.c == buffer]
            _check_terms(f"{tile} on GPU {gpu}", products, k)
            tiles.append(tile)
    covered = sum(tile.elements for tile in tiles)
    if covered != m * n:
        raise PlanError(f"The tiles of C have {covered} elements in total, but C has {m * n}.")
    for i, tile in enumerate(tiles):
        inside = tile.row + tile.rows <= m and tile.column + tile.columns <= n
        if not inside or any(_overlap(tile, other) for other in tiles[:i]):
            raise PlanError(f"{tile} is outside of C, or overlaps another tile.")


def _check_terms(tile: str, steps: list[Multiply], k: int) -> None:
    if [step.adds for step in steps] != [i > 0 for i in range(len(steps))]:
        raise PlanError(f"For {tile} the first product must write, and all others add.")
    end = 0
    for term, count in sorted((step.term, step.size[2]) for step in steps):
        if term != end:
            raise PlanError(f"{tile} lacks or repeats terms of K at {min(term, end)}.")
        end = term + count
    if end != k:
        raise PlanError(f"{tile} has {end} terms of K, but needs {k}.")


def _overlap(one: Tile, other: Tile) -> bool:
    rows = one.row < other.row + other.rows and other.row < one.row + one.rows
    columns = one.column < other.column + other.columns and other.column < one.column + one.columns
    return rows and columns
