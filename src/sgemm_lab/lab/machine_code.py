"""Main loops of kernels in machine code: instructions by kind, bank clocks, and counted waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sgemm_lab.cuda.main_loop import Loop
from sgemm_lab.cuda.shipped_loops import kernel_loop
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session, stalls
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of, without_tool
from sgemm_lab.lab.output import Output, table
from sgemm_lab.text import size_text, tenths_percent

_LEAST = 0.005
"""Warps per instruction issued below which a reason is left out: ncu prints two digits."""


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
    that register banks add), ``in_a_row`` (reads of shared memory right behind another one),
    ``read_ahead`` (multiply-adds between a read and its first use, median) and ``kinds``;
    ``stalls`` (warps that waited, per instruction issued, by reason) and ``note`` (where those were
    counted)."""


@without_tool
def machine_code(*kernels: str | Kernel, size: AnySize = 4096) -> MainLoops:
    """Count the instructions of kernels' main loops in machine code, by what they are for.

    Stall reasons are the GPU's counters at ``size``, where a record has them. Where a tool is
    missing, the output says what to install.

    Raises:
        LabError: no kernel is given, or one has no loop with multiply-adds.
    """
    if not kernels:
        raise LabError("Name a kernel whose machine code is to be shown, such as 'column_order'.")
    found = [kernel_of(kernel) for kernel in kernels]
    loops = [_numbers(kernel, kernel_loop(kernel), size_of(size)) for kernel in found]
    rows = [[KINDS[kind], *(f"{loop['kinds'][kind]:,}" for loop in loops)] for kind in KINDS]
    rows += [
        ["clocks that register banks add", *(f"{loop['extra']:,}" for loop in loops)],
        [
            "multiply-adds, of all clocks of a turn",
            *(tenths_percent(_share(loop)) for loop in loops),
        ],
    ]
    for reason in dict.fromkeys(reason for loop in loops for reason in list(loop["stalls"])[:3]):
        waits = (f"{loop['stalls'].get(reason, 0.0):.2f}" for loop in loops)
        rows.append([f"waiting for {reason}", *waits])
    notes = " ".join(
        dict.fromkeys(
            f"Waiting: warps per instruction issued, {loop['note']}."
            for loop in loops
            if loop["note"]
        )
    )
    made = table(
        ["in a turn of the loop", *(kernel.display_name for kernel in found)], rows, note=notes
    )
    return MainLoops(made.html, made.text, loops)


def _share(loop: dict[str, Any]) -> float:
    """Return the share of the peak that the clocks of a turn allow: multiply-adds over all."""
    return float(loop["multiply_adds"] / (loop["steps"] + loop["extra"]))


def _numbers(kernel: Kernel, loop: Loop, size: Size) -> dict[str, Any]:
    every = [step.instruction.kind for step in loop.each_turn]
    counted = ((one.gpu, one.counted(kernel, size)) for one in session.book_records())
    gpu, values = next(((gpu, found.values) for gpu, found in counted if found), (None, {}))
    return {
        "name": kernel.name,
        "steps": len(every),
        "multiply_adds": loop.multiply_adds,
        "extra": loop.extra,
        "in_a_row": loop.reads_in_a_row,
        "read_ahead": loop.read_ahead,
        "kinds": {kind: every.count(kind) for kind in KINDS},
        "stalls": _stalls(values),
        "note": f"{gpu.name}, {size_text(size)}" if gpu else "",
    }


def _stalls(values: dict[str, float]) -> dict[str, float]:
    """Return what warps waited for, most first."""
    found = {words: values.get(f"stalled_{reason}", 0.0) for reason, words in stalls.NAMES.items()}
    return {
        words: warps
        for words, warps in sorted(found.items(), key=lambda one: -one[1])
        if warps > _LEAST
    }
