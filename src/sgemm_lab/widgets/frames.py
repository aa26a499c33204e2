"""A drawing that moves: the reader slides through its frames."""

from collections.abc import Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.widgets.base import LabWidget, html_table


class Frame(TypedDict):
    """One frame."""

    name: str  # what the slider shows, such as "k = 3"
    html: str  # the drawing, and the line below it
    says: str  # the same in words


class Frames(LabWidget):
    """Still drawings of the same size, of which a slider shows one.

    Args:
        frames: see :class:`Frame`.
        label: what the slider moves.
        frame: the number of the frame that is shown.
    """

    frames: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    frame = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(self, frames: Sequence[Frame], label: str, **state: Any) -> None:
        super().__init__(frames=list(frames), label=label, **state)

    def table(self) -> str:
        """Return what each frame shows as an HTML table."""
        rows = [[frame["name"], frame["says"]] for frame in self.frames]
        return html_table("Each frame in words", [self.label, "Shows"], rows)
