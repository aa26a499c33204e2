"""Machine code: the main loop of a kernel, instruction by instruction, and what banks cost it."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import traitlets

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.text import tenths_percent
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import checked_items, checked_number, checked_text

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
        LabError: data or a setting are not as described; the message says what is wrong.
    """

    kernels: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    left = traitlets.Unicode().tag(sync=True)
    right = traitlets.Unicode().tag(sync=True)
    left_at = traitlets.Int(0).tag(sync=True)
    right_at = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        kernels: Sequence[Code],
        *,
        left: str = "",
        right: str | None = None,
        **settings: Any,
    ) -> None:
        known = [_checked_code(one) for one in checked_items(kernels, "kernels")]
        if not known:
            raise LabError("Machine code needs at least one kernel.")
        if right is None:
            right = known[1]["name"] if len(known) > 1 else ""
        super().__init__(kernels=known, left=left or known[0]["name"], right=right, **settings)

    @traitlets.validate("left", "right")
    def _check_side(self, proposal: Any) -> str:
        names = [one["name"] for one in self.kernels]
        nothing = proposal["value"] == "" and proposal["trait"].name == "right"
        if not nothing and proposal["value"] not in names:
            raise LabError(f"There is no kernel '{proposal['value']}' here: {', '.join(names)}.")
        return str(proposal["value"])

    @traitlets.validate("left_at", "right_at")
    def _check_place(self, proposal: Any) -> int:
        if proposal["value"] < 0:
            raise LabError(f"{proposal['trait'].name} is {proposal['value']}. It begins at 0.")
        return int(proposal["value"])

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


def _checked_code(code: Mapping[str, Any]) -> dict[str, Any]:
    name = checked_text(code, "name", "A kernel")
    lines = [_checked_line(line, name) for line in checked_items(code.get("lines"), "lines")]
    if not lines:
        raise LabError(f"{name} has no lines.")
    totals = {key: int(checked_number(code, key, name)) for key in ("steps", "multiply_adds")}
    if code.get("extra", 0) < 0:
        raise LabError(f"extra of {name} is {code['extra']}. It begins at 0.")
    return {
        "name": name,
        "lines": lines,
        **totals,
        "extra": int(code.get("extra", 0)),
        "in_a_row": int(code.get("in_a_row", 0)),
        "read_ahead": float(code.get("read_ahead", 0)),
        "stalls": {key: float(value) for key, value in code.get("stalls", {}).items()},
        "note": str(code.get("note", "")),
    }


def _checked_line(line: Mapping[str, Any], who: str) -> dict[str, Any]:
    text = checked_text(line, "text", f"An instruction of {who}")
    if line.get("kind") not in KINDS:
        raise LabError(f"'{text}' is of kind {line.get('kind')!r}. Known are {', '.join(KINDS)}.")
    found: dict[str, Any] = {"text": text, "kind": line["kind"]}
    # A page holds thousands of lines: what is as usual is left out.
    if line.get("extra"):
        found["extra"] = int(line["extra"])
    if not line.get("always", True):
        found["always"] = False
    return found | {key: list(line[key]) for key in ("fresh", "kept") if line.get(key)}
