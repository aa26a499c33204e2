"""Machine code: the main loop of a kernel, instruction by instruction, and what banks cost it."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import traitlets

from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.text import tenths_percent
from sgemm_lab.widgets.base import LabWidget, html_table

KINDS = ("multiply", "shared", "global", "store", "barrier", "branch", "other")
"""What an instruction may be for. Its words are among the sentences, as "code.multiply"."""


class Line(TypedDict):
    """An instruction of the loop."""

    text: str
    kind: str  # one of KINDS
    extra: NotRequired[int]  # clocks beyond the first that its registers take; default 0
    always: NotRequired[bool]  # every turn of the loop comes past it; default True
    fresh: NotRequired[Sequence[int]]  # numbers of the registers that it fetches
    kept: NotRequired[Sequence[int]]  # of those that the instruction before has left for it


class Code(TypedDict):
    """The main loop of a kernel, and the totals of a turn."""

    name: str
    lines: Sequence[Line]
    steps: int  # instructions that every turn comes past
    multiply_adds: int  # of these
    extra: int  # clocks that banks add to a turn
    in_a_row: NotRequired[int]  # loads from shared memory right behind another one, in a turn
    read_ahead: NotRequired[float]  # multiply-adds between a load and the first use, in the middle
    stalls: NotRequired[Mapping[str, float]]  # warps that waited so, per instruction issued
    note: NotRequired[str]  # where and when the stalls were counted


_OPTIONAL = {"in_a_row": 0, "read_ahead": 0.0, "stalls": {}, "note": ""}


class MachineCode(LabWidget):
    """The main loops of one kernel or two, as ribbons of instructions.

    Args:
        kernels: the kernels to choose from, see :class:`Code`.
        left: name of the kernel to begin with. Default: the first.
        right: name of the one beside it, or "". Default: the second, if there is one.
        left_at: the instruction with the frame, from 0.
        right_at: the same in the second loop.

    All of them but ``kernels`` are state that the reader changes and Python can read or set.

    Raises:
        LabError: a setting is out of its range.
    """

    kernels: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    left = traitlets.Unicode().tag(sync=True)
    right = traitlets.Unicode().tag(sync=True)
    left_at = traitlets.Int(0, min=0).tag(sync=True)
    right_at = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(
        self,
        kernels: Sequence[Code],
        *,
        left: str = "",
        right: str | None = None,
        **settings: Any,
    ) -> None:
        known: list[dict[str, Any]] = [
            {**_OPTIONAL, **one, "lines": _short(one["lines"])} for one in kernels
        ]
        if right is None:
            right = known[1]["name"] if len(known) > 1 else ""
        super().__init__(kernels=known, left=left or known[0]["name"], right=right, **settings)

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The kernels on show, one or two."""
        by_name = {one["name"]: one for one in self.kernels}
        return [by_name[name] for name in (self.left, self.right) if name]

    @property
    def alt(self) -> str:
        """What a turn of each loop is made of, and what that leaves of the peak."""
        return " ".join(code_words(one) for one in self.shown)

    def table(self) -> str:
        """Return how many instructions of each kind a turn has, and its totals."""
        shown = self.shown
        rows = [
            [sentence(f"code.{kind}"), *(f"{_count(one, kind):,}" for one in shown)]
            for kind in KINDS
        ]
        rows += [
            ["clocks that banks add", *(f"{one['extra']:,}" for one in shown)],
            ["of the FP32 peak, about", *(tenths_percent(estimate(one)) for one in shown)],
        ]
        heads = ["Instructions of every turn", *(one["name"] for one in shown)]
        return html_table("The main loop", heads, rows)


def estimate(code: Mapping[str, Any]) -> float:
    """Return the share of the peak that the clocks of a turn leave: multiply-adds over all."""
    return float(code["multiply_adds"] / (code["steps"] + code["extra"]))


def code_words(code: Mapping[str, Any]) -> str:
    """Return what a turn of a loop is made of, in a sentence or two."""
    return sentence("code.turn", **code, share=estimate(code))


def _count(code: Mapping[str, Any], kind: str) -> int:
    return sum(line["kind"] == kind and line.get("always", True) for line in code["lines"])


def _short(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return lines without what is as usual: a page holds thousands of them."""
    return [
        {key: value for key, value in line.items() if (not value if key == "always" else value)}
        for line in lines
    ]
