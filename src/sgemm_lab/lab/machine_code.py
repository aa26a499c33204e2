"""Main loops of kernels in machine code: instructions by kind, and bank clocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sgemm_lab.cuda.main_loop import Loop
from sgemm_lab.cuda.shipped_loops import kernel_loop
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of, without_tool
from sgemm_lab.lab.output import Output, table
from sgemm_lab.text import tenths_percent

KINDS = {
    "multiply": "multiply-add",
    "shared": "load from shared memory",
    "global": "global memory",
    "store": "store into shared memory",
    "barrier": "wait for others",
    "branch": "branch",
    "other": "addresses, comparisons",
}
"""What an instruction is for, by the kinds of ``cuda.main_loop``."""


@dataclass(frozen=True)
class MainLoops(Output):
    """A table of main loops, and the numbers behind it."""

    kernels: Sequence[dict[str, Any]]
    """Per loop: ``name``; of a turn ``steps`` (instructions), ``multiply_adds``, ``extra`` (clocks
    that register banks add), ``in_a_row`` (reads of shared memory right behind another one) and
    ``kinds``."""


@without_tool
def machine_code(*kernels: str | Kernel) -> MainLoops:
    """Count the instructions of kernels' main loops in machine code, by what they are for.

    Where a tool is missing, the output says what to install.

    Raises:
        LabError: no kernel is given, or one has no loop with multiply-adds.
    """
    if not kernels:
        raise LabError("Name a kernel whose machine code is to be shown, such as 'column_order'.")
    found = [kernel_of(kernel) for kernel in kernels]
    loops = [_numbers(kernel, kernel_loop(kernel)) for kernel in found]
    rows = [[KINDS[kind], *(f"{loop['kinds'][kind]:,}" for loop in loops)] for kind in KINDS]
    rows += [
        ["clocks that register banks add", *(f"{loop['extra']:,}" for loop in loops)],
        [
            "multiply-adds, of all clocks of a turn",
            *(
                tenths_percent(loop["multiply_adds"] / (loop["steps"] + loop["extra"]))
                for loop in loops
            ),
        ],
    ]
    made = table(["in a turn of the loop", *(kernel.display_name for kernel in found)], rows)
    return MainLoops(made.html, made.text, loops)


def _numbers(kernel: Kernel, loop: Loop) -> dict[str, Any]:
    every = [step.instruction.kind for step in loop.each_turn]
    return {
        "name": kernel.name,
        "steps": len(every),
        "multiply_adds": loop.multiply_adds,
        "extra": loop.extra,
        "threes": sum(len(step.fetched) == 3 for step in loop.each_turn),
        "in_a_row": loop.reads_in_a_row,
        "kinds": {kind: every.count(kind) for kind in KINDS},
    }
