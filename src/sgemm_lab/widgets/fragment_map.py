"""Which lane of a warp holds which element where tensor cores multiply."""

from typing import Any, TypedDict

import traitlets

from sgemm_lab.hardware import WARP
from sgemm_lab.widgets.base import LabWidget, html_table

MATRICES = ("A", "B", "C")
FIRST_LANE = 5
"""The lane that is marked at first: one whose elements lie inside of the matrices."""

Holder = tuple[int, int]
"""The lane that holds an element, and the number of its register."""


class Fragments(TypedDict):
    """Where one instruction has the elements of its matrices."""

    label: str
    note: str  # which kernel multiplies so
    A: list[list[Holder]]  # by row, then by k
    B: list[list[Holder]]  # by k, then by column
    C: list[list[Holder]]  # by row, then by column


class FragmentMap(LabWidget):
    """A, B and C of one instruction of the tensor cores, each element with the lane that holds it.

    Args:
        fragments: of the instruction, see :class:`Fragments`.
        lane: the lane to begin with. The reader changes it, and Python can read or set it.
    """

    fragments: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    lane = traitlets.Int(FIRST_LANE, min=0, max=WARP - 1).tag(sync=True)

    def __init__(self, fragments: Fragments, **state: Any) -> None:
        super().__init__(fragments=fragments, **state)

    def places(self, matrix: str, lane: int) -> list[tuple[int, int]]:
        """Return row and column of what a lane holds of a matrix, by register."""
        found = [
            (register, row, column)
            for row, held in enumerate(self.fragments[matrix])
            for column, (holder, register) in enumerate(held)
            if holder == lane
        ]
        return [(row, column) for _, row, column in sorted(found)]

    def table(self) -> str:
        """Return what each lane holds as an HTML table."""
        rows = [
            [f"{lane}", *(self._listed(matrix, lane) for matrix in MATRICES)]
            for lane in range(WARP)
        ]
        caption = f"{self.fragments['label']}: row and column of each lane's elements, by register"
        return html_table(caption, ["Lane", *(f"Of {matrix}" for matrix in MATRICES)], rows)

    def _listed(self, matrix: str, lane: int) -> str:
        return "; ".join(f"{row}, {column}" for row, column in self.places(matrix, lane))
