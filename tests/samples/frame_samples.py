"""Frames of a drawing: the window of a small product."""

from sgemm_lab import lab
from sgemm_lab.widgets import Frames
from sgemm_lab.widgets.frames import Frame


def _squares(k: int) -> str:
    return "".join(
        f'<rect x="{10 * i}" width="10" height="10" fill="var(--lab-{hue})"/>'
        for i, hue in enumerate(["shared" if i == k else "grid" for i in range(4)])
    )


FRAMES = [
    Frame(
        name=f"k = {k}",
        html='<svg width="40" height="20" role="img" aria-label="a row of squares">'
        f"{_squares(k)}</svg><p>The square is at {k}.</p>",
        says=f"The square is at {k}.",
    )
    for k in range(3)
]


def window() -> Frames:
    """The sliding window as chapter 3 shows it."""
    return lab.frames(
        "Step along K",
        {
            f"k = {k}": lab.reads(
                "Window", "sliding_window:TILE=2,BK=2", (4, 4, 8), "block", step=k, says=f"{k}"
            )
            for k in range(8)
        },
    )
