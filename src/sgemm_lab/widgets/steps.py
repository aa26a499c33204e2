"""The step-through: a kernel at a toy size, access by access."""

from collections.abc import Mapping
from typing import Any

import traitlets
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from sgemm_lab.errors import LabError
from sgemm_lab.style import (
    FOREGROUND,
    GRID,
    LEVEL_COLOURS,
    MUTED,
    SURFACE,
    book_style,
    figure,
    svg,
)
from sgemm_lab.widgets.base import LabWidget, html_table, module, stylesheet

LARGEST_SIDE = 12
"""Sides of the matrices up to which cells can be told apart."""

_KEYS = (
    "kernel",
    "title",
    "size",
    "grid",
    "block",
    "source",
    "first_line",
    "a",
    "b",
    "arrays",
    "blocks",
    "problems",
)
_ENTRY_LISTS = ("threads", "rows", "columns", "values")


class Steps(LabWidget):
    """A launch of a kernel to play, pause and step through.

    Args:
        walk: the launch, as ``sgemm_lab.stepping.walk`` returns it.
        step: how many memory instructions of the block have been made.
        block: number of the block shown, x fastest.
        thread: number of the thread whose registers are shown, x fastest.
        who: "thread", "warp" or "block": whose accesses are lit.
        cells: "names" or "values".

    All of them but ``walk`` are state that the reader changes and Python can read or set.

    Raises:
        LabError: the data are not what they should be, or too large to be drawn.
    """

    _esm = module("common.js", "controls.js", "walk.js", "walk_picture.js", "steps.js")
    _css = stylesheet("common.css", "controls.css", "steps.css")

    walk: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    block = traitlets.Int(0).tag(sync=True)
    thread = traitlets.Int(0).tag(sync=True)
    who = traitlets.Unicode("block").tag(sync=True)
    cells = traitlets.Unicode("names").tag(sync=True)

    def __init__(
        self,
        walk: Mapping[str, Any],
        *,
        step: int = 0,
        block: int = 0,
        thread: int = 0,
        who: str = "block",
        cells: str = "names",
        **kwargs: Any,
    ) -> None:
        super().__init__(walk=_checked_walk(walk), **kwargs)
        self.block, self.thread, self.step = block, thread, step
        self.who, self.cells = who, cells

    @traitlets.validate("walk")
    def _check_walk(self, proposal: Any) -> dict[str, Any]:
        return _checked_walk(proposal["value"])

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> int:
        return _checked_number("step", proposal["value"], len(self.steps))

    @traitlets.validate("block")
    def _check_block(self, proposal: Any) -> int:
        return _checked_number("block", proposal["value"], len(self.walk["blocks"]) - 1)

    @traitlets.validate("thread")
    def _check_thread(self, proposal: Any) -> int:
        across, down = self.walk["block"]
        return _checked_number("thread", proposal["value"], across * down - 1)

    @traitlets.validate("who")
    def _check_who(self, proposal: Any) -> str:
        return _checked_word("who", proposal["value"], ("thread", "warp", "block"))

    @traitlets.validate("cells")
    def _check_cells(self, proposal: Any) -> str:
        return _checked_word("cells", proposal["value"], ("names", "values"))

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps of the block shown."""
        found: list[dict[str, Any]] = self.walk["blocks"][self.block]
        return found

    @property
    def alt(self) -> str:
        """What the launch does in how many steps, and what is wrong with it."""
        m, n, k = self.walk["size"]
        loads = self._elements(space="global", store=False)
        reads = self._elements(space="shared", store=False)
        windows = len({step["window"] for step in self.steps})
        text = (
            f"{self.walk['title']} at {m}×{k} times {k}×{n}, block {self.block}, in "
            f"{len(self.steps)} steps and {windows - 1} barriers: its threads read {loads} "
            f"elements from global memory"
        )
        text += f" and {reads} from shared memory." if reads else "."
        return " ".join([text, *self.walk["problems"]])

    def _elements(self, *, space: str, store: bool) -> int:
        return sum(
            len(step["threads"])
            for step in self.steps
            if step["store"] is store and self.walk["arrays"][step["array"]]["space"] == space
        )

    def still(self) -> str:
        """Return A, B, C and the shared tiles after the present step as inline SVG.

        Before the first step, the last step before the first barrier is shown.
        """
        steps = self.steps
        first = sum(step["window"] == steps[0]["window"] for step in steps)
        fig = figure(7.2, 5.2)
        with book_style():
            _draw(fig.subplots(), self.walk, steps[: self.step or first])
        return svg(fig, f"{self.walk['title']}, step {self.step or first}", self.alt)

    def table(self) -> str:
        """Return every step of the block as an HTML table."""
        rows = []
        for number, step in enumerate(self.steps, 1):
            array = self.walk["arrays"][step["array"]]
            places = dict.fromkeys(zip(step["rows"], step["columns"], strict=True))
            listed = ", ".join(
                f"{array['name']}[{row},{column}]" for row, column in list(places)[:4]
            )
            rows.append(
                [
                    f"{number}",
                    f"{step['line']}",
                    f"{step['window']}",
                    f"{len(set(step['threads']))}",
                    "write" if step["store"] else "read",
                    listed + (f" and {len(places) - 4} more" if len(places) > 4 else ""),
                ]
            )
        heads = ["Step", "Line", "Barriers passed", "Threads", "Do", "Elements"]
        return html_table(f"{self.walk['title']}, block {self.block}, step by step", heads, rows)


def _checked_walk(walk: Any) -> dict[str, Any]:
    if not isinstance(walk, Mapping):
        raise LabError(f"A step-through needs the data of walk(), not {type(walk).__name__}.")
    missing = [key for key in _KEYS if key not in walk]
    if missing:
        raise LabError(f"The walk lacks '{missing[0]}'. Take it from walk().")
    m, n, k = walk["size"]
    if max(m, n, k) > LARGEST_SIDE:
        fits = "×".join(str(min(side, LARGEST_SIDE)) for side in (m, n, k))
        raise LabError(
            f"{m}×{n}×{k} is too large to be drawn cell by cell. M, N and K go up to "
            f"{LARGEST_SIDE}: take {fits}."
        )
    numbers = [*walk["a"], *walk["b"]]
    if len(walk["a"]) != m * k or len(walk["b"]) != k * n:
        raise LabError(f"A must have {m}×{k} and B {k}×{n} elements.")
    if len(set(numbers)) != len(numbers) or 0 in numbers:
        raise LabError(
            "A and B must hold different numbers everywhere, and no zero: by its value an element "
            "is known wherever it is copied."
        )
    if not walk["blocks"] or not all(walk["blocks"]):
        raise LabError("The walk has no steps: no thread accesses memory.")
    for step in (step for steps in walk["blocks"] for step in steps):
        if len({len(step[name]) for name in _ENTRY_LISTS}) != 1:
            raise LabError(f"A step of line {step['line']} has lists of different lengths.")
        if not 0 <= step["array"] < len(walk["arrays"]):
            raise LabError(f"A step of line {step['line']} names array {step['array']}.")
    return {key: walk[key] for key in _KEYS}


def _checked_number(name: str, value: int, last: int) -> int:
    if not 0 <= value <= last:
        raise LabError(f"There is no {name} {value}: it goes from 0 to {last}.")
    return value


def _checked_word(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        listed = ", ".join(f"'{word}'" for word in known)
        raise LabError(f"{name} is {value!r}. Write one of {listed}.")
    return value


def _draw(ax: Axes, walk: Mapping[str, Any], steps: list[dict[str, Any]]) -> None:
    """Draw A, B and C as they multiply, and the shared tiles in the corner above A."""
    m, n, k = walk["size"]
    arrays = walk["arrays"]
    names = {value: f"A[{i // k},{i % k}]" for i, value in enumerate(walk["a"])}
    names |= {value: f"B[{i // n},{i % n}]" for i, value in enumerate(walk["b"])}
    contents: dict[tuple[str, int, int], str] = {}
    now: set[tuple[str, int, int]] = set()
    for step in steps:
        name = arrays[step["array"]]["name"]
        places = list(zip(step["rows"], step["columns"], strict=True))
        now = {(name, row, column) for row, column in places}
        for (row, column), value in zip(places, step["values"], strict=True):
            if step["store"]:
                own = f"C[{row},{column}]" if name == "C" else ""
                contents[name, row, column] = own or names.get(value, "0")
    for matrix, rows, columns in (("A", m, k), ("B", k, n)):
        for row in range(rows):
            for column in range(columns):
                contents[matrix, row, column] = f"{matrix}[{row},{column}]"

    gap = 0.7
    boxes = [("A", 0.0, k + gap, m, k), ("B", k + gap, 0.0, k, n), ("C", k + gap, k + gap, m, n)]
    tiles = [array for array in arrays if array["space"] == "shared"]
    right = k + gap + n
    x = right + 1.2
    for tile in tiles:
        boxes.append((tile["name"], x, 0.0, tile["rows"], tile["columns"]))
        x += tile["columns"] + gap
    size = 72 * 6.4 / max(x, k + m + 2) * 0.2
    for name, left, top, rows, columns in boxes:
        hue = LEVEL_COLOURS["dram" if name in "ABC" else "shared"]
        ax.text(left, top - 0.12, name, color=hue, weight="bold", fontsize=9)
        for row in range(rows):
            for column in range(columns):
                key = (name, row, column)
                corner = (left + column, top + row)
                lit = key in now
                face = hue if lit else SURFACE if key in contents else "none"
                ax.add_patch(Rectangle(corner, 1, 1, fc=face, ec=GRID, lw=0.6, alpha=0.9))
                colour = "white" if lit else FOREGROUND if key in contents else MUTED
                middle = (corner[0] + 0.5, corner[1] + 0.5)
                ax.text(
                    *middle,
                    contents.get(key, ""),
                    ha="center",
                    va="center",
                    color=colour,
                    fontsize=min(8, size),
                )
    ax.set(xlim=(-0.2, x), ylim=(k + gap + m + 0.2, -0.8), aspect="equal")
    ax.set_axis_off()
