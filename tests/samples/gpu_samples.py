"""Plans and runs of several GPUs, with round numbers."""

from typing import Any

from sgemm_lab.widgets.gpu_tiles import PlacedPlan, PlacedRound
from sgemm_lab.widgets.gpu_timeline import MULTIPLIES, RECEIVES, GpuSpan, TimedRun

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


def _spans(gpus: int, overlap: bool) -> list[GpuSpan]:
    """Two products of 5 ms on each GPU and a transfer of 2 ms, at once or between them."""
    second, comes = (5.0, 1.0) if overlap else (7.0, 5.0)
    found: list[GpuSpan] = []
    for gpu in range(gpus):
        pieces: list[Any] = [
            (MULTIPLIES, "C0", 0.0, 5.0),
            (RECEIVES, "B[0:900, 450:900]", comes, comes + 2.0),
            (MULTIPLIES, "C1", second, second + 5.0),
        ]
        found += [
            {"gpu": gpu, "what": what, "label": label, "start": start, "end": end}
            for what, label, start, end in pieces
        ]
    return found


RUNS: list[TimedRun] = [
    {"label": "4 GPUs, overlapped", "note": "a sample", "spans": _spans(4, True)},
    {"label": "2 GPUs, one after the other", "note": "", "spans": _spans(2, False)},
]
