"""Which lane of a warp holds which element where tensor cores multiply."""

from collections.abc import Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.hardware import WARP
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.painter import lanes_text

MATRICES = ("A", "B", "C")
HUES = {"A": "dram", "B": "shared", "C": "register"}
FIRST_LANE = 5
"""The lane that is marked at first: one whose elements lie inside of the matrices."""

Holder = tuple[int, int, int]
"""Who holds an element: the lane, the number of its register, and the place in that register."""


class Fragments(TypedDict):
    """Where one instruction has the elements of its matrices."""

    label: str
    note: str  # who multiplies so
    A: list[list[Holder]]  # by row, then by k
    B: list[list[Holder]]  # by k, then by column
    C: list[list[Holder]]  # by row, then by column


class FragmentMap(LabWidget):
    """A, B and C of one instruction of the tensor cores, each element with the lane that holds it.

    Args:
        instructions: what the reader chooses from, see :class:`Fragments`.
        chosen: the index of the one to begin with.
        lane: the lane to begin with.
        element: an element that is pointed at, such as "A1,5" (row, column), or "".
        step: how many products of a sum have been stepped through: of the element, where it is one
            of C, else of the lane's first.

    All of them but ``instructions`` are state that the reader changes and Python can read or set.

    Raises:
        LabError: a setting is out of its range.
    """

    instructions: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    chosen = traitlets.Int(0, min=0).tag(sync=True)
    lane = traitlets.Int(FIRST_LANE, min=0, max=WARP - 1).tag(sync=True)
    element = traitlets.Unicode("").tag(sync=True)
    step = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(self, instructions: Sequence[Fragments], **state: Any) -> None:
        super().__init__(instructions=list(instructions), **state)

    @property
    def now(self) -> dict[str, Any]:
        """The instruction chosen."""
        return self.instructions[self.chosen]

    @property
    def depth(self) -> int:
        """How many products a sum has."""
        return len(self.now["B"])

    def places(self, matrix: str, lane: int) -> list[tuple[int, int]]:
        """Return row and column of what a lane holds of a matrix, by register."""
        found = [
            (register, one, row, column)
            for row, held in enumerate(self.now[matrix])
            for column, (who, register, one) in enumerate(held)
            if who == lane
        ]
        return [(row, column) for _, _, row, column in sorted(found)]

    def needed(self, lane: int) -> list[int]:
        """Return the lanes that hold what goes into the sums of a lane."""
        sums = self.places("C", lane)
        rows = {self.now["A"][row][k][0] for row, _ in sums for k in range(self.depth)}
        columns = {self.now["B"][k][column][0] for _, column in sums for k in range(self.depth)}
        return sorted(rows | columns)

    @property
    def sum_shown(self) -> tuple[int, int]:
        """Row and column of the sum whose products are stepped through."""
        if self.element.startswith("C"):
            return _place(self.element)
        return self.places("C", self.lane)[0]

    @property
    def lane_words(self) -> str:
        """What the lane holds, and whose numbers its sums take."""
        a, b, c = (len(self.places(matrix, self.lane)) for matrix in MATRICES)
        others = lanes_text(self.needed(self.lane))
        return sentence("fragments.lane", lane=self.lane, a=a, b=b, c=c, others=others)

    @property
    def point_words(self) -> str:
        """Who holds the element pointed at; or what to do."""
        if not self.element:
            return sentence("fragments.choose")
        matrix, (row, column) = self.element[0], _place(self.element)
        lane, register, one = self.now[matrix][row][column]
        return sentence(
            self._held_as(matrix, one),
            matrix=matrix,
            row=row,
            column=column,
            lane=lane,
            register=f"{matrix.lower()}{register}",
        )

    def _held_as(self, matrix: str, one: int) -> Any:
        if max(place for held in self.now[matrix] for _, _, place in held) == 0:
            return "fragments.whole"
        return "fragments.upper" if one else "fragments.lower"

    @property
    def step_words(self) -> list[str]:
        """The product stepped to, and what is left to say of it: two sentences."""
        k, (row, column) = self.step - 1, self.sum_shown
        a, b, c = self.now["A"][row], [held[column] for held in self.now["B"]], self.now["C"]
        first = sentence(
            "fragments.product",
            step=self.step,
            depth=self.depth,
            row=row,
            column=column,
            k=k,
            of_a=a[k][0],
            of_b=b[k][0],
            of_c=c[row][column][0],
        )
        if self.step < self.depth:
            return [first, sentence("fragments.more")]
        lanes_a, lanes_b = (lanes_text(sorted({lane for lane, _, _ in one})) for one in (a, b))
        count = len(c) * len(c[0])
        return [first, sentence("fragments.done", a=lanes_a, b=lanes_b, sums=count)]

    @property
    def words(self) -> list[str]:
        """What the picture shows: two sentences or more."""
        return self.step_words if self.step else [self.point_words, self.lane_words]

    @property
    def alt(self) -> str:
        """What the lane holds, or the product stepped to."""
        return " ".join(self.step_words) if self.step else self.lane_words

    def table(self) -> str:
        """Return what each lane holds as an HTML table."""
        rows = [
            [f"{lane}", *(self._listed(matrix, lane) for matrix in MATRICES)]
            for lane in range(WARP)
        ]
        caption = f"{self.now['label']}: row and column of each lane's elements, by register"
        return html_table(caption, ["Lane", *(f"Of {matrix}" for matrix in MATRICES)], rows)

    def _listed(self, matrix: str, lane: int) -> str:
        return "; ".join(f"{row}, {column}" for row, column in self.places(matrix, lane))


def _place(element: str) -> tuple[int, int]:
    row, column = element[1:].split(",")
    return int(row), int(column)
