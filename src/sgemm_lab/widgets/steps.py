"""The step-through: a kernel at a toy size, step by step."""

from collections.abc import Mapping
from typing import Any

import traitlets

from sgemm_lab.counting import sentence
from sgemm_lab.counting.step_trace import StepTrace
from sgemm_lab.errors import LabError
from sgemm_lab.widgets.base import LabWidget, html_table


class Steps(LabWidget):
    """A launch of a kernel to play, pause and step through.

    Args:
        trace: the launch, as ``sgemm_lab.counting.step_trace.trace_steps`` returns it.
        step: how many steps of the block have been made: accesses and products. Default: all where
            the launch fails, so that the failing one is seen; none where it does not.
        block: number of the block shown, x fastest. Default: the first that fails, or block 0.
        thread: number of the thread whose registers are shown, x fastest.
        who: "thread", "warp" or "block": whose deeds are lit. Default: those of one thread; of the
            block where the launch fails.
        left_out: line of the barrier that is left out, or 0.

    All of them but ``trace`` are state that the reader changes and Python can read or set.
    """

    trace: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0, min=0).tag(sync=True)
    block = traitlets.Int(0, min=0).tag(sync=True)
    thread = traitlets.Int(0, min=0).tag(sync=True)
    who = traitlets.Enum(["thread", "warp", "block"], "thread").tag(sync=True)
    left_out = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(self, trace: StepTrace, **state: Any) -> None:
        if not all(trace["blocks"]):
            raise LabError(sentence("trace.empty"))
        super().__init__(trace=dict(trace), **state)
        failing = (b for b, steps in enumerate(trace["blocks"]) if any(s["fault"] for s in steps))
        if "block" not in state:
            self.block = next(failing, 0)
        if any(taken["fault"] for taken in self.steps):
            self.step = state.get("step", len(self.steps))
            self.who = state.get("who", "block")

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps of the block shown, with all barriers, up to one that fails, if one does."""
        found: list[dict[str, Any]] = self.trace["blocks"][self.block]
        fails = next((i for i, step in enumerate(found) if step["fault"]), len(found))
        return found[: fails + 1]

    def table(self) -> str:
        """Return every step of the block as an HTML table."""
        rows = []
        for number, step in enumerate(self.steps, 1):
            array = self.trace["arrays"][step["array"]]
            places = dict.fromkeys(zip(step["rows"], step["columns"], strict=True))
            listed = ", ".join(
                f"{array['name']}[{row},{column}]" for row, column in list(places)[:4]
            )
            rows.append(
                [
                    f"{number}",
                    f"{step['line']}",
                    f"{step['epoch']}",
                    f"{len(set(step['threads']))}",
                    _deed(step) + (", fails" if step["fault"] else ""),
                    listed + (f" and {len(places) - 4} more" if len(places) > 4 else ""),
                ]
            )
        heads = ["Step", "Line", "Barriers passed", "Threads", "Do", "Elements"]
        return html_table(f"{self.trace['title']}, block {self.block}, step by step", heads, rows)


def _deed(step: Mapping[str, Any]) -> str:
    if step["a"]:
        return "multiply and add"
    return "write" if step["store"] else "read"
