"""Drawings that move: frames made by the verbs that draw panels."""

from collections.abc import Mapping

from sgemm_lab.lab.output import Output
from sgemm_lab.widgets import Frames
from sgemm_lab.widgets.frames import Frame


def frames(label: str, panels: Mapping[str, Output], *, frame: int = 0) -> Frames:
    """Slide through panels of the same size, such as ``reads`` at one k after the other.

    Args:
        label: what the slider moves.
        panels: by what the slider shows for each, such as "k = 3".
        frame: the number of the one that is shown first; paper shows it alone.
    """
    return Frames(
        [Frame(name=name, html=one.html, says=one.text) for name, one in panels.items()],
        label,
        frame=frame,
    )
