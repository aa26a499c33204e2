"""Plans of several GPUs, with round numbers."""

from sgemm_lab.widgets.gpu_tiles import PlacedPlan, PlacedRound

SIDE = 900


def _cannon(side: int) -> PlacedPlan:
    """Cannon's layout on a square of GPUs, written out anew: no plan of the book's."""
    part = SIDE // side
    rounds: list[PlacedRound] = []
    for turn in range(side):
        now: PlacedRound = {"products": [], "transfers": []}
        for gpu in range(side * side):
            i, j = divmod(gpu, side)
            k = (i + j + turn) % side
            a, b = (i * part, k * part, part, part), (k * part, j * part, part, part)
            now["products"].append(
                {"gpu": gpu, "a": a, "b": b, "c": (i * part, j * part, part, part)}
            )
            if turn + 1 < side:
                ahead = (k + 1) % side
                to_come = {"A": (i * part, ahead * part), "B": (ahead * part, j * part)}
                sources = {"A": i * side + (j + 1) % side, "B": (i + 1) % side * side + j}
                for matrix, (row, column) in to_come.items():
                    now["transfers"].append(
                        {
                            "source": sources[matrix],
                            "to": gpu,
                            "matrix": matrix,
                            "tile": (row, column, part, part),
                            "bytes": 4 * part * part,
                        }
                    )
        rounds.append(now)
    return {
        "label": f"Cannon, {side * side} GPUs",
        "size": SIDE,
        "grid": (side, side),
        "rounds": rounds,
    }


PLANS = [_cannon(2), _cannon(3)]
